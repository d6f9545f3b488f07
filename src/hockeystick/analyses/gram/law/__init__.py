"""What a recursion computes (a mixture, a direction, a side), and where its nodes are placed.

Any nodes give a valid bound. States: removing depends on large likelihood ratios and adding on
small ones. There neighbours are equally far apart; on the other side of the centre their distance
grows. Sums: the nodes are those of T = S + (bins to come) / bins, a martingale that ends at LR: its
law is that of a likelihood ratio, and is resolved in the same way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from hockeystick._numerics.gaussian import quantile_of_tail
from hockeystick._numerics.law import FloatArray, Law, Resolution, Side, matched_grid

__all__ = ["LATTICES", "LatticeSettings", "M_co", "MarkovMixture", "Task", "expected_size"]
__all__ += ["low_nodes", "part_nodes", "probe_nodes", "reach", "spaced_nodes", "sum_nodes"]


class MarkovMixture(Protocol):
    """What recursions need to know of a mixture, whatever its states are."""

    @property
    def common(self) -> float:
        """The variance that all terms share."""

    @property
    def ring(self) -> bool:
        """Whether the last term may depend on the first state."""

    @property
    def bins(self) -> int:
        """The number of terms that are averaged."""

    @property
    def closes(self) -> bool:
        """Whether the last term depends on the first state."""

    @property
    def signal(self) -> float:
        """The largest variance of a term, without the common part."""

    @property
    def shift(self) -> float:
        """By how many standard deviations a state may move if the example is present."""

    @property
    def exponents(self) -> FloatArray:
        """How fast a term may grow in the state of each bin."""

    @property
    def memory(self) -> dict[str, object]:
        """What its states are, for a report."""

    def gram(self) -> FloatArray:
        """The Gram matrix."""


@dataclass(frozen=True)
class LatticeSettings:
    """Where nodes are placed, what is dropped, and what that costs: any values give a valid bound.

    All steps are those at fineness 1 and are multiplied by the fineness. The values balance the
    losses of the different roundings at equal cost; `benchmarks/gram_settings.py` measures what a
    change of one of them does to epsilon and to the time.
    """

    # States of a chain: relative to the spread of a transition, and at most so many nats, because
    # terms are exponentials of states.
    state_step: float = 0.42
    widest_state_nats: float = 0.5
    # Sampled densities lose this share of all masses together; states are rounded instead where
    # that needs nodes that are closer by this factor: rounding loses the square of their distance.
    aliasing: float = 1e-4
    sampling_share: float = 0.5
    # Fewer nodes than these lose more than they save: of chains, of moving averages (whose cost is
    # a power of them), and of parts that are drawn once.
    fewest_states: int = 11
    fewest_variables: int = 6
    fewest_part_nodes: int = 4
    # The first state of a ring and independent parts: relative to the standard deviation and to the
    # root of the share of the variance that the part carries; at most so many standard deviations
    # and nats.
    start_step: float = 0.35
    own_step: float = 0.36
    widest_part: float = 2.5
    widest_part_nats: float = 1.5
    # Removing depends on large likelihood ratios and adding on small ones. On the other side, at d
    # standard deviations up to `farthest`, the distance of nodes is e^(d^2 / slowness) times that
    # in the centre: a quarter of the nodes is saved at the same accuracy, or up to 2.5 % of epsilon
    # at the same cost. Where nodes are expensive it is e^(d^2 / expensive_slowness) on the deciding
    # side too.
    slowness: float = 8.0
    farthest: float = 3.5
    expensive_slowness: float = 28.0
    # At so many points the density of nodes is integrated, and there may be so many nodes: memory.
    density_points: int = 1_000
    most_nodes: int = 700
    # When removing, moving averages keep the mean of e^(c Z) for the smallest exponent c of a term,
    # unless it is below this share of the largest, where differences of e^(c Z) cancel.
    least_exponent: float = 0.05
    # Sums: relative to the spread and to the root of the number of bins, over so many nats of
    # likelihood ratios.
    sum_step: float = 0.65
    sum_nats: float = 8.0
    # Sums far below the mean, in nats, which decide the add direction at a large epsilon.
    low_step: float = 0.15
    # A grid of sums is matched anew when the number of bins has grown by `growth`: sums that stay
    # near their nodes lose little. When adding, low sums decide: a grid is kept only if half of all
    # sums exceed the share `typical` of their mean, and not as long. A grid has room for growth by
    # `room`.
    growth: float = 1.5
    growth_when_adding: float = 1.2
    typical: float = 0.5
    room: float = 1.2
    # Before a grid is placed its law is evaluated on probe nodes: around 1, relative to the spread
    # of a term, and geometrically down to e^-farthest_below; from so many sums at most.
    probe_width: float = 0.1
    probe_step: float = 0.1
    farthest_below: float = 40.0
    probed_sums: int = 96
    # Weights of transitions, and masses of sums, below these shares of the tail are dropped; upper
    # bounds are charged for them.
    dropped: float = 1e-12
    pruned: float = 1e-6
    # The cost model: steps that a grid of sums spans, about, and what one product with a transition
    # costs relative to rounding one sum. Larger values only leave a part of the budget unused.
    grid_steps: float = 14.0
    product_cost: float = 0.05


LATTICES = LatticeSettings()

M_co = TypeVar("M_co", bound=MarkovMixture, covariant=True)


class Task(NamedTuple, Generic[M_co]):
    """A mixture, the direction and the side of the bound, and how fine the lattices are.

    `tail` is about the probability beyond the ends of the lattices, for which upper bounds are
    charged. `copies` of the law are averaged afterwards.
    """

    mixture: M_co
    remove: bool
    side: Side
    fineness: float
    tail: float
    lattices: LatticeSettings = LATTICES
    copies: int = 1

    @property
    def upper(self) -> bool:
        """Whether it is an upper bound."""
        return self.side is Side.UPPER

    def exponent(self, i: int) -> float | None:
        """How the state of bin i is rounded: None keeps its mean, c that of e^(c state).

        When adding, V is convex in e^(M x), M the largest exponent of the current and later terms;
        when removing, in x (docs/gram.md, "Convexity of V_i").
        """
        fastest = float(self.mixture.exponents[i])
        return None if self.remove else fastest if fastest > 0 else 1.0


# The logarithm of a sum of 0.
SMALLEST_SUM = 1e-300


def reach(task: Task[MarkovMixture]) -> tuple[float, float]:
    """The ends of a lattice for N(0, 1), also as seen with the example present."""
    tail = quantile_of_tail(task.tail)
    if not task.remove:
        return -tail, tail
    spread = task.mixture.signal
    return -tail, task.mixture.shift + math.sqrt(tail**2 + spread)


def spaced_nodes(
    low: float,
    high: float,
    *,
    step: float,
    remove: bool,
    fewest: int,
    settings: LatticeSettings,
    expensive: bool = False,
) -> FloatArray:
    """From `low` to `high`, in standard deviations; `step` is the smallest distance, or less.

    Further apart on the side that decides little; where nodes are `expensive`, slowly on the other
    side as well.
    """
    z = np.linspace(low, high, settings.density_points)
    away = -z if remove else z
    density = np.exp(-(np.clip(away, 0.0, settings.farthest) ** 2) / settings.slowness)
    if expensive:
        density *= np.exp(-(np.maximum(-away, 0.0) ** 2) / settings.expensive_slowness)
    position = np.concatenate(([0.0], np.cumsum(density[1:] + density[:-1])))
    position *= (high - low) / (2 * (settings.density_points - 1))
    count = min(max(math.ceil(float(position[-1]) / step) + 1, fewest), settings.most_nodes)
    nodes: FloatArray = np.interp(np.linspace(0.0, position[-1], count), position, z)
    return nodes


def part_nodes(task: Task[MarkovMixture], variance: float, step: float) -> FloatArray:
    """Nodes for a part N(0, variance) that is drawn once; `step` is in standard deviations."""
    sd, settings = math.sqrt(variance), task.lattices
    low, high = reach(task)
    step = min(
        settings.widest_part,
        step * task.fineness,
        settings.widest_part_nats * task.fineness / sd,
    )
    return sd * spaced_nodes(
        low,
        high,
        step=step,
        remove=task.remove,
        fewest=settings.fewest_part_nodes,
        settings=settings,
    )


def expected_size(task: Task[MarkovMixture]) -> float:
    """About how many nodes a grid of sums has."""
    settings = task.lattices
    return settings.grid_steps * math.sqrt(task.mixture.bins) / (settings.sum_step * task.fineness)


def probe_nodes(task: Task[MarkovMixture], top: float, left: float) -> FloatArray:
    """Values of T from the smallest one on, fine around 1 and geometric far away."""
    mixture, settings = task.mixture, task.lattices
    width = settings.probe_width * math.sqrt(min(mixture.signal, 1.0)) / mixture.bins
    step = settings.probe_step
    highest = math.asinh(max(top, 2.0) / width)
    u = np.arange(-math.asinh(1 / width), highest + 2 * step, step)
    around = 1.0 + width * np.sinh(u)
    # Sums far below their mean are far apart as likelihood ratios.
    towards = left + (1.0 - left) * np.exp(np.arange(-settings.farthest_below, 0.0, step))
    t = np.union1d(around, towards)
    return np.concatenate(([left], t[t > left]))


def sum_nodes(
    task: Task[MarkovMixture], t: FloatArray, probed: FloatArray, done: int
) -> FloatArray:
    """Values of T for the next few bins, from the masses between probe nodes after `done` bins."""
    if not probed.any():
        return np.ones(1)
    bins, tail, settings = task.mixture.bins, task.tail, task.lattices
    q = probed / probed.sum()
    # Masses were moved to the node below: a law that ends at a node ends at the next one.
    loss = np.log(np.maximum(t, SMALLEST_SUM))
    q[1:] = (q[1:] + q[:-1]) / 2
    loss, q = loss[q > 0], q[q > 0]
    growth = math.sqrt(min(settings.room * done, bins) / done)
    centre = float(q @ loss)
    loss = centre + growth * (loss - centre)
    like = Law(loss, q * np.exp(loss), q)
    low = float(loss[min(int(np.searchsorted(np.cumsum(q), tail)), loss.size - 1)])
    right = np.cumsum(like.p[::-1])[::-1]
    high = float(loss[min(int(np.searchsorted(-right, -tail)), loss.size - 1)])
    step = settings.sum_step * task.fineness / math.sqrt(bins)
    resolution = Resolution(step, tail, settings.sum_nats)
    nodes: FloatArray = np.exp(matched_grid(like, low, max(high, low + 1e-9), resolution))
    return nodes


def low_nodes(task: Task[MarkovMixture], t: FloatArray, probed: FloatArray) -> FloatArray:
    """Values of S far below the mean, which decide the add direction at a large epsilon.

    They are geometric in S itself: beside the bins to come, T would not tell them apart.
    """
    if task.remove or not probed.any():
        return np.empty(0)
    left = t[0]
    s, q = t[1:] - left, probed[1:] / probed.sum()
    s, q = s[q > 0], q[q > 0]
    below = np.cumsum(q)
    if not s.size or below[-1] <= task.tail:
        return np.empty(0)
    low = math.log(float(s[int(np.searchsorted(below, task.tail))]))
    middle = math.log(float(s[int(np.searchsorted(below, below[-1] / 2))]))
    wanted = task.lattices.low_step * task.fineness
    count = max(2, math.ceil((middle - low) / wanted))
    result: FloatArray = np.exp(np.linspace(low, middle, count))
    return result

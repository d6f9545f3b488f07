"""What a recursion computes: a mixture, a direction, a side, and where nodes are placed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar

from hockeystick._numerics.law import FloatArray, Side

__all__ = ["LATTICES", "LatticeSettings", "M_co", "MarkovMixture", "Task"]


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
    state_step: float = 0.5
    widest_state_nats: float = 0.5
    # Fewer nodes than these lose more than they save: of chains, of moving averages (whose cost is
    # a power of them), and of parts that are drawn once.
    fewest_states: int = 11
    fewest_variables: int = 6
    fewest_part_nodes: int = 4
    # The first state of a ring and independent parts: relative to the standard deviation and to the
    # root of the share of the variance that the part carries; at most so many standard deviations
    # and nats.
    start_step: float = 0.35
    own_step: float = 0.4
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
    sum_step: float = 0.5
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

    `tail` is the probability beyond the ends of the lattices, about; upper bounds are charged for
    what lies there.
    """

    mixture: M_co
    remove: bool
    side: Side
    fineness: float
    tail: float
    lattices: LatticeSettings = LATTICES

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

"""Which states a chain has: normal variables on the nodes of a lattice, rounded or sampled.

The mass of each cell is split between its two nodes so that the mean of the variable is kept, or
the mean of its exponential. What lies beyond the ends of the lattice is left out; the caller moves
it to an end and charges for that. Masses and first moments of the cells are closed forms, taken
from the smaller tail, so that far cells keep their relative accuracy.

docs/gram.md has the proofs. An upper bound on E g(Y) results for convex g (of Y, or of e^Y); with a
variance that is smaller by pi/8 of the squared spacing, a lower bound.

Or the density of Y at equidistant nodes h k, times h (`sampled`): for g >= 0 that is convolved with
N(0, t), sum_k h phi_w(hk - m) g(hk) is E g(Y) up to the factor 1 +- `aliasing`.
"""

from __future__ import annotations

import math

import numpy as np

from hockeystick._numerics.gaussian import ndtr
from hockeystick._numerics.law import FloatArray
from hockeystick.analyses.gram.law import Task, reach, spaced_nodes
from hockeystick.analyses.gram.order.chains import Chain, ChainMixture

__all__ = [
    "SHRINKAGE",
    "aliasing",
    "beyond",
    "excess_growth",
    "lattices",
    "merged",
    "rounded",
    "sampled",
    "sampled_beyond",
    "sampled_smoothing",
    "state_count",
    "widest_sampling",
]

# By this multiple of the squared spacing the variance is reduced for a lower bound.
SHRINKAGE = math.pi / 8
# Densities up to 40 standard deviations away, and their spacing, are rounded by less, relatively.
DENSITY_ROUNDING = 1e-11


def cell_masses(
    mean: FloatArray, variance: float, nodes: FloatArray, *, exponent: float | None
) -> tuple[FloatArray, FloatArray]:
    """The mass of every cell for each mean, and how much of it goes to the cell's upper node.

    `exponent` None keeps the mean of Y, otherwise that of e^(exponent Y).
    """
    sd = math.sqrt(variance)
    z = (nodes - mean[:, None]) / sd
    mass = _cells(z)
    width = np.diff(nodes)
    if exponent is None:
        density = np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
        moment = (mean[:, None] - nodes[:-1]) * mass + sd * (density[:, :-1] - density[:, 1:])
        up = moment / width
    else:
        tilt = exponent * sd
        growth = exponent * (mean[:, None] - nodes[:-1]) + tilt * tilt / 2
        up = (_product(growth, _cells(z - tilt)) - mass) / np.expm1(exponent * width)
    return mass, np.clip(up, 0.0, mass)


def rounded(
    mean: FloatArray, variance: float, nodes: FloatArray, *, exponent: float | None
) -> FloatArray:
    """One row of weights on the nodes for each mean; the mass beyond the ends is left out."""
    mass, up = cell_masses(mean, variance, nodes, exponent=exponent)
    result = np.zeros((mean.size, nodes.size))
    result[:, :-1] = mass - up
    result[:, 1:] += up
    return result


def merged(
    variance: float, nodes: FloatArray, *, exponent: float | None
) -> tuple[FloatArray, FloatArray]:
    """Barycentres and masses of the cells of N(0, variance); the mass beyond them is left out."""
    (mass,), (up,) = cell_masses(np.zeros(1), variance, nodes, exponent=exponent)
    share = np.divide(up, mass, out=np.zeros(mass.size), where=mass > 0)
    width = np.diff(nodes)
    if exponent is None:
        return nodes[:-1] + share * width, mass
    return nodes[:-1] + np.log1p(share * np.expm1(exponent * width)) / exponent, mass


def beyond(mean: FloatArray, variance: float, *, low: float, high: float) -> tuple[FloatArray, ...]:
    """Pr[Y < low] and Pr[Y > high] for each mean."""
    sd = math.sqrt(variance)
    return ndtr((low - mean) / sd), ndtr((mean - high) / sd)


def excess_growth(mean: FloatArray, variance: float, high: float) -> FloatArray:
    """E(e^(Y - high) - 1)+ for each mean."""
    sd = math.sqrt(variance)
    above = (mean - high) / sd
    grown = _product(mean - high + variance / 2, ndtr(above + sd))
    excess: FloatArray = np.maximum(grown - ndtr(above), 0.0)
    return excess


def _cells(z: FloatArray) -> FloatArray:
    """Standard normal masses between neighbouring columns, from the smaller tail."""
    below, above = ndtr(z), ndtr(-z)
    cells: FloatArray = np.where(
        z[:, :-1] > 0, above[:, :-1] - above[:, 1:], below[:, 1:] - below[:, :-1]
    )
    return cells


def _product(log_factor: FloatArray, mass: FloatArray) -> FloatArray:
    """e^log_factor times mass, where the factor alone may overflow."""
    with np.errstate(divide="ignore"):
        result: FloatArray = np.exp(log_factor + np.log(mass))
    return result


def aliasing(variance: float, smooth: float, spacing: float) -> float:
    """A bound on |sum_k h phi_v(hk - m) - 1| over all m, v = `variance` `smooth` / their sum.

    The sum is 1 + 2 sum_n q^(n^2) cos(2 pi n m / h), q = e^(-2 pi^2 v / h^2), by Poisson's formula,
    and n^2 >= 3n - 2. Rounding of the densities is included.
    """
    both = variance * smooth / (variance + smooth)
    q = math.exp(-2 * (math.pi / spacing) ** 2 * both)
    return 2 * q / (1 - q**3) + DENSITY_ROUNDING


def widest_sampling(variance: FloatArray, smooth: FloatArray, most: float) -> FloatArray:
    """The spacings of nodes at which `aliasing` is about `most`; 0 where there is none."""
    total = variance + smooth
    both = np.divide(variance * smooth, total, out=np.zeros(total.shape), where=total > 0)
    result: FloatArray = math.pi * np.sqrt(2 * both / math.log(2 / most))
    return result


def sampled(mean: FloatArray, variance: float, nodes: FloatArray) -> FloatArray:
    """One row for each mean: the density at equidistant nodes times their distance."""
    z = (nodes - mean[:, None]) / math.sqrt(variance)
    spacing = float(nodes[-1] - nodes[0]) / (nodes.size - 1)
    result: FloatArray = spacing / math.sqrt(2 * math.pi * variance) * np.exp(-0.5 * z * z)
    return result


def sampled_beyond(
    mean: FloatArray, variance: float, nodes: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """What nodes below the first one and above the last one y would get, and their e^(x - y) - 1.

    Upper bounds. The sum of h f over the nodes beyond an end is at most the integral of f from the
    end on, if f falls there; otherwise, for f with one maximum, that and h times the maximum.
    """
    sd, spacing = math.sqrt(variance), float(nodes[1] - nodes[0])
    low, high = float(nodes[0]), float(nodes[-1])
    highest = spacing / (sd * math.sqrt(2 * math.pi))
    below, above = beyond(mean, variance, low=low, high=high)
    below = below + np.where(mean < low, highest, 0.0)
    above = above + np.where(mean > high, highest, 0.0)
    # The density times e^(x - high) is a multiple of that of N(mean + variance, variance).
    log_factor = mean - high + variance / 2
    with np.errstate(over="ignore"):
        grown = _product(log_factor, ndtr((mean + variance - high) / sd)) + np.where(
            mean + variance > high, highest * np.exp(log_factor), 0.0
        )
    return below, above, grown


def state_count(task: Task[ChainMixture], chain: Chain) -> int:
    """How many states the lattices have."""
    return _unit_lattice(task, chain).size


def lattices(task: Task[ChainMixture], chain: Chain) -> list[FloatArray]:
    """States for each bin, all with the same number of them."""
    unit = _unit_lattice(task, chain)
    sds = np.sqrt(task.mixture.chain * chain.variance)
    return [sd * unit if sd > 0 else np.zeros(1) for sd in sds.tolist()]


def _unit_lattice(task: Task[ChainMixture], chain: Chain) -> FloatArray:
    """In standard deviations of a state; the finest transition decides how close nodes are.

    A lower bound that rounds reduces the variance of a transition by a multiple of the squared
    distance (the lattice lemma), which has to be the same everywhere.
    """
    settings = task.lattices
    sds = np.sqrt(task.mixture.chain * chain.variance)
    if not sds.any():
        return np.zeros(1)
    step, samples = _unit_step(task, chain), _samples(task, chain)
    low, high = reach(task)
    fewest = settings.fewest_states
    if samples:
        step = _sampling_step(task, chain)
    elif task.upper:
        return spaced_nodes(
            low, high, step=step, remove=task.remove, fewest=fewest, settings=settings
        )
    count = min(max(math.ceil((high - low) / step) + 1, fewest), settings.most_nodes)
    return np.linspace(low, high, count)


def _unit_step(task: Task[ChainMixture], chain: Chain) -> float:
    """The distance of nodes for rounding, relative to the spread of the transition into a bin."""
    settings = task.lattices
    sds = np.sqrt(task.mixture.chain * chain.variance)
    wanted = np.minimum(
        settings.state_step * np.sqrt(_transition_variances(task, chain)),
        settings.widest_state_nats,
    )
    return task.fineness * float(np.min(wanted[sds > 0] / sds[sds > 0]))


def _sampling_step(task: Task[ChainMixture], chain: Chain) -> float:
    """The distance of nodes at which densities may be sampled; 0 if there is none."""
    sds = np.sqrt(task.mixture.chain * chain.variance)
    most = task.lattices.aliasing / (task.mixture.bins * task.copies)
    wanted = widest_sampling(_transition_variances(task, chain), _smoothing(task, chain), most)
    return float(np.min(wanted[sds > 0] / sds[sds > 0]))


def _samples(task: Task[ChainMixture], chain: Chain) -> bool:
    """Whether densities are sampled: where nodes need not be much closer for that."""
    if not (task.mixture.chain > 0 and chain.variance.any()):
        return False
    low, high = reach(task)
    step = _sampling_step(task, chain)
    if not (high - low) < (task.lattices.most_nodes - 2) * step:
        return False
    return step >= task.lattices.sampling_share * _unit_step(task, chain)


def _transition_variances(task: Task[ChainMixture], chain: Chain) -> FloatArray:
    """Of the transition into each bin."""
    fresh: FloatArray = task.mixture.chain * np.concatenate((chain.variance[:1], chain.fresh))
    return fresh


def _smoothing(task: Task[ChainMixture], chain: Chain) -> FloatArray:
    """The variance t of a normal variable with which the value of each state is convolved.

    The state x enters by x + W and by pull x + the next innovation: both contain sqrt(t) Z times
    (1, pull) if t (1 / Var W + pull^2 / Var innovation) <= 1.
    """
    own = task.mixture.own
    if own <= 0:
        return np.zeros(chain.variance.size)
    fresh = task.mixture.chain * chain.fresh
    with np.errstate(divide="ignore"):
        later = np.where(chain.pull > 0, chain.pull**2 / fresh, 0.0)
    result: FloatArray = 1 / (1 / own + np.append(later, 0.0))
    return result


def sampled_smoothing(task: Task[ChainMixture], chain: Chain) -> FloatArray:
    """The smoothing of each state where densities are sampled, 0 where states are rounded."""
    return _smoothing(task, chain) * float(_samples(task, chain))

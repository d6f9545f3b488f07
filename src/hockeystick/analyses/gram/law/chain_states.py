"""States of a chain on lattices: transitions, the first state of a ring, independent parts.

Every rounding is sound from every earlier state: single steps are enough (docs/gram.md, "The
recursion"). Upper bounds are charged for what leaves a lattice, lower bounds drop it.

Where terms have independent parts, what is to come depends smoothly on a state, and its density at
equidistant nodes takes the place of a rounding: nothing is lost but the share `aliasing` of the
masses (docs/gram.md, "Sampling a smooth function").
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hockeystick._numerics.gaussian import ndtr
from hockeystick._numerics.law import FloatArray
from hockeystick.analyses.gram.law import MarkovMixture, Task, part_nodes
from hockeystick.analyses.gram.law.state_lattices import (
    SHRINKAGE,
    aliasing,
    beyond,
    excess_growth,
    merged,
    rounded,
    sampled,
    sampled_beyond,
    sampled_smoothing,
)
from hockeystick.analyses.gram.order.chains import Chain, ChainMixture

__all__ = [
    "ChainStep",
    "Parts",
    "own_count",
    "own_parts",
    "starts",
    "steps_into",
    "transition",
]

IntArray = NDArray[np.int64]

# Sampling says nothing where more of the masses than this may be lost: states are rounded then.
LARGEST_ALIASING = 0.5
# e^30 is beyond every share that is compared here.
LARGEST_EXPONENT = 30.0


class ChainStep(NamedTuple):
    """A transition into a bin: weights[new, old] between first and last, and the new states.

    Old states are charged `charge` for what leaves the lattice. `lost` is the mass of the weights
    that were dropped as too small, `lost_worth` what it may add to LR beside the sum so far.
    """

    weights: FloatArray
    first: IntArray
    last: IntArray
    nodes: FloatArray
    charge: FloatArray
    lost: FloatArray
    lost_worth: FloatArray


def steps_into(
    task: Task[ChainMixture], chain: Chain, states: list[FloatArray]
) -> Iterator[ChainStep]:
    """The transition into every bin; the same one where nothing has changed since the last."""
    before, exponents = -1, [task.exponent(i) for i in range(chain.variance.size)]
    smoothing = sampled_smoothing(task, chain)
    columns = (
        chain.variance[:-1],
        chain.variance[1:],
        chain.pull,
        chain.fresh,
        exponents[1:],
        smoothing[1:],
    )
    changes = [None, *zip(*columns, strict=True)]
    for i, change in enumerate(changes):
        if before < 0 or change != changes[before]:
            step, before = _step_into(task, chain, states, i, float(smoothing[i])), i
        yield step


def _step_into(
    task: Task[ChainMixture], chain: Chain, states: list[FloatArray], i: int, smooth: float
) -> ChainStep:
    """From bin i - 1; into the first one from nothing."""
    nodes = states[i]
    fresh = float(chain.fresh[i - 1]) if i else float(chain.variance[0])
    mean = chain.pull[i - 1] * states[i - 1] if i else np.zeros(1)
    variance = task.mixture.chain * fresh
    if nodes.size == 1:
        weights, charge = np.ones((mean.size, 1)), np.zeros(mean.size)
    elif smooth > 0 and aliasing(variance, smooth, float(nodes[1] - nodes[0])) < LARGEST_ALIASING:
        weights, charge = sampled_transition(task, mean, variance, nodes, smooth)
    else:
        weights, charge = transition(task, mean, variance, nodes, task.exponent(i))
    return _banded(task, weights, charge, nodes)


def _banded(
    task: Task[MarkovMixture], weights: FloatArray, charge: FloatArray, nodes: FloatArray
) -> ChainStep:
    """The transition without the weights that cannot matter."""
    worth = np.exp(np.maximum(nodes, 0.0)) if task.remove else np.ones(nodes.size)
    small = weights * worth < task.tail * task.lattices.dropped
    dropped = np.where(small, weights, 0.0)
    kept = np.ascontiguousarray(np.where(small, 0.0, weights).T)
    some = kept > 0
    first = np.where(some.any(axis=1), some.argmax(axis=1), 0)
    last = np.where(some.any(axis=1), kept.shape[1] - some[:, ::-1].argmax(axis=1), 0)
    return ChainStep(kept, first, last, nodes, charge, dropped.sum(axis=1), dropped @ worth)


def transition(
    task: Task[MarkovMixture],
    mean: FloatArray,
    variance: float,
    nodes: FloatArray,
    exponent: float | None,
) -> tuple[FloatArray, FloatArray]:
    """Weights from every mean to every node, and what each row has to charge.

    Upper: remove moves low states up and charges E(e^(Y - top) - 1)+; add moves high states down
    and charges the mass below. Lower: both are dropped, and nodes are equally spaced.
    """
    if not task.upper:
        reduced = variance - SHRINKAGE * float(nodes[1] - nodes[0]) ** 2
        if reduced <= 0:
            # The lattice is too coarse to say anything.
            return np.zeros((mean.size, nodes.size)), np.zeros(mean.size)
        shift = 0.0 if exponent is None else exponent * (variance - reduced) / 2
        return rounded(mean + shift, reduced, nodes, exponent=exponent), np.zeros(mean.size)
    weights = rounded(mean, variance, nodes, exponent=exponent)
    below, above = beyond(mean, variance, low=nodes[0], high=nodes[-1])
    weights[:, -1] += above
    if task.remove:
        weights[:, 0] += below
        return weights, excess_growth(mean, variance, float(nodes[-1]))
    return weights, below


def sampled_transition(
    task: Task[MarkovMixture],
    mean: FloatArray,
    variance: float,
    nodes: FloatArray,
    smooth: float,
) -> tuple[FloatArray, FloatArray]:
    """The same with densities at the nodes, for functions that are convolved with N(0, `smooth`).

    Nodes are equally spaced. Beyond them as in `transition`, with sums over the nodes that are not
    there, which integrals bound.
    """
    share = aliasing(variance, smooth, float(nodes[1] - nodes[0]))
    weights = sampled(mean, variance, nodes)
    if not task.upper:
        return weights / (1 + share), np.zeros(mean.size)
    below, above, grown = sampled_beyond(mean, variance, nodes)
    weights[:, -1] += above
    if task.remove:
        weights[:, 0] += below
    return weights / (1 - share), (grown if task.remove else below) / (1 - share)


def starts(task: Task[ChainMixture], chain: Chain) -> tuple[FloatArray, FloatArray, float]:
    """Values and weights of the first state of a ring, and what they have to charge.

    On a line there is one, 0.
    """
    mixture = task.mixture
    if not mixture.closes:
        return np.zeros(1), np.ones(1), 0.0
    share = float(np.mean(chain.start**2))
    nodes = part_nodes(task, mixture.chain, task.lattices.start_step / math.sqrt(share))
    exponent = task.exponent(0)
    if not task.upper:
        return *merged(mixture.chain, nodes, exponent=exponent), 0.0
    weights, charge = transition(task, np.zeros(1), mixture.chain, nodes, exponent)
    if task.remove:
        # At most e^top for each; logs, because the factor alone may overflow.
        with np.errstate(divide="ignore", over="ignore"):
            charge = np.exp(np.log(charge) + nodes[-1])
    return nodes, weights[0], float(charge[0])


class Parts(NamedTuple):
    """Independent factors of a term, their weights, and the mean that lies above the last."""

    factor: FloatArray
    weights: FloatArray
    over: float


def own_parts(task: Task[ChainMixture], amplitude: float) -> Parts:
    """Factors e^(A W - A^2 own/2) with weights, and the mean of what lies above the last one.

    The sum is linear in each factor, so that the split keeps the mean of e^(A W) in both
    directions; what lies below the lattice is split with the factor 0.
    """
    variance = task.mixture.own * amplitude**2
    if variance <= 0:
        return Parts(np.ones(1), np.ones(1), 0.0)
    nodes = _own_nodes(task, variance)
    if not task.upper:
        value, mass = merged(variance, nodes, exponent=1.0)
        return Parts(np.exp(value - variance / 2), mass, 0.0)
    (weights,) = rounded(np.zeros(1), variance, nodes, exponent=1.0)
    (below,), (above,) = beyond(np.zeros(1), variance, low=nodes[0], high=nodes[-1])
    factor = np.exp(nodes - variance / 2)
    mean_below = float(ndtr((nodes[0] - variance) / math.sqrt(variance)))
    to_first = min(mean_below / factor[0], below)
    weights[0] += to_first
    weights[-1] += above
    over = float(excess_growth(np.zeros(1), variance, float(nodes[-1]))[0]) * factor[-1]
    return Parts(
        np.concatenate(([0.0], factor)),
        np.concatenate(([below - to_first], weights)),
        float(over),
    )


def own_count(task: Task[ChainMixture]) -> int:
    """How many factors there are at the amplitude 1."""
    variance = task.mixture.own
    return _own_nodes(task, variance).size + task.upper if variance > 0 else 1


def _own_nodes(task: Task[ChainMixture], variance: float) -> FloatArray:
    step = task.lattices.own_step / math.sqrt(_own_share(task.mixture))
    return part_nodes(task, variance, step)


def _own_share(mixture: ChainMixture) -> float:
    """How much of E[S^2] - 1 is due to the independent parts."""
    own = math.exp(min(mixture.chain, LARGEST_EXPONENT)) * math.expm1(
        min(mixture.own, LARGEST_EXPONENT)
    )
    shared = np.expm1(np.minimum(mixture.shared, LARGEST_EXPONENT))
    return own / (own + float(shared[0] + 2 * shared[1:].sum()))

"""Lattices for the states of a chain, and transitions between them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hockeystick._numerics.gaussian import quantile_of_tail
from hockeystick._numerics.law import FloatArray
from hockeystick.analyses.gram.law.chain_mixture import ChainMixture, Mixture, Task
from hockeystick.analyses.gram.law.chains import Chain
from hockeystick.analyses.gram.law.gaussian_lattice import SHRINKAGE, beyond, excess_growth, rounded
from hockeystick.analyses.gram.law.spaced_nodes import MOST_NODES, spaced_nodes

__all__ = ["Step", "lattices", "reach", "state_count", "steps_into", "transition"]

IntArray = NDArray[np.int64]

# The step at fineness 1, relative to the spread of a transition, and at most so many nats.
STATE_STEP, WIDEST_STATE_NATS = 0.5, 0.5
FEWEST_STATES = 11
# Weights below this, relative to the tail that may be cut, are left out.
DROPPED = 1e-12


class Step(NamedTuple):
    """A transition into a bin: weights[new, old] between first and last, and the new states.

    Old states charge `charge` for what leaves the lattice; `lost` and `lost_worth` are what weights
    that were left out as too small may be worth, beside a sum and on their own.
    """

    weights: FloatArray
    first: IntArray
    last: IntArray
    nodes: FloatArray
    charge: FloatArray
    lost: FloatArray
    lost_worth: FloatArray


def reach(task: Task[Mixture], variance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The ends of a lattice for N(0, variance), also as seen with the example present."""
    sd = np.sqrt(variance)
    tail = quantile_of_tail(task.tail)
    if not task.remove:
        return -tail * sd, tail * sd
    spread = task.mixture.signal
    return -tail * sd, sd * (task.mixture.shift + math.sqrt(tail**2 + spread))


def state_count(task: Task[ChainMixture], chain: Chain) -> int:
    """How many states the lattices need."""
    return _unit_lattice(task, chain).size


def lattices(task: Task[ChainMixture], chain: Chain) -> list[FloatArray]:
    """States for each bin, all with the same number of them."""
    unit = _unit_lattice(task, chain)
    sds = np.sqrt(task.mixture.chain * chain.variance)
    return [sd * unit if sd > 0 else np.zeros(1) for sd in sds.tolist()]


def _unit_lattice(task: Task[ChainMixture], chain: Chain) -> FloatArray:
    """In standard deviations of a state; the finest transition decides how close nodes are.

    A lower bound reduces the variance of a transition by a multiple of the squared distance, which
    has to be the same everywhere.
    """
    sds = np.sqrt(task.mixture.chain * chain.variance)
    if not sds.any():
        return np.zeros(1)
    # The spread of the transition into each bin, relative to which its lattice is fine.
    fresh = np.concatenate((chain.variance[:1], chain.fresh))[sds > 0]
    wanted = np.minimum(STATE_STEP * np.sqrt(task.mixture.chain * fresh), WIDEST_STATE_NATS)
    step = task.fineness * float(np.min(wanted / sds[sds > 0]))
    low, high = (float(end) for end in reach(task, np.ones(())))
    if task.upper:
        return spaced_nodes(low, high, step=step, remove=task.remove, fewest=FEWEST_STATES)
    count = min(max(math.ceil((high - low) / step) + 1, FEWEST_STATES), MOST_NODES)
    return np.linspace(low, high, count)


def steps_into(task: Task[ChainMixture], chain: Chain, states: list[FloatArray]) -> Iterator[Step]:
    """The transition into every bin; the same one where nothing has changed since the last."""
    before, exponents = -1, [task.exponent(i) for i in range(chain.variance.size)]
    columns = (chain.variance[:-1], chain.variance[1:], chain.pull, chain.fresh, exponents[1:])
    changes = [None, *zip(*columns, strict=True)]
    for i, change in enumerate(changes):
        if before < 0 or change != changes[before]:
            step, before = _step_into(task, chain, states, i), i
        yield step


def _step_into(task: Task[ChainMixture], chain: Chain, states: list[FloatArray], i: int) -> Step:
    """From bin i - 1; into the first one from nothing."""
    nodes = states[i]
    fresh = float(chain.fresh[i - 1]) if i else float(chain.variance[0])
    mean = chain.pull[i - 1] * states[i - 1] if i else np.zeros(1)
    if nodes.size == 1:
        weights, charge = np.ones((mean.size, 1)), np.zeros(mean.size)
    else:
        variance = task.mixture.chain * fresh
        weights, charge = transition(task, mean, variance, nodes, task.exponent(i))
    return _banded(task, weights, charge, nodes)


def _banded(
    task: Task[Mixture], weights: FloatArray, charge: FloatArray, nodes: FloatArray
) -> Step:
    """The transition without the weights that cannot matter."""
    worth = np.exp(np.maximum(nodes, 0.0)) if task.remove else np.ones(nodes.size)
    small = weights * worth < task.tail * DROPPED
    dropped = np.where(small, weights, 0.0)
    kept = np.ascontiguousarray(np.where(small, 0.0, weights).T)
    some = kept > 0
    first = np.where(some.any(axis=1), some.argmax(axis=1), 0)
    last = np.where(some.any(axis=1), kept.shape[1] - some[:, ::-1].argmax(axis=1), 0)
    return Step(kept, first, last, nodes, charge, dropped.sum(axis=1), dropped @ worth)


def transition(
    task: Task[Mixture],
    mean: FloatArray,
    variance: float,
    nodes: FloatArray,
    exponent: float | None,
) -> tuple[FloatArray, FloatArray]:
    """Weights from every mean to every node, and what each row has to charge.

    Upper: remove moves low states up and charges E(e^(Y - top) - 1)+; add moves high states down
    and charges the mass below. Lower: both are left out.
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

"""Parts of a term that are drawn once: the first state of a ring, and independent factors."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick._numerics.special import ndtr
from hockeystick.analyses.gram.law.chain_lattices import reach, transition
from hockeystick.analyses.gram.law.chain_mixture import ChainMixture, Mixture, Task
from hockeystick.analyses.gram.law.chains import Chain
from hockeystick.analyses.gram.law.gaussian_lattice import beyond, excess_growth, merged, rounded
from hockeystick.analyses.gram.law.spaced_nodes import spaced_nodes
from hockeystick.analyses.gram.law.two_chains import TwoChains

__all__ = ["Parts", "own_count", "own_parts", "part_nodes", "starts"]

# Steps at fineness 1, relative to the standard deviation and to the root of the share of the
# variance that the part carries; at most so many standard deviations, and nats.
START_STEP, OWN_STEP = 0.35, 0.4
WIDEST_PART, WIDEST_PART_NATS = 2.5, 1.5
LARGEST_EXPONENT = 30.0
FEWEST_NODES = 4


class Parts(NamedTuple):
    """Independent factors of a term, their weights, and the mean that lies above the last."""

    factor: FloatArray
    weights: FloatArray
    over: float


def starts(task: Task[ChainMixture], chain: Chain) -> tuple[FloatArray, FloatArray, float]:
    """Values and weights of the first state of a ring, and what they have to charge.

    On a line there is one, 0.
    """
    mixture = task.mixture
    if not mixture.closes:
        return np.zeros(1), np.ones(1), 0.0
    share = float(np.mean(chain.start**2))
    nodes = part_nodes(task, mixture.chain, START_STEP / math.sqrt(share))
    exponent = task.exponent(0)
    if not task.upper:
        return *merged(mixture.chain, nodes, exponent=exponent), 0.0
    weights, charge = transition(task, np.zeros(1), mixture.chain, nodes, exponent)
    if task.remove:
        # At most e^top for each; logs, because the factor alone may overflow.
        with np.errstate(divide="ignore", over="ignore"):
            charge = np.exp(np.log(charge) + nodes[-1])
    return nodes, weights[0], float(charge[0])


def own_parts(task: Task[ChainMixture | TwoChains], amplitude: float) -> Parts:
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


def own_count(task: Task[ChainMixture | TwoChains]) -> int:
    """How many factors there are at the amplitude 1."""
    variance = task.mixture.own
    return _own_nodes(task, variance).size + task.upper if variance > 0 else 1


def _own_nodes(task: Task[ChainMixture | TwoChains], variance: float) -> FloatArray:
    return part_nodes(task, variance, OWN_STEP / math.sqrt(_own_share(task.mixture)))


def _own_share(mixture: ChainMixture | TwoChains) -> float:
    """How much of E[S^2] - 1 is due to the independent parts."""
    own = math.exp(min(mixture.chain, LARGEST_EXPONENT)) * math.expm1(
        min(mixture.own, LARGEST_EXPONENT)
    )
    shared = np.expm1(np.minimum(mixture.shared, LARGEST_EXPONENT))
    twice = 1 if mixture.ring else 2
    return own / (own + float(shared[0] + twice * shared[1:].sum()))


def part_nodes(task: Task[Mixture], variance: float, step: float) -> FloatArray:
    """A lattice for N(0, variance); the step at fineness 1 is in standard deviations."""
    sd = math.sqrt(variance)
    low, high = (float(end) for end in reach(task, np.ones(())))
    step = min(WIDEST_PART, step * task.fineness, WIDEST_PART_NATS * task.fineness / sd)
    return sd * spaced_nodes(low, high, step=step, remove=task.remove, fewest=FEWEST_NODES)

"""Which states a chain has: lattices for rounding, or for densities at equidistant nodes.

Any lattice gives a valid bound; densities are sampled where terms have independent parts, so that
what is to come depends smoothly on a state (docs/gram.md, "Sampling a smooth function").
"""

from __future__ import annotations

import math

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.analyses.gram.law.gaussian_lattice import widest_sampling
from hockeystick.analyses.gram.law.task import Task, reach, spaced_nodes
from hockeystick.analyses.gram.order.chains import Chain, ChainMixture

__all__ = ["lattices", "sampled_smoothing", "state_count"]


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

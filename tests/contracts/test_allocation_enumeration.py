"""Every method for random allocation, and the cap on Poisson, against enumeration of all outputs.

Steps have two to four outcomes, runs at most seven steps: P and Q of a whole run are finite sums.
No likelihood ratio is averaged and no set of steps is split, so nothing is shared with the library.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.accounting.baselines import BASELINES
from hockeystick.profile.resolution import BOTH
from hypothesis_strategies import TIMES, thinned
from in_one_test import in_one_test

Pair = tuple[Any, Any]

# What the floating-point sums below may differ by.
EXACT = 1 - 1e-9
METHODS = ["profile", "renyi", "decomposition", "poisson-reduction"]
EPSILONS, DELTAS = (0.35, 1.2), (1e-6,)
if TIMES > 1:
    EPSILONS, DELTAS = (0.0, *EPSILONS), (*DELTAS, 0.03)
# A per cent is enough here, and found with fewer refinements.
ACCURACY = 0.01


def response(epsilon: float) -> Pair:
    """Randomized response: the truth is e^epsilon times likelier."""
    other = math.exp(-epsilon)
    return np.array([1, other]) / (1 + other), np.array([other, 1]) / (1 + other)


MECHANISMS: dict[str, Pair] = {
    "response": response(1.5),
    "skewed": (np.array([0.9, 0.1]), np.array([0.5, 0.5])),
    "apart": (np.array([0.1, 0.4, 0.5, 0.0]), np.array([0.0, 0.6, 0.3, 0.1])),
    "low tail": (np.array([1e-12, 1 - 1e-12]), np.array([0.3, 0.7])),
    "all or nothing": (np.array([0.1, 0.9, 0.0]), np.array([0.0, 0.9, 0.1])),
}
# picks, out_of, steps: one step, one block, several blocks, every step, all but one, cut off.
RUNS = [(1, 1, 1), (1, 5, 5), (1, 2, 6), (2, 2, 4), (3, 4, 4), (2, 5, 5), (1, 4, 3), (2, 3, 4)]


def cases() -> Iterator[Any]:
    """Methods, mechanisms and runs; many orders of moments take seconds in the longer blocks."""
    for method, name, run in itertools.product(METHODS, ["response", "apart", "low tail"], RUNS):
        marks = [pytest.mark.slow] if method != "profile" and run[1] > run[0] else []
        if method != "profile" and name == "low tail" and run not in RUNS[1:4]:
            marks.append(pytest.mark.long)
        if method == "renyi" and name != "response" and run in RUNS[2:]:
            marks.append(pytest.mark.long)
        yield pytest.param(method, name, run, marks=marks)


def run_given(step: Pair, joined: tuple[int, ...], length: int) -> Any:
    """Probabilities of all outputs of `length` steps if the example joins exactly these."""
    result = np.ones(1)
    for i in range(length):
        result = np.outer(result, step[0] if i in joined else step[1]).ravel()
    return result


def allocation(step: Pair, picks: int, out_of: int, steps: int) -> Pair:
    """P and Q of a run of random allocation: the average over all sets of steps, block by block."""
    p = q = np.ones(1)
    for start in range(0, steps, out_of):
        length = min(out_of, steps - start)
        sets = list(itertools.combinations(range(out_of), picks))
        block = sum(run_given(step, chosen, length) for chosen in sets) / len(sets)
        p = np.outer(p, block).ravel()
        q = np.outer(q, run_given(step, (), length)).ravel()
    return p, q


def capped(step: Pair, rate: float, most: int, steps: int) -> Pair:
    """P and Q of Poisson sampling that stops: the sum over all outcomes of all draws."""
    p = np.zeros(len(step[0]) ** steps)
    for draws in itertools.product((0, 1), repeat=steps):
        chance = math.prod(rate if drawn else 1 - rate for drawn in draws)
        joined = tuple(i for i in range(steps) if draws[i])[:most]
        p += chance * run_given(step, joined, steps)
    return p, run_given(step, (), steps)


def divergence(pair: Pair, epsilon: float, direction: str) -> float:
    """The hockey-stick divergence as a finite sum."""
    p, q = pair if direction == "remove" else pair[::-1]
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


def assert_above(guarantee: hs.Guarantee, pair: Pair, direction: str) -> None:
    """Neither delta nor epsilon of the guarantee claims less than the enumeration."""
    for epsilon in EPSILONS:
        assert guarantee.delta(epsilon) >= divergence(pair, epsilon, direction) * EXACT
    for delta in DELTAS:
        claimed = guarantee.epsilon(delta)
        if math.isfinite(claimed):
            assert divergence(pair, claimed, direction) * EXACT <= delta


def plan_of(run: tuple[int, int, int], mechanism: hs.Profile) -> hs.Plan:
    """The run as a plan; a last block that is cut off is allowed."""
    picks, out_of, steps = run
    scheme = hs.RandomAllocation(picks=picks, out_of=out_of, truncate=steps % out_of > 0)
    return hs.Plan(sampling=scheme, steps=steps, mechanism=mechanism)


@pytest.mark.parametrize("direction", BOTH)
@pytest.mark.parametrize(("method", "name", "run"), list(cases()))
def test_no_method_claims_too_little(method, name, run, direction):
    """Upper bounds stay above the enumeration for every shape of run."""
    step = MECHANISMS[name]
    mechanism = hs.Profile.from_pmfs(*step)
    guarantee = hs.account(
        plan_of(run, mechanism), method=method, direction=direction, accuracy=ACCURACY
    )
    assert_above(guarantee, allocation(step, *run), direction)


@pytest.mark.slow
@pytest.mark.parametrize("direction", BOTH)
@pytest.mark.parametrize("name", ["skewed", "apart"])
@pytest.mark.parametrize("method", METHODS)
def test_directions_of_a_reversed_mechanism(method, name, direction):
    """A reversed mechanism is sampled first and reversed afterwards, whatever the method."""
    step, run = MECHANISMS[name], (1, 4, 4)
    mechanism = hs.Profile.from_pmfs(*step).reverse()
    guarantee = hs.account(
        plan_of(run, mechanism), method=method, direction=direction, accuracy=ACCURACY
    )
    assert_above(guarantee, allocation(step, *run)[::-1], direction)


@pytest.mark.parametrize("method", ["profile", "decomposition", "poisson-reduction"])
def test_reversed_mechanism_in_a_long_block(method):
    """Half of P apart, everything else alike: so is the run, however many steps there are."""
    mechanism = hs.Profile.from_pmfs([0.5, 0.5], [1.0, 0.0]).reverse()
    plan = plan_of((1, 1000, 1000), mechanism)
    assert hs.account(plan, method=method, direction="add").delta(3.0) >= 0.5 * EXACT
    remove = hs.account(plan, method=method, direction="remove").delta(0.3)
    assert remove >= (1 - 0.5 * math.exp(0.3)) * EXACT


@in_one_test
@pytest.mark.parametrize("steps", [2, 7])
@pytest.mark.parametrize("loss", [30.0, 34.0, 38.0, 60.0])
@pytest.mark.parametrize("method", ["profile", "decomposition", "poisson-reduction"])
def test_smallest_likelihood_ratio(method, loss, steps):
    """Without the example nearly every output has the likelihood ratio e^-loss, and is charged."""
    run = (1, steps, steps)
    guarantee = hs.account(
        plan_of(run, hs.Profile.randomized_response(epsilon=loss)), method=method, direction="add"
    )
    pair = allocation(response(loss), *run)
    for epsilon in (0.99 * loss, loss - 0.01):
        assert guarantee.delta(epsilon) >= divergence(pair, epsilon, "add") * (1 - 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", thinned(["apart", "response", "skewed"], normal=1))
@pytest.mark.parametrize("method", METHODS)
def test_compositions_of_guarantees(method, name):
    """A guarantee composed with itself is above two independent runs, in both directions."""
    step, run = MECHANISMS[name], (1, 3, 3)
    plan = plan_of(run, hs.Profile.from_pmfs(*step))
    p, q = allocation(step, *run)
    twice = np.outer(p, p).ravel(), np.outer(q, q).ravel()
    for direction in BOTH:
        guarantee = hs.account(plan, method=method, direction=direction, accuracy=ACCURACY)
        assert_above(guarantee.compose(guarantee), twice, direction)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["profile", "renyi"])
@pytest.mark.parametrize(("rate", "most", "steps"), [(0.3, 1, 5), (0.6, 2, 5), (1.0, 2, 3)])
@pytest.mark.parametrize("name", thinned(["response", "skewed", "apart"], normal=2))
def test_capped_poisson(name, rate, most, steps, method):
    """Poisson sampling that stops is covered in both directions."""
    step = MECHANISMS[name]
    scheme = hs.Poisson(rate=rate, max_participations=most)
    plan = hs.Plan(sampling=scheme, steps=steps, mechanism=hs.Profile.from_pmfs(*step))
    pair = capped(step, rate, most, steps)
    for direction in BOTH:
        guarantee = hs.account(plan, method=method, direction=direction, accuracy=ACCURACY)
        assert_above(guarantee, pair, direction)


@pytest.mark.parametrize("name", MECHANISMS)
def test_shuffling_baseline(name):
    """The clones bound is above one pick out of one block."""
    step, run = MECHANISMS[name], (1, 4, 4)
    bound = BASELINES["shuffling"].bound(plan_of(run, hs.Profile.from_pmfs(*step)), None)
    pair = allocation(step, *run)
    for epsilon in EPSILONS:
        claimed = bound.delta(epsilon, directions=BOTH, accuracy=1e-3).value
        assert claimed >= max(divergence(pair, epsilon, d) for d in BOTH) * EXACT


@in_one_test
@pytest.mark.parametrize("order", [1.2, 2, 2.5, 7, 60])
@pytest.mark.parametrize("steps", [1, 2, 5])
def test_renyi_divergence_of_an_allocation(steps, order):
    """Integer orders are exact, orders between lie above."""
    step = MECHANISMS["skewed"]
    p, q = allocation(step, 1, steps, steps)
    exact = math.log(float((p**order * q ** (1 - order)).sum())) / (order - 1)
    claimed = hs.Profile.from_pmfs(*step).allocate(steps).renyi(order)
    assert claimed >= exact * EXACT
    if order == int(order):
        assert claimed == pytest.approx(exact, rel=1e-9)

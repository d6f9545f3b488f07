"""Random allocation against enumeration of every set of steps and every output."""

from __future__ import annotations

import itertools
import math

import pytest

import hockeystick as hs
from in_one_test import in_one_test

EPSILON = 0.9
TRUTH = math.exp(EPSILON) / (1 + math.exp(EPSILON))


def allocation_pair(picks, out_of, length):
    """P and Q over all answer strings of the first `length` steps, by definition."""
    sets = list(itertools.combinations(range(out_of), picks))
    p, q = [], []
    for outcome in itertools.product((0, 1), repeat=length):
        # With the example a step answers 1 with probability TRUTH, without it 0.
        without = math.prod(1 - TRUTH if bit else TRUTH for bit in outcome)
        ratios = [(TRUTH / (1 - TRUTH)) if bit else ((1 - TRUTH) / TRUTH) for bit in outcome]
        mixture = sum(math.prod(ratios[i] for i in s if i < length) for s in sets) / len(sets)
        p.append(without * mixture)
        q.append(without)
    return p, q


def divergence(p, q, epsilon):
    """The hockey-stick divergence as a finite sum."""
    return sum(max(a - math.exp(epsilon) * b, 0.0) for a, b in zip(p, q, strict=True))


def account(picks, out_of, steps, direction, truncate=False):
    """The library's guarantee for the same mechanism."""
    scheme = hs.RandomAllocation(picks=picks, out_of=out_of, truncate=truncate)
    plan = hs.Plan(
        sampling=scheme, steps=steps, mechanism=hs.Profile.randomized_response(epsilon=EPSILON)
    )
    return hs.account(plan, direction=direction)


@in_one_test
@pytest.mark.parametrize("out_of", [2, 3, 5, 6])
@pytest.mark.parametrize("epsilon", [0.0, 0.2, 0.5])
def test_one_pick_is_exact(out_of, epsilon):
    """One pick equals the enumeration in both directions."""
    p, q = allocation_pair(1, out_of, out_of)
    assert account(1, out_of, out_of, "remove").delta(epsilon) == pytest.approx(
        divergence(p, q, epsilon), rel=6e-3
    )
    assert account(1, out_of, out_of, "add").delta(epsilon) == pytest.approx(
        divergence(q, p, epsilon), rel=6e-3
    )


@in_one_test
@pytest.mark.parametrize(("picks", "out_of"), [(2, 4), (2, 5), (3, 5), (3, 6), (5, 6)])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 2.0])
def test_several_picks_are_bounded(picks, out_of, epsilon):
    """Upper bounds lie above the enumeration in both directions, and lower ones below."""
    p, q = allocation_pair(picks, out_of, out_of)
    for direction, exact in (
        ("remove", divergence(p, q, epsilon)),
        ("add", divergence(q, p, epsilon)),
    ):
        answer = account(picks, out_of, out_of, direction).answer(epsilon=epsilon)
        assert answer.value >= exact * (1 - 1e-9)
        assert answer.lower is None or 0 <= answer.lower <= exact * (1 + 1e-9)


@pytest.mark.parametrize(
    ("picks", "out_of", "length"), [(1, 6, 4), (1, 5, 1), (2, 6, 4), (4, 6, 3)]
)
def test_truncated_block(picks, out_of, length):
    """A truncated block is exact for one pick and an upper bound for more."""
    p, q = allocation_pair(picks, out_of, length)
    for epsilon in (0.0, 0.1, 0.4):
        exact = divergence(p, q, epsilon)
        value = account(picks, out_of, length, "remove", truncate=True).delta(epsilon)
        assert value >= exact * (1 - 1e-9)
        if picks == 1:
            assert value == pytest.approx(exact, rel=6e-3)


def test_blocks_compose():
    """Two blocks are the composition of one block with itself."""
    one = account(1, 4, 4, "remove")
    assert account(1, 4, 8, "remove").epsilon(1e-3) == pytest.approx(
        one.compose(one).epsilon(1e-3), rel=1e-9
    )

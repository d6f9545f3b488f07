"""Users who share examples with few others: amplified, and never below what others reveal."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.errors import InvalidParameter, UnsupportedPlan
from hockeystick.schemes.user_min_sep.attribution import Attribution
from hockeystick.schemes.user_min_sep.sampler import user_walk

GRID = np.linspace(-7, 9, 401)
# What is seen less often changes no digit.
RARE = 1e-7


def delta_of(joint, epsilon, noise, *, add):
    """The mean over what is seen of the divergence of two steps, by integration over the plane."""
    x, y = np.meshgrid(GRID, GRID)
    cell = ((GRID[1] - GRID[0]) / noise) ** 2 / (2 * math.pi)
    total = 0.0
    for seen in {key for key, _ in joint}:
        parts = {vector: chance for (key, vector), chance in joint.items() if key == seen}
        if sum(parts.values()) < RARE:
            continue
        without = sum(parts.values()) * np.exp(-(x**2 + y**2) / 2 / noise**2)
        present = sum(
            chance * np.exp(-((x - a) ** 2 + (y - b) ** 2) / 2 / noise**2)
            for (a, b), chance in parts.items()
        )
        first, second = (without, present) if add else (present, without)
        total += float(np.maximum(first - math.exp(epsilon) * second, 0).sum() * cell)
    return total


def star(neighbours, rate):
    """Two steps, separation 2: one example of the user, each neighbour shares another user with it.

    What others contribute is orthogonal and large, so that their batches are seen. A draw of the
    user in the first step keeps all neighbours out of the second.
    """
    joint: dict[tuple[tuple[int, bool], tuple[int, int]], float] = {}

    def add(seen, vector, chance):
        joint[seen, vector] = joint.get((seen, vector), 0.0) + chance

    for drawn in range(neighbours + 1):
        chance = math.comb(neighbours, drawn) * rate**drawn * (1 - rate) ** (neighbours - drawn)
        none = (1 - rate) ** (neighbours - drawn)
        add((drawn, False), (1, 0), chance * rate)
        for later, weight in ((False, none), (True, 1 - none)):
            again = rate if drawn == 0 else 0.0
            add((drawn, later), (0, 1), chance * (1 - rate) * weight * again)
            add((drawn, later), (0, 0), chance * (1 - rate) * weight * (1 - again))
    return joint


def graph(neighbours):
    """The star."""
    examples = [0] * (neighbours + 1) + list(range(1, neighbours + 1))
    users = [*range(neighbours + 1), *range(1, neighbours + 1)]
    return Attribution.from_pairs(examples=examples, users=users)


def plan_of(neighbours, rate):
    """The star as a plan."""
    sampling = hs.UserMinSep(
        rate=rate, separation=2, examples_per_user=2, shared_examples=True, neighbours=neighbours
    )
    return hs.Plan(sampling=sampling, steps=2)


def test_the_star_is_drawn_so():
    """By the sampler, over all draws of two neighbours."""
    rate, found = 0.3, {}
    for bits in range(2**6):
        drawn = [np.flatnonzero([bits >> (3 * step + e) & 1 for e in range(3)]) for step in (0, 1)]
        first, second = user_walk(graph(2), drawn, separation=2, draws_exclude=True)
        chance = math.prod(rate if bits >> i & 1 else 1 - rate for i in range(6))
        joined = (first > 0).sum(), bool((second > 0).any())
        # As in `star`: of the first step all neighbours that were drawn are seen.
        key = (int(joined[0]), joined[1]), (int(0 in first), int(0 in second))
        found[key] = found.get(key, 0.0) + chance
    expected = star(2, rate)
    assert set(found) == {key for key, chance in expected.items() if chance > 0}
    for key, chance in found.items():
        assert expected[key] == pytest.approx(chance, rel=1e-12)


@pytest.mark.parametrize("neighbours", [1, 4, 100])
def test_the_bound_covers_what_others_reveal(neighbours):
    """Against integration; with 100 neighbours a user alone would be bounded too low."""
    plan = plan_of(neighbours, 0.1)
    bound = hs.account(plan, noise_multiplier=1.0, method="few-neighbours")
    for epsilon in (0.3, 2.0, 3.0)[neighbours // 100 :]:
        for add in (False, True):
            truth = delta_of(star(neighbours, 0.1), epsilon, 1.0, add=add)
            assert truth * 0.999 <= bound.delta(epsilon)
    if neighbours == 100:
        truth = delta_of(star(100, 0.1), 2.0, 1.0, add=False)
        assert truth == pytest.approx(0.00209, rel=0.01)
        single = hs.UserMinSep(rate=0.1, separation=2, examples_per_user=1)
        alone = hs.Plan(sampling=single, steps=2)
        assert hs.account(alone, noise_multiplier=1.0).delta(2.0) < truth


@pytest.mark.slow
def test_few_neighbours_leave_amplification():
    """Less than knowing all participations, more than a user alone, and more with neighbours."""
    options = {"rate": 0.004, "separation": 4, "examples_per_user": 2}
    strategy = hs.strategies.bsr(200, bands=4)

    def epsilon(**more):
        plan = hs.Plan(sampling=hs.UserMinSep(**options, **more), steps=200, strategy=strategy)
        return hs.account(plan, noise_multiplier=5.0).answer(delta=1e-5)

    found = [epsilon(shared_examples=True, neighbours=number) for number in (1, 10, 1_000)]
    unknown = epsilon(shared_examples=True)
    assert found[0].method == found[1].method == "few-neighbours"
    assert unknown.method == "known-participation"
    values = [epsilon().value, *(one.value for one in found), unknown.value]
    assert values == sorted(values)
    assert values[1] < 0.7 * unknown.value


def test_graphs_have_their_neighbours():
    """Counted from the graph, taken over by `for_batch_size`, and graphs with more are refused."""
    rng = np.random.default_rng(3)
    pairs = {(int(e), int(u)) for e, u in rng.integers(0, [40, 30], (70, 2))}
    pairs |= {(e, 30 + e) for e in range(40)}
    found = Attribution.from_pairs(examples=[e for e, _ in pairs], users=[u for _, u in pairs])
    most = 0
    for user in range(70):
        own = {e for e, u in pairs if u == user}
        others = {u for e, u in pairs if e in own}
        most = max(most, len({e for e, u in pairs if u in others} - own))
    assert most <= found.most_neighbours <= 2 * most
    assert graph(7).most_neighbours == 7
    scheme = hs.UserMinSep.for_batch_size(0.5, examples=graph(7), separation=2)
    assert scheme.neighbours == 7
    scheme.check_attribution(graph(7))
    with pytest.raises(InvalidParameter, match="neighbours=7"):
        scheme.check_attribution(graph(8))


@pytest.mark.parametrize(
    "options",
    [
        {"shared_examples": True},
        {"shared_examples": True, "neighbours": 2, "max_participations": 1},
        {},
    ],
)
def test_where_it_does_not_apply(options):
    """Without a limit on neighbours, with one on participations, and where nothing is shared."""
    sampling = hs.UserMinSep(rate=0.1, separation=2, examples_per_user=1, **options)
    with pytest.raises(UnsupportedPlan):
        hs.account(
            hs.Plan(sampling=sampling, steps=4), noise_multiplier=1.0, method="few-neighbours"
        )


@pytest.mark.parametrize("neighbours", [0, -1, 1.5, math.nan])
def test_numbers_of_neighbours(neighbours):
    """Positive integers, and only with shared examples."""
    options = {"rate": 0.1, "separation": 2, "examples_per_user": 1}
    with pytest.raises(InvalidParameter):
        hs.UserMinSep(**options, shared_examples=True, neighbours=neighbours)
    with pytest.raises(InvalidParameter):
        hs.UserMinSep(**options, neighbours=3)

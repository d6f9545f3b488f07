"""The best of a random number of runs: bounds against every order of the outputs."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import hockeystick as hs
from hockeystick._numerics.law import Resolution, Side
from hockeystick.tuning.selection import selection_curve

LAWS = [
    {"distribution": "geometric", "mean": 10.0},
    {"distribution": "geometric", "mean": 1.3},
    {"distribution": "poisson", "mean": 4.0},
    {"distribution": "poisson", "mean": 0.2},
    {"distribution": "negative-binomial", "mean": 8.0, "shape": 0.0},
    {"distribution": "negative-binomial", "mean": 5.0, "shape": 2.5},
]


def of_pair(p, q):
    """The guarantee of one run whose outputs have these probabilities."""
    plan = hs.Plan(
        sampling=hs.FullBatch(), steps=1, mechanism=hs.Profile.from_pmfs(list(p), list(q))
    )
    return hs.account(plan)


def searched(p, q, order, count, *, epsilon, cells=200):
    """The exact delta of the search if outputs rank in this order, best first; ties by coins.

    Within an output both places grow linearly; the midpoint rule is exact to 1e-6 here.
    """
    better, better_q, total = 0.0, 0.0, 0.0
    middle = (np.arange(cells) + 0.5) / cells
    for i in order:
        mine = count.density(better + p[i] * middle) * p[i]
        theirs = count.density(better_q + q[i] * middle) * q[i]
        total += np.maximum(mine - math.exp(epsilon) * theirs, 0.0).mean()
        better, better_q = better + p[i], better_q + q[i]
    return total


def random_pair(rng):
    """Two distributions on two to four outputs: near each other, far apart, or with zeros."""
    size = int(rng.integers(2, 5))
    p = rng.dirichlet(np.full(size, rng.choice([0.3, 1.0, 5.0])))
    if rng.random() < 0.3:
        return p, rng.dirichlet(np.full(size, 1.0))
    q = p * np.exp(rng.normal(0, rng.choice([0.1, 0.5, 1.5]), size))
    return p, q / q.sum()


@pytest.mark.parametrize("law", LAWS, ids=lambda law: f"{law['distribution']} {law['mean']}")
def test_no_order_of_the_outputs_exceeds_the_bound(law):
    """Every scoring of small discrete runs, both directions, at random epsilon."""
    search = hs.tuning.RandomRuns(**law)
    rng = np.random.default_rng(7)
    closest = 0.0
    for _ in range(5):
        p, q = random_pair(rng)
        found = search.guarantee(of_pair(p, q))
        for epsilon in rng.uniform(0, 2, 2):
            truth = max(
                searched(a, b, order, search.count, epsilon=epsilon)
                for a, b in ((p, q), (q, p))
                for order in itertools.permutations(range(len(p)))
            )
            assert truth <= found.delta(epsilon) * (1 + 1e-5) + 1e-12
            closest = max(closest, truth / max(found.delta(epsilon), 1e-300))
    # The bound is not idle: some order comes near it.
    assert closest > 0.5


def test_a_run_that_leaks_nothing():
    """Equal laws: the search leaks nothing either."""
    found = hs.tuning.RandomRuns(mean=10.0).guarantee(of_pair([0.2, 0.8], [0.2, 0.8]))
    assert found.delta(0.01) < 1e-12


def test_pure_runs_cost_less_than_three_times_their_epsilon():
    """[LiuTalwar19]: a geometric number of epsilon-DP runs is 3 epsilon-DP; small means less."""
    base = hs.account(
        hs.Plan(sampling=hs.FullBatch(), steps=1, mechanism=hs.Profile.from_epsilon_delta(1.0, 0.0))
    )
    found = [hs.tuning.RandomRuns(mean=mean).guarantee(base).epsilon(1e-9) for mean in (2, 10, 1e4)]
    assert 1 < found[0] < found[1] < found[2] < 3.005


@pytest.mark.parametrize("mean", [3.0, 10.0, 50.0])
def test_below_the_bound_by_moments(mean):
    """dp-accounting's Renyi bound on the same search is never below ours."""
    from dp_accounting import dp_event
    from dp_accounting.rdp import rdp_privacy_accountant

    orders = [1 + 0.25 * i for i in range(1, 40)] + list(range(11, 200))
    for distribution, shape in (("geometric", 1.0), ("poisson", math.inf)):
        accountant = rdp_privacy_accountant.RdpAccountant(orders)
        step = dp_event.GaussianDpEvent(4.0)
        accountant.compose(dp_event.RepeatAndSelectDpEvent(step, mean, shape))
        base = hs.account(hs.Plan(sampling=hs.FullBatch(), steps=1), noise_multiplier=4.0)
        ours = hs.tuning.RandomRuns(distribution=distribution, mean=mean).guarantee(base)
        assert ours.epsilon(1e-6) < 0.95 * accountant.get_epsilon(1e-6)


def test_below_the_bound_with_one_common_factor():
    """Far out the bound is several times below that of losses in order, [KoskelaRedbergWang24]."""
    profile = hs.Profile.gaussian(noise_multiplier=4.0)
    law = profile.expression.law(Side.UPPER, Resolution(0.02, 1e-15, 6.0))
    curve = selection_curve(law, hs.tuning.RandomRuns(mean=10.0).count)
    ratio, mean = curve.ordered_losses[0] - law.loss[-1], 10.0
    common = mean * profile.delta(1.6 - ratio)
    assert curve.in_order(1.6) <= common * 1.001
    assert curve.any_place(1.6) < 0.4 * common


def test_the_profile_composes():
    """The profile of a search is above its delta, and two searches leak more than one."""
    base = hs.account(hs.Plan(sampling=hs.FullBatch(), steps=1), noise_multiplier=4.0)
    once = hs.tuning.RandomRuns(mean=5.0).guarantee(base)
    for epsilon in (0.5, 1.0, 1.5):
        delta = once.delta(epsilon)
        assert delta <= once.profile.delta(epsilon) <= 1.05 * delta
    assert once.epsilon(1e-6) < once.compose(once).epsilon(1e-6) < 2 * once.epsilon(1e-6)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: f"{law['distribution']} {law['mean']}")
def test_drawn_numbers_have_the_law(law):
    """Mean and generating function of 4,000 numbers of runs, within five standard errors."""
    search = hs.tuning.RandomRuns(**law)
    rng = np.random.default_rng(11)
    counts = np.array([search.draw(rng=rng) for _ in range(4000)])
    error = counts.std() / math.sqrt(counts.size)
    assert abs(counts.mean() - law["mean"]) < 5 * error
    for x in (0.1, 0.5, 0.9):
        powers = (1 - x) ** counts
        exact = 1 - float(search.count.mass(np.array([x]))[0])
        assert abs(powers.mean() - exact) < 5 * powers.std() / math.sqrt(counts.size) + 1e-12


@pytest.mark.parametrize("law", LAWS, ids=lambda law: f"{law['distribution']} {law['mean']}")
def test_density_mass_and_inverse_agree(law):
    """The mass is the integral of the density, the inverse is one, the mean is the density at 0."""
    count = hs.tuning.RandomRuns(**law).count
    x = np.linspace(0, 1, 2001)
    middle = (x[1:] + x[:-1]) / 2
    assert np.allclose(np.cumsum(count.density(middle)) / 2000, count.mass(x)[1:], rtol=1e-4)
    assert np.allclose(count.where_log_density(count.log_density(x[1:])), x[1:], rtol=1e-9)
    assert float(count.density(x[:1])[0]) == pytest.approx(law["mean"], rel=1e-9)


@pytest.mark.parametrize(
    "law",
    [
        {"distribution": "poisson", "mean": 2e3},
        {"distribution": "poisson", "mean": 1e6},
        {"distribution": "negative-binomial", "mean": 1e6, "shape": 200.0},
    ],
    ids=lambda law: f"{law['distribution']} {law['mean']:g}",
)
def test_many_runs_leak_more(law):
    """Where the density of the number of runs underflows, epsilon is large and not 0."""
    base = hs.account(hs.Plan(sampling=hs.FullBatch(), steps=1), noise_multiplier=1.0)
    found = hs.tuning.RandomRuns(**law).guarantee(base)
    fewer = hs.tuning.RandomRuns(**{**law, "mean": 100.0}).guarantee(base)
    assert found.epsilon(1e-5) > fewer.epsilon(1e-5) > base.epsilon(1e-5)
    assert found.delta(base.epsilon(1e-5)) > 1e-5


def test_calibrated_searches_meet_their_target():
    """The whole search is at most the epsilon that was asked, and not far below."""
    search = hs.tuning.RandomRuns(distribution="poisson", mean=6.0)
    plan = hs.Plan(sampling=hs.Poisson(rate=0.05), steps=20)
    found = search.calibrate(plan, epsilon=2.0, delta=1e-6)
    assert 1.99 < found.guarantee.epsilon(1e-6) <= 2.0
    one = hs.account(plan, noise_multiplier=found.noise_multiplier)
    assert search.guarantee(one).epsilon(1e-6) == found.guarantee.epsilon(1e-6)


def test_the_best_run_is_returned():
    """Runs are made with settings drawn from the list; the best score wins, ties by coins."""
    search = hs.tuning.RandomRuns(distribution="poisson", mean=0.5)
    made = []

    def run(setting):
        made.append(setting)
        return setting, f"model {setting}"

    found = [search.best_of(run, [1.0, 2.0, 3.0], rng=seed) for seed in range(60)]
    assert None in found
    assert {best.setting for best in found if best} == {1.0, 2.0, 3.0}
    assert all(best.output == f"model {best.setting}" for best in found if best)
    with pytest.raises(hs.errors.InvalidParameter, match="score"):
        hs.tuning.RandomRuns(mean=3.0).best_of(lambda _: (math.nan, None), [1], rng=1)


@pytest.mark.parametrize(
    ("bad", "name"),
    [
        ({"mean": 1.0}, "mean"),
        ({"mean": math.nan}, "mean"),
        ({"mean": 0.5}, "mean"),
        ({"mean": 2.0, "shape": 1.0}, "shape"),
        ({"mean": 2.0, "distribution": "negative-binomial"}, "shape"),
        ({"mean": 2.0, "distribution": "negative-binomial", "shape": -0.5}, "shape"),
        ({"mean": 2.0, "distribution": "uniform"}, "distribution"),
    ],
)
def test_refusals_name_the_parameter(bad, name):
    """One sentence with the parameter."""
    with pytest.raises(hs.errors.InvalidParameter, match=name):
        hs.tuning.RandomRuns(**bad)


def test_one_direction_is_not_enough():
    """A search needs both directions of its runs."""
    plan = hs.Plan(sampling=hs.FullBatch(), steps=1)
    one_way = hs.account(plan, noise_multiplier=1.0, direction="add")
    with pytest.raises(hs.errors.InvalidParameter, match="both directions"):
        hs.tuning.RandomRuns(mean=3.0).guarantee(one_way)

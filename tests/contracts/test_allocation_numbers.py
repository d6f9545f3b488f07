"""Random allocation at the sizes of the paper: numbers, order of the methods, and simulation."""

from __future__ import annotations

import itertools
import time

import pytest

import hockeystick as hs
from hypothesis_strategies import thinned

ACCURACY = 1e-3


def plan(*, picks=1, out_of, epochs=1):
    """Whole blocks."""
    scheme = hs.RandomAllocation(picks=picks, out_of=out_of)
    return hs.Plan(sampling=scheme, steps=epochs * out_of)


@pytest.mark.slow
def test_a_fresh_draw_in_every_epoch():
    """1 out of 10,000, noise 1, delta 1e-8: five runs, together in seconds."""
    hs.account(plan(out_of=50), noise_multiplier=1.0).epsilon(
        1e-5
    )  # compiled before the clock runs
    start = time.process_time()
    for epochs, largest in [(1, 0.0606), (3, 0.1062), (10, 0.1980), (30, 0.3510), (100, 0.6585)]:
        run = plan(out_of=10_000, epochs=epochs)
        answer = hs.account(run, noise_multiplier=1.0, method="profile").answer(delta=1e-8)
        assert answer.lower <= answer.value <= largest
        assert answer.lower > 0.99 * largest
    # Two seconds of CPU time are usual.
    assert time.process_time() - start < 10


@pytest.mark.parametrize(
    ("epochs", "published"), [(1, 0.8595), (3, 0.8658), (10, 0.8878), (30, 0.9507), (100, 1.0599)]
)
def test_renyi_at_the_same_sizes(epochs, published):
    """What the paper's third analysis gives, from 0.86 to 1.06."""
    run = plan(out_of=10_000, epochs=epochs)
    found = hs.account(run, noise_multiplier=1.0, method="renyi").epsilon(1e-8)
    assert found == pytest.approx(published, rel=2e-4)


@pytest.mark.parametrize(
    ("picks", "low", "high"), [(1, 0.1665, 0.1728), (4, 0.730, 0.757), (16, 3.160, 3.230)]
)
def test_inside_the_range_of_another_accountant(picks, low, high):
    """Upper and lower epsilon of PLD-accounting 2.0 at 1,024 steps, noise 1, delta 1e-6."""
    run = plan(picks=picks, out_of=1024)
    found = hs.account(run, noise_multiplier=1.0, method="profile").epsilon(1e-6)
    assert low <= found <= high


FIGURES = [
    *[("figure 1", plan(out_of=10**6), noise, 1e-10) for noise in (4.0, 0.3, 0.5, 0.8, 1.0, 2.0)],
    *[("figure 2", plan(out_of=10_000, epochs=n), 1.0, 1e-8) for n in (1, 10, 100)],
    *[("figure 3", plan(out_of=t), 0.3, 1e-4) for t in (10, 100, 1000)],
    *[("figure 4", plan(picks=k, out_of=1024), 1.0, 1e-6) for k in (1, 16, 256)],
]


@pytest.mark.slow
@pytest.mark.parametrize(("figure", "run", "noise", "delta"), thinned(FIGURES, normal=3))
def test_profile_is_never_above_the_others(figure, run, noise, delta):
    """Beyond its accuracy, at the settings of the figures."""
    profile, *others = (
        hs.account(run, noise_multiplier=noise, method=method).epsilon(delta)
        for method in ("profile", "gaussian", "renyi", "decomposition", "poisson-reduction")
    )
    assert profile <= min(others) * (1 + ACCURACY) + ACCURACY * 1e-3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("run", "noise", "epsilon"),
    [
        pytest.param(plan(out_of=100), 1.0, 0.25, marks=pytest.mark.long),
        (plan(out_of=30, epochs=3), 0.7, 1.0),
        pytest.param(plan(out_of=200), 0.3, 2.0, marks=pytest.mark.long),
        (plan(picks=4, out_of=8), 0.7, 5.0),
        (plan(picks=3, out_of=10, epochs=2), 2.0, 0.5),
        pytest.param(plan(picks=16, out_of=64), 1.0, 4.0, marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize("direction", ["remove", "add"])
def test_no_method_is_below_the_simulation(run, noise, epsilon, direction):
    """Every upper bound is above the lower end of the interval; the exact one is inside."""
    estimate = hs.estimate_delta(
        run, noise_multiplier=noise, epsilon=epsilon, direction=direction, draws=20_000, rng=5
    )
    assert estimate.low <= estimate.value <= estimate.high
    assert estimate.low > 1e-5
    for method in (name for name, kind in hs.methods(run).items() if kind == "proven"):
        guarantee = hs.account(run, noise_multiplier=noise, method=method, direction=direction)
        assert guarantee.delta(epsilon) >= estimate.low
    if run.sampling.picks == 1:
        exact = hs.account(run, noise_multiplier=noise, method="profile", direction=direction)
        assert exact.answer(epsilon=epsilon).lower <= estimate.high


@pytest.mark.slow
@pytest.mark.parametrize("noise", thinned([0.5, 1.0, 4.0], normal=2))
@pytest.mark.parametrize("out_of", [1, 2, 3, 50])
def test_decomposition_is_an_independent_computation_of_profile(noise, out_of):
    """Conditioning a Poisson run gives what averaging likelihood ratios gives."""
    run = plan(out_of=out_of, epochs=3)
    for delta, direction in itertools.product((1e-3, 1e-9), ("remove", "add")):
        profile, decomposition = (
            hs.account(run, noise_multiplier=noise, method=method, direction=direction).answer(
                delta=delta
            )
            for method in ("profile", "decomposition")
        )
        assert decomposition.value >= profile.lower
        if noise >= 1:
            assert decomposition.value <= profile.value * (1 + 1.5 * ACCURACY)


@pytest.mark.slow
def test_reduction_comes_close_where_blocks_are_long():
    """Poisson sampling at a rate raised by less than one per cent."""
    run = plan(out_of=10**6)
    profile, reduction = (
        hs.account(run, noise_multiplier=1.0, method=method).epsilon(1e-10)
        for method in ("profile", "poisson-reduction")
    )
    assert profile < reduction < 1.02 * profile


@pytest.mark.parametrize("method", ["renyi", "decomposition", "poisson-reduction"])
def test_auto_leaves_out_what_profile_covers(method):
    """The other analyses are asked by name only, and say that they apply."""
    run = plan(picks=2, out_of=20)
    assert hs.methods(run)[method] == "proven"
    automatic = hs.account(run, noise_multiplier=1.0)
    assert method not in {analysis.method for analysis in automatic.analyses}


@pytest.mark.slow
@pytest.mark.parametrize("method", ["renyi", "decomposition", "poisson-reduction"])
def test_every_analysis_composes(method):
    """Two runs composed by any method are covered: at least the exact epsilon of both."""
    run = plan(out_of=40)
    once = hs.account(run, noise_multiplier=1.0, method=method)
    both = once.compose(once)
    exact = hs.account(plan(out_of=40, epochs=2), noise_multiplier=1.0).answer(delta=1e-6)
    assert both.method == method
    assert both.epsilon(1e-6) >= exact.lower
    assert both.epsilon(1e-6) >= once.epsilon(1e-6)
    assert both.epsilon(1e-6) <= 2 * once.epsilon(0.5e-6) * 1.05


@pytest.mark.parametrize("method", ["decomposition", "poisson-reduction"])
def test_analyses_of_allocation_refuse_other_schemes(method):
    """In one sentence, with what would work."""
    run = hs.Plan(sampling=hs.Poisson(rate=0.1), steps=10)
    reason = "poisson does not allocate participations|Poisson sampling already"
    with pytest.raises(hs.errors.UnsupportedPlan, match=reason):
        hs.account(run, noise_multiplier=1.0, method=method)

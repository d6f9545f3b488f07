"""The Levy filter: its guarantee, its showcase, its last step."""

from __future__ import annotations

import math

import pytest

import hockeystick as hs
from fdp_filter_showcase import showcase_schedule
from hockeystick import filters
from hockeystick.errors import BudgetExceeded, InvalidParameter
from hockeystick.filters.levy.search import _grid
from hockeystick.filters.levy.search.programme import DEFAULT
from hockeystick.filters.request import GaussianStep
from hypothesis_strategies import thinned
from in_one_test import in_one_test

# Together they take seconds; `make test` runs them.
pytestmark = pytest.mark.slow

PROFILE = {1e-5: 1.21566, 1e-8: 1.69548}
RENYI = {1e-5: 1.3307, 1e-8: 1.8008}
# What the design gave for the showcase, kept so that not every test has to wait for it.
BLOCKS = filters.LevyProcess(
    gaussian=0.004408,
    unit=0.0076,
    sizes=(1, 13, 29, 36, 68, 84),
    rates=(115.0, 0.01242, 9.875e-4, 1.414e-5, 1.357e-8, 6.675e-9),
    killing=1.074e-11,
    catalyst=2.648e-4,
)
SINGLE = {
    1e-5: filters.LevyProcess(
        gaussian=4.253e-5,
        unit=0.00448,
        sizes=(1, 19, 24, 68, 84, 104),
        rates=(1.287, 2.981e-4, 3.238e-4, 1.716e-7, 2.455e-10, 4.654e-10),
        killing=6.932e-11,
        catalyst=0.002815,
    ),
    1e-8: filters.LevyProcess(
        gaussian=6.96e-5,
        unit=0.00762,
        sizes=(1, 2, 3, 4, 13, 29, 36, 55, 68, 84, 104),
        rates=(
            *(1.327e-3, 1.327e-3, 1.327e-3, 7.68e-5, 5.892e-4, 1.319e-7),
            *(3.094e-7, 3.711e-9, 2.303e-10, 2.713e-11, 1.16e-12),
        ),
        killing=7.265e-14,
        catalyst=0.002778,
    ),
}


def small(**kept: object) -> filters.Levy:
    """A filter that is built at once and knows sampled steps."""
    return filters.Levy(epsilon=1.3, delta=1e-5, process=SINGLE[1e-5], **kept)  # type: ignore[arg-type]


@pytest.mark.long
def test_showcase_in_blocks_with_a_designed_process() -> None:
    """Epsilon 3 % above that of the schedule fixed in advance is enough, at delta = 1e-5."""
    schedule = showcase_schedule()
    epsilon = 1.03 * PROFILE[1e-5]
    f = filters.Levy(epsilon=epsilon, delta=1e-5, expected=schedule, block=150)
    for rate, sigma, steps in schedule:
        f.request(rate=rate, noise_multiplier=sigma, steps=steps, clip=False)
    g = f.guarantee()
    assert g.kind == f.kind == "proven"
    assert epsilon * (1 - 1e-6) <= g.epsilon(1e-5) <= epsilon
    assert epsilon < RENYI[1e-5]
    with pytest.raises(BudgetExceeded):
        f.request(rate=0.01, noise_multiplier=1.5, steps=300, clip=False)


@pytest.mark.slow
def test_showcase_in_blocks_at_small_delta() -> None:
    """The same at delta = 1e-8."""
    f = filters.Levy(epsilon=1.03 * PROFILE[1e-8], delta=1e-8, process=BLOCKS)
    for rate, sigma, steps in showcase_schedule():
        f.request(rate=rate, noise_multiplier=sigma, steps=steps, clip=False)
    assert f.spent > 0.9 * f.budget


@pytest.mark.slow
@pytest.mark.parametrize("delta", thinned(RENYI, normal=1))
def test_showcase_step_by_step(delta: float) -> None:
    """3650 requests of one step fit below the epsilon of the Renyi filter."""
    f = filters.Levy(epsilon=0.985 * RENYI[delta], delta=delta, process=SINGLE[delta])
    for rate, sigma, steps in showcase_schedule():
        for _ in range(steps):
            f.request(rate=rate, noise_multiplier=sigma, clip=False)
    assert len(f.history) == 3650


def test_full_batches_are_the_gaussian_filter() -> None:
    """The same charges, budget, guarantee and last step."""
    levy = filters.Levy(epsilon=1.0, delta=1e-5)
    mu = math.sqrt(levy.budget)
    gaussian = filters.Gaussian(mu=mu)
    assert hs.Profile.gaussian(noise_multiplier=1 / mu).epsilon(1e-5) == pytest.approx(1.0)
    for request in (
        {"noise_multiplier": 20.0},
        {"noise_multiplier": 9.0, "sensitivity": 0.5, "steps": 7},
        {"noise_multiplier": 0.3},
    ):
        one, other = (f.request(**request) for f in (levy, gaussian))
        assert one.charge == pytest.approx(other.charge, rel=1e-12)
        assert one.clip_scale == pytest.approx(other.clip_scale, rel=1e-9)
    for epsilon in (0.0, 0.5, 2.0):
        expected = gaussian.guarantee().delta(epsilon)
        assert levy.guarantee().delta(epsilon) == pytest.approx(expected, rel=1e-7)


def test_sampling_without_jumps_is_charged_like_a_full_batch() -> None:
    """Brownian motion alone covers no sampled step any cheaper."""
    f = filters.Levy(epsilon=1.0, delta=1e-5)
    full = f.request(noise_multiplier=9.0).charge
    assert f.request(noise_multiplier=9.0, rate=0.1).charge == full


def test_equal_requests_are_charged_once() -> None:
    """The second request of a setting only looks it up, and so does one that rounds to it."""
    f = small()
    first = f.request(rate=0.01, noise_multiplier=2.0)
    f._charge_of_block = None  # type: ignore[method-assign, assignment]
    assert f.request(rate=0.01, noise_multiplier=2.0).charge == first.charge
    g = small()
    one, other = (g.request(rate=q, noise_multiplier=2.0) for q in (0.0099999, 0.01))
    assert one.charge == other.charge == first.charge
    assert len(g._blocks) == 1


def test_last_request_is_clipped() -> None:
    """It spends exactly what is left, at a charge that is not above it; then nothing is left."""
    f = small()
    permits = []
    while not permits or permits[-1].clip_scale == 1.0:
        permits.append(f.request(rate=0.01, noise_multiplier=1.6, steps=700))
    last = permits[-1]
    assert 0.1 < last.clip_scale < 1
    assert f.spent == f.budget
    clipped = f._charge_of_block(GaussianStep(0.01, 1.6, last.clip_scale), 700)
    assert 0.98 * last.charge <= clipped <= last.charge
    with pytest.raises(BudgetExceeded):
        f.request(rate=0.01, noise_multiplier=1.6)


def test_step_far_beyond_the_design_is_clipped_to_what_is_covered() -> None:
    """A single step that the whole budget does not cover: its clipped charge is tested itself."""
    f = small()
    assert f._charge_of_block(GaussianStep(0.01, 0.5), 1) > f.budget
    permit = f.request(rate=0.01, noise_multiplier=0.5)
    assert 0.2 < permit.clip_scale < 0.9
    assert (
        f._charge_of_block(GaussianStep(0.01, 0.5, permit.clip_scale), 1)
        <= permit.charge
        <= f.budget
    )


@pytest.mark.parametrize(
    ("rate", "noise"), [(1e-300, 1.0), (0.01, 1e300), (1.0, 1e300), (0.01, 1e-3), (1e-3, 30.0)]
)
def test_extreme_steps(rate: float, noise: float) -> None:
    """Next to nothing costs little, but something; next to no noise is clipped."""
    f = small()
    permit = f.request(rate=rate, noise_multiplier=noise)
    assert 0 < permit.charge <= f.budget
    assert (permit.clip_scale < 1) == (noise < 1e-2)
    if permit.clip_scale == 1:
        assert permit.charge < 1e-3 * f.budget
    with pytest.raises(BudgetExceeded):
        f.request(rate=rate, noise_multiplier=1e-300)


def test_clip_can_be_refused_and_nothing_is_recorded() -> None:
    """What does not fit raises."""
    f = small()
    with pytest.raises(BudgetExceeded):
        f.request(rate=0.01, noise_multiplier=0.9, steps=100_000, clip=False)
    with pytest.raises(BudgetExceeded):
        f.request(profile=hs.Profile.from_epsilon_delta(0.1, 1e-6))
    assert f.history == ()


def test_profiles_cost_what_their_settings_cost() -> None:
    """A sampled Gaussian as a profile; many runs are charged as one block."""
    f = small()
    request = f.request(rate=0.01, noise_multiplier=2.0, steps=40).charge
    profile = hs.Profile.gaussian(noise_multiplier=2.0).subsample(0.01)
    as_block = f.request(profile=profile, steps=40).charge
    assert as_block == pytest.approx(request, rel=0.01)
    assert as_block == pytest.approx(f.request(profile=profile.self_compose(40)).charge)


def test_ledger_and_audit(tmp_path) -> None:
    """Another process continues the run; the audit has its steps; another Levy process may not."""
    path = tmp_path / "ledger.db"
    small(ledger=path, name="run").request(rate=0.01, noise_multiplier=2.0, steps=150).commit()
    again = small(ledger=path, name="run")
    assert again.spent == again.history[0].charge > 0
    audit = again.audit(direction="remove")
    assert audit.schedule == ((0.01, 2.0, 150),)
    assert 0 < audit.epsilon(1e-5).realised < audit.epsilon(1e-5).claimed
    with pytest.raises(InvalidParameter):
        filters.Levy(epsilon=1.3, delta=1e-5, ledger=path, name="run")


@in_one_test
@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": math.nan},
        {"delta": 0.0},
        {"expected": [(0.0, 1.0, 1)]},
        {"expected": [(0.1, 1.0, 1), (1.1, 1.0, 1)]},
        {"expected": [(0.1, math.nan, 1)]},
        {"expected": [(0.1, -1.0, 1)]},
        {"expected": [(0.1, 1.0, 0)]},
        {"epsilon": 1e-4, "process": SINGLE[1e-5]},
    ],
)
def test_wrong_parameters(wrong: dict[str, object]) -> None:
    """Everything is checked; a catalyst that alone costs more than epsilon is refused."""
    with pytest.raises(InvalidParameter):
        filters.Levy(**{"epsilon": 1.0, "delta": 1e-5, **wrong})  # type: ignore[arg-type]


@pytest.mark.slow
def test_design_beats_renyi_where_it_is_meant_to() -> None:
    """Single steps at rate 0.1: more of them than a Renyi filter of the best order allows."""
    told = {"epsilon": 8.0, "delta": 1e-6, "expected": [(0.1, 1.5, 1)]}
    f, renyi = filters.Levy(**told), filters.Renyi(**told)
    steps = [one.budget / one.request(rate=0.1, noise_multiplier=1.5).charge for one in (f, renyi)]
    assert steps[0] > 1.1 * steps[1]


def test_as_many_steps_as_were_expected_one_at_a_time_or_in_blocks() -> None:
    """`expected` counts steps, whatever the size of a request: the design serves both."""
    told = {"epsilon": 1.5, "delta": 1e-5}
    whole, single = (
        filters.Levy(**told, expected=[(0.05, 2.0, steps)])  # type: ignore[arg-type]
        for steps in (300, 1)
    )
    assert whole.process == single.process
    one = whole.request(rate=0.05, noise_multiplier=2.0).charge
    block = whole.request(rate=0.05, noise_multiplier=2.0, steps=50).charge
    renyi = filters.Renyi(**told, expected=[(0.05, 2.0, 300)])  # type: ignore[arg-type]
    charge = renyi.request(rate=0.05, noise_multiplier=2.0).charge
    assert whole.budget / one > renyi.budget / charge
    assert 0.8 * 50 * one < block < 50 * one


def test_the_design_counts_steps_not_entries() -> None:
    """One entry of 99 steps weighs like 99 of one step."""
    rare, common = hs.fdp.EqualSteps(0.01, 1.0, 1), hs.fdp.EqualSteps(0.01, 2.0, 99)
    nodes = {p.noise: p.weight for p in _grid((rare, common), DEFAULT)}
    assert nodes[2.0] == pytest.approx(0.99)
    assert nodes[1.0] == pytest.approx(DEFAULT.unexpected_weight)


def test_a_block_without_a_time_costs_its_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no time is found for a block, the times of its steps add up; both are valid."""
    f = small()
    one = f.request(rate=0.01, noise_multiplier=1.5).charge
    monkeypatch.setattr("hockeystick.filters.levy.charge_of", lambda *_, **__: math.inf)
    assert f.request(rate=0.01, noise_multiplier=1.5, steps=4).charge == pytest.approx(4 * one)

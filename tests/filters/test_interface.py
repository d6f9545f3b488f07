from __future__ import annotations

import math
from collections.abc import Callable
from time import process_time

import pytest

import hockeystick as hs
from hockeystick import filters
from hockeystick.errors import BudgetExceeded, InvalidParameter
from in_one_test import in_one_test

GAUSSIAN = hs.Profile.gaussian(noise_multiplier=2.0)
MAKERS: dict[str, Callable[..., filters.Filter]] = {
    "renyi": lambda **kept: filters.Renyi(epsilon=1.0, delta=1e-5, **kept),
    "gaussian": lambda **kept: filters.Gaussian(mu=0.5, **kept),
    "approximate": lambda **kept: filters.ApproximateGaussian(mu=0.5, regime="large", **kept),
    "natural": lambda **kept: filters.NaturalFDP(family=[GAUSSIAN], budget=GAUSSIAN, **kept),
}
EVERY = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())


@EVERY
def test_permit_counts_at_once_and_cancel_gives_back(make: Callable[..., filters.Filter]) -> None:
    """A reservation is spent from the start; only a cancellation undoes it."""
    f = make()
    first = f.request(noise_multiplier=10.0)
    assert f.spent == first.charge > 0
    assert f.remaining == f.budget - first.charge
    second = f.request(noise_multiplier=20.0)
    second.cancel()
    assert f.spent == first.charge
    first.commit()
    assert [entry.status for entry in f.history] == ["committed", "cancelled"]


@EVERY
def test_context_manager_commits_or_keeps(make: Callable[..., filters.Filter]) -> None:
    """Success commits; after an exception the charge stays reserved."""
    f = make()
    with f.request(noise_multiplier=10.0):
        pass
    with pytest.raises(RuntimeError), f.request(noise_multiplier=10.0):
        raise RuntimeError
    assert [entry.status for entry in f.history] == ["committed", "reserved"]
    assert math.isclose(f.spent, 2 * f.history[0].charge)
    with f.request(noise_multiplier=10.0) as permit:
        permit.cancel()
    assert [entry.status for entry in f.history] == ["committed", "reserved", "cancelled"]


@EVERY
def test_last_step_spends_exactly(make: Callable[..., filters.Filter]) -> None:
    """The last step is clipped, nothing is left, and then nothing is recorded any more."""
    f = make()
    permits = []
    while not permits or permits[-1].clip_scale == 1:
        permits.append(f.request(noise_multiplier=5.3))
    last = permits[-1]
    assert 0 < last.clip_scale < 1
    assert f.spent == f.budget
    assert f.remaining == 0.0
    assert last.effective_noise_multiplier == 5.3 / last.clip_scale
    with pytest.raises(BudgetExceeded, match="left"):
        f.request(noise_multiplier=5.3)
    assert len(f.history) == len(permits)
    assert math.fsum(permit.charge for permit in permits) == f.budget


@EVERY
def test_several_steps_cost_as_many_times(make: Callable[..., filters.Filter]) -> None:
    """A block of steps costs what its steps cost, and is clipped as one."""
    f = make()
    one = f.request(noise_multiplier=20.0).charge
    assert math.isclose(f.request(noise_multiplier=20.0, steps=7).charge, 7 * one, rel_tol=1e-12)
    last = f.request(noise_multiplier=20.0, steps=100_000)
    assert 0 < last.clip_scale < 1
    assert f.spent == f.budget


@EVERY
def test_clip_can_be_refused(make: Callable[..., filters.Filter]) -> None:
    """With clip=False what does not fit raises, and what fits still runs."""
    f = make()
    with pytest.raises(BudgetExceeded):
        f.request(
            noise_multiplier=0.3 if not isinstance(f, filters.NaturalFDP) else 2.0,
            clip=False,
            steps=9,
        )
    assert f.history == ()
    f.request(noise_multiplier=20.0, clip=False)


@in_one_test
@EVERY
@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"noise_multiplier": math.nan},
        {"noise_multiplier": 0.0},
        {"noise_multiplier": 1.0, "rate": 0.0},
        {"noise_multiplier": 1.0, "rate": math.nan},
        {"noise_multiplier": 1.0, "sensitivity": -1.0},
        {"noise_multiplier": 1.0, "steps": 0},
        {"noise_multiplier": 1.0, "clip": 1},
        {"noise_multiplier": 1.0, "profile": GAUSSIAN},
        {"profile": GAUSSIAN, "rate": 0.5},
        {"profile": hs.Profile.gaussian(noise_multiplier=2.0, bound="lower")},
        {"profile": 2.0},
        {"noise_multiplier": 1.0, "steps": 10**400},
    ],
)
def test_wrong_requests(make: Callable[..., filters.Filter], wrong: dict[str, object]) -> None:
    """Anything that is not a request is refused before anything is recorded."""
    f = make()
    with pytest.raises(InvalidParameter):
        f.request(**wrong)  # type: ignore[arg-type]
    assert f.history == ()


@EVERY
def test_state_is_kept_in_a_file(make: Callable[..., filters.Filter], tmp_path) -> None:
    """A filter of the same name continues where the other one stopped; another name is another."""
    path = tmp_path / "ledger.db"
    make(ledger=path, name="run").request(noise_multiplier=9.0, sensitivity=0.5).commit()
    again = make(ledger=path, name="run")
    assert again.spent == again.history[0].charge > 0
    assert again.audit().schedule == ((1.0, 18.0, 1),)
    assert make(ledger=path, name="other").spent == 0.0


def test_nothing_is_free() -> None:
    """A charge that underflows is still something."""
    f = filters.Gaussian(mu=1.0)
    assert f.request(noise_multiplier=1e300).charge > 0


def test_requests_stay_linear() -> None:
    """The work of a request does not grow with the history: one charge, one decision, one entry."""
    f = filters.Renyi(epsilon=5.0, delta=1e-5, order=8)
    computed = 0
    original = f._charge_of_step

    def counted(step) -> float:
        nonlocal computed
        computed += 1
        return original(step)

    f._charge_of_step = counted  # type: ignore[method-assign]
    for number in range(3000):
        f.request(rate=0.001, noise_multiplier=2.0 + number % 3)
    assert computed == 3
    assert len(f.history) == 3000


@pytest.mark.slow
@pytest.mark.parametrize("half", [5_000, pytest.param(50_000, marks=pytest.mark.long)])
def test_time_of_many_requests(half: int) -> None:
    """The second half takes about as long as the first (generously, for a shared machine)."""
    f = filters.Gaussian(mu=1.0)
    times = [process_time()]
    for _ in range(2):
        for _ in range(half):
            f.request(noise_multiplier=1000.0)
        times.append(process_time())
    assert times[2] - times[1] < 3 * (times[1] - times[0])
    assert len(f.history) == 2 * half


@pytest.mark.parametrize("mu", [1e-200, 1e200])
@pytest.mark.parametrize("make", [filters.Gaussian, filters.ApproximateGaussian])
def test_budgets_out_of_range(make: Callable[..., filters.Filter], mu: float) -> None:
    """A budget that is 0 or infinite as a number is refused."""
    with pytest.raises(InvalidParameter, match="budget"):
        make(mu=mu)


def test_the_norm_to_clip_to() -> None:
    """The longest contribution has both the sensitivity of the request and the last clip."""
    f = filters.Gaussian(mu=0.5)
    whole = f.request(noise_multiplier=4.0, sensitivity=0.5)
    assert whole.clip_norm(3.0) == 1.5
    last = f.request(noise_multiplier=0.1, sensitivity=0.5)
    assert last.clip_norm(3.0) == pytest.approx(1.5 * last.clip_scale, rel=1e-15)
    assert 3.0 * 0.1 / last.clip_norm(3.0) == pytest.approx(last.effective_noise_multiplier)

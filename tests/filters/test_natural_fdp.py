from __future__ import annotations

import numpy as np
import pytest

import hockeystick as hs
from hockeystick import filters
from hockeystick.errors import BudgetExceeded, InvalidParameter, UnsupportedPlan

STEP = hs.Profile.gaussian(noise_multiplier=1.0).subsample(0.05)


def gaussian(mu: float) -> hs.Profile:
    """A Gaussian mechanism."""
    return hs.Profile.gaussian(noise_multiplier=1 / mu)


def sampled(mu: float) -> hs.Profile:
    """A Gaussian on half of the examples."""
    return gaussian(mu).subsample(0.5)


def test_powers_of_one_mechanism() -> None:
    """Runs are counted, without rounding, and the guarantee is that of as many runs."""
    f = filters.NaturalFDP(family=[STEP, STEP.self_compose(4)], budget=STEP.self_compose(10))
    assert (f.kind, f.budget) == ("proven", 10.0)
    f.request(profile=STEP.self_compose(4))
    f.request(rate=0.05, noise_multiplier=1.0, steps=5)
    assert f.remaining == 1.0
    with pytest.raises(BudgetExceeded):
        f.request(profile=STEP.self_compose(4))
    f.request(profile=STEP)
    assert f.spent == f.budget
    with pytest.raises(BudgetExceeded):
        f.request(rate=0.05, noise_multiplier=1.0)
    claimed = f.guarantee().epsilon(1e-5)
    both = STEP.self_compose(10).epsilon_bounds(1e-5, directions=("remove", "add"))
    assert claimed == both.upper
    assert f.audit().epsilon(1e-5).realised <= claimed * (1 + 1e-3)


def test_gaussian_families() -> None:
    """Squares add up as in the Gaussian filter; nothing beyond the declared family runs."""
    f = filters.NaturalFDP(family=[gaussian(0.5), gaussian(1.0)], budget=gaussian(2.0))
    g = filters.Gaussian(mu=2.0)
    for noise in (1.0, 3.0, 2.0):
        assert f.request(noise_multiplier=noise).charge == pytest.approx(
            g.request(noise_multiplier=noise).charge, rel=1e-12
        )
    with pytest.raises(InvalidParameter, match="family"):
        f.request(noise_multiplier=0.9)
    with pytest.raises(InvalidParameter, match="family"):
        f.request(rate=0.5, noise_multiplier=1.0)


@pytest.mark.parametrize("profile", [STEP.compose(gaussian(0.1)), hs.Profile.laplace(scale=1.0)])
def test_other_profiles_are_not_of_the_family(profile: hs.Profile) -> None:
    """A member is recognised by what it is made of."""
    f = filters.NaturalFDP(family=[STEP], budget=STEP.self_compose(10))
    with pytest.raises(InvalidParameter):
        f.request(profile=profile)
    with pytest.raises(InvalidParameter, match="budget"):
        filters.NaturalFDP(family=[STEP], budget=profile)


@pytest.mark.slow
def test_crossing_curves_are_refused_with_the_counterexample() -> None:
    """The mechanisms of Example 3.3: their products cross."""
    family = [sampled(mu) for mu in (1.3, 2.25, 0.1, 10.0)]
    with pytest.raises(UnsupportedPlan, match="Counterexample") as refusal:
        filters.NaturalFDP(family=family, budget=sampled(1.3), steps=3)
    assert isinstance(refusal.value, filters.NotAChain)
    assert refusal.value.test.holds is False
    assert refusal.value.test.witness is not None
    assert len(str(refusal.value)) < 500


def test_ordered_families_of_other_kinds_are_refused() -> None:
    """Randomised response of two strengths: ordered, but without a common unit."""
    family = [hs.Profile.randomized_response(epsilon=epsilon) for epsilon in (0.5, 1.0)]
    with pytest.raises(filters.NotAChain, match="one number") as refusal:
        filters.NaturalFDP(family=family, budget=family[0], steps=2)
    assert refusal.value.test.holds


def test_empty_family() -> None:
    """Nothing to choose from."""
    with pytest.raises(InvalidParameter, match="family"):
        filters.NaturalFDP(family=[], budget=STEP)


def test_lower_bounds_are_no_budgets() -> None:
    """A profile from below is no privacy statement, neither as a member nor as the budget."""
    below = hs.fdp.TradeOff([0.0, 0.5, 1.0], [1.0, 0.4, 0.0], bound="upper").to_profile()
    above = hs.fdp.TradeOff([0.0, 0.5, 1.0], [1.0, 0.4, 0.0]).to_profile()
    with pytest.raises(InvalidParameter, match="family"):
        filters.NaturalFDP(family=[below], budget=below.self_compose(3))
    with pytest.raises(InvalidParameter, match="budget"):
        filters.NaturalFDP(family=[above], budget=below)
    with pytest.raises(InvalidParameter, match="family"):
        filters.NaturalFDP(family=[0.5], budget=above)  # type: ignore[list-item]


@pytest.mark.parametrize("outcomes", [2, 1200])
def test_mechanisms_that_look_alike_share_no_budget(outcomes: int, tmp_path) -> None:
    """A ledger tells discrete pairs apart by all of their digits, however NumPy prints them."""
    p = np.linspace(1.0, 2.0, outcomes) / np.linspace(1.0, 2.0, outcomes).sum()
    moved = p.copy()
    middle = slice(outcomes // 2 - 1, outcomes // 2 + 1)
    moved[middle] += [-1e-10 / outcomes, 1e-10 / outcomes]
    one, same, other = (hs.Profile.from_pmfs(x, p[::-1]) for x in (p, p, moved))
    assert repr(one) == repr(other)
    path = tmp_path / "ledger.db"
    f = filters.NaturalFDP(family=[one], budget=one.self_compose(3), ledger=path)
    f.request(profile=one)
    assert len(f.unit.splitlines()) == 1
    with np.printoptions(precision=2):
        again = filters.NaturalFDP(family=[same], budget=same.self_compose(3), ledger=path)
    assert again.spent == 1.0
    with pytest.raises(InvalidParameter, match=r"^budget must be .* as when"):
        filters.NaturalFDP(family=[other], budget=other.self_compose(3), ledger=path)

"""Whether families generate Blackwell chains."""

from __future__ import annotations

import math

import pytest

from hockeystick import Profile
from hockeystick.errors import InvalidParameter
from hockeystick.fdp import (
    FirstStage,
    Order,
    TradeOff,
    adaptive_height,
    blackwell_chain,
    blackwell_order,
    chain,
    from_pmfs,
    gdp,
    greatest_lower_bound,
)


def response(epsilon: float) -> TradeOff:
    """Randomised response."""
    high = 1 / (1 + math.exp(-epsilon))
    return from_pmfs([high, 1 - high], [1 - high, high])


def sampled(mu: float, rate: float = 0.5) -> Profile:
    """A Poisson-sampled Gaussian."""
    return Profile.gaussian(noise_multiplier=1 / mu).subsample(rate)


def test_known_chains_are_recognised_without_numbers() -> None:
    """Gaussian families and powers of one mechanism, for any number of steps."""
    gaussian = [Profile.gaussian(noise_multiplier=2.0), gdp(0.3), gdp(1.5)]
    base = sampled(1.0, 0.1)
    reverse = base.reverse()
    curve = response(1.0)
    for family in (
        gaussian,
        [base],
        [base, base.self_compose(3), base.self_compose(7)],
        [reverse, reverse.self_compose(3)],
        [curve, curve],
    ):
        found = blackwell_chain(family, steps=1_000)
        assert (found.holds, found.slack, found.witness) == (True, 0.0, None)


@pytest.mark.slow
def test_members_that_are_ordered_suffice_for_two_steps() -> None:
    """Sampled Gaussians of one rate are ordered, but their squares are not (Section 3.2)."""
    family = [sampled(1.0), sampled(2.0)]
    assert blackwell_chain(family, steps=2).holds is True
    assert blackwell_chain(family, steps=3).holds is False


def test_powers_of_polygons_are_a_chain_by_comparison() -> None:
    """f and its square, given as curves: everything is ordered, up to the slack."""
    f = from_pmfs([0.5, 0.3, 0.2], [0.2, 0.3, 0.5])
    found = blackwell_chain([f, f.tensor(f)], steps=4)
    assert found.holds is True
    assert found.slack > 0


def test_randomised_response_stops_being_a_chain() -> None:
    """rr(1)^2 is below rr(2), rr(1)^3 is not: the number of steps decides."""
    family = [response(1.0), response(2.0)]
    assert blackwell_order(response(1.0).power(2), response(2.0)) is Order.LARGER
    assert blackwell_chain(family, steps=3).holds is True
    found = blackwell_chain(family, steps=4)
    assert found.holds is False
    assert found.witness is not None
    assert (found.witness.first, found.witness.second) == ((0, 1), (3, 0))


@pytest.mark.parametrize(
    ("family", "steps"),
    [
        ([response(1.0), response(2.0)], 4),
        ([response(1.0), response(1.2)], 3),
        (
            [from_pmfs([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]), from_pmfs([0.1, 0.9, 0], [0, 0.9, 0.1])],
            2,
        ),
    ],
    ids=["responses", "close responses", "failure"],
)
def test_witnesses_are_counterexamples(family: list[TradeOff], steps: int) -> None:
    """Replayed from its fields, the rule exceeds the tight budget of the natural filter."""
    witness = blackwell_chain(family, steps=steps).witness
    assert witness is not None
    assert witness.counterexample is not None
    products = []
    for counts in (witness.first, witness.second):
        assert sum(counts) < steps
        product = TradeOff.identity()
        for member, count in zip(family, counts, strict=True):
            product = product.tensor(member.power(count)) if count else product
        products.append(product)
    curves = [product.curve() for product in products]
    for gamma in witness.calibration_points:
        assert curves[0](gamma) == pytest.approx(curves[1](gamma), abs=1e-12)
    found = witness.counterexample
    first = family[found.first_step]
    stage = FirstStage.of_tradeoff(first)
    height = adaptive_height(stage, curves, choice=found.choice, gamma=found.gamma)
    tight = greatest_lower_bound([first.tensor(product) for product in products]).curve()
    assert height == pytest.approx(found.height, rel=1e-9)
    assert tight(found.gamma) == pytest.approx(found.budget, rel=1e-9)
    assert height > tight(found.gamma) + 1e-4
    assert found.excess == pytest.approx(height - tight(found.gamma), rel=1e-6)


@pytest.mark.slow
def test_crossings_in_the_tail_need_a_small_slack() -> None:
    """Half the rate twice: its tail is heavier than that of one step, but only below 1e-5."""
    family = [sampled(1.0, 0.5), sampled(1.0, 0.25)]
    found = blackwell_chain(family, steps=3, slack=1e-4)
    assert found.holds is True
    assert "up to 0.0001 aside" in found.reason
    assert blackwell_chain(family, steps=3).holds is False


@pytest.mark.slow
def test_the_family_of_example_3_3_fails_with_a_proven_excess() -> None:
    """Two of its sampled Gaussians are enough; bounds from both sides show the excess."""
    found = blackwell_chain([sampled(1.3), sampled(2.25)], steps=3)
    assert found.holds is False
    assert found.witness is not None
    assert found.witness.counterexample is not None
    assert found.witness.counterexample.excess > 1e-3
    assert "not ordered" in found.reason


def test_too_many_products_are_left_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a crossing among those that are compared, the answer is None and says how far."""
    monkeypatch.setattr(chain, "MOST_PAIRS", 4)
    found = blackwell_chain([response(1.0), response(2.0)], steps=1_000)
    assert found.holds is None
    assert "products of 2 or fewer" in found.reason


@pytest.mark.slow
def test_curves_closer_than_the_bounds_are_undecided() -> None:
    """Two profiles that differ by less than the numerics resolve: neither True nor False."""
    close = Profile.gaussian(noise_multiplier=1.0).subsample(0.5)
    nearly = Profile.gaussian(noise_multiplier=1.0).subsample(0.5 + 1e-9)
    found = blackwell_chain([close.compose(sampled(0.3)), nearly.compose(sampled(0.3))], steps=2)
    assert found.holds is None
    assert found.witness is None
    assert "could not be told apart" in found.reason


def test_bad_families_are_refused() -> None:
    """Empty ones, estimates, and steps that are no count."""
    with pytest.raises(InvalidParameter, match="family"):
        blackwell_chain([], steps=2)
    estimated = TradeOff([0.0, 1.0], [1.0, 0.0], bound="estimate")
    with pytest.raises(InvalidParameter, match="family"):
        blackwell_chain([estimated, response(1.0)], steps=2)
    with pytest.raises(InvalidParameter, match="steps"):
        blackwell_chain([response(1.0)], steps=0)
    with pytest.raises(InvalidParameter, match="slack"):
        blackwell_chain([response(1.0)], steps=2, slack=math.nan)


def test_members_are_mechanisms() -> None:
    """Numbers are none, not even several times the same one."""
    with pytest.raises(InvalidParameter, match="family"):
        blackwell_chain([3, 3], steps=2)  # type: ignore[list-item]

"""`verify` and `draws_to_verify`: claims that are fixed first."""

from __future__ import annotations

import pytest

import hockeystick as hs
from hockeystick import strategies
from hockeystick.errors import InvalidParameter, VerificationFailed

PLAN = hs.Plan(
    sampling=hs.MinSep(rate=0.3, separation=2), steps=4, strategy=strategies.bsr(4, bands=2)
)
NOISE, EPSILON = 1.0, 0.5


def test_verify_accepts_with_slack():
    """A guarantee of the kind verified, that says what the draws were."""
    delta = max(
        one[0].value
        for one in hs.estimate_profile(
            PLAN, noise_multiplier=NOISE, epsilons=[EPSILON], draws=400_000, seed=1
        ).values()
    )
    options = {"noise_multiplier": NOISE, "epsilon": EPSILON, "delta": 1.3 * delta, "seed": 4}
    guarantee = hs.verify(PLAN, **options)
    assert guarantee.kind == "verified"
    assert guarantee.method == "monte-carlo"
    answer = guarantee.answer(epsilon=EPSILON)
    assert answer.value == pytest.approx(1.3 * delta, rel=1e-9)
    assert answer.details["false_acceptance"] == pytest.approx(0.013 * delta, rel=1e-9)
    planned = hs.draws_to_verify(PLAN, **options)
    assert planned.feasible
    assert {trial.part for trial in planned.trials} == {"sequential"}
    # A sequential test gives up after three times the expected draws.
    assert 0 < answer.details["draws"] <= 3 * planned.draws
    assert answer.details["order"] >= 2
    assert answer.details["largest_payoff"] > delta
    assert planned.estimated_delta == pytest.approx(delta, rel=0.05)


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_verify_rejects_false_claims(share):
    """With an error that names the claim."""
    delta = hs.estimate_delta(
        PLAN, noise_multiplier=NOISE, epsilon=EPSILON, draws=400_000, rng=1
    ).value
    with pytest.raises(VerificationFailed, match="is not accepted at noise multiplier 1"):
        hs.verify(PLAN, noise_multiplier=NOISE, epsilon=EPSILON, delta=share * delta, seed=4)


def test_verify_says_how_many_draws_it_needs():
    """Instead of making more than it was allowed."""
    with pytest.raises(InvalidParameter, match=r"draws must be >= [\d,]+ for this claim"):
        hs.verify(PLAN, noise_multiplier=NOISE, epsilon=EPSILON, delta=0.2, draws=1, seed=4)


@pytest.mark.parametrize("scheme", [hs.UserMinSep, hs.ConjecturedUserMinSep])
def test_the_kind_of_conjectured_schemes(scheme):
    """Draws do not make more of a conjecture than it is."""
    sampling = scheme(rate=0.1, separation=2, examples_per_user=2)
    plan = hs.Plan(sampling=sampling, steps=4)
    guarantee = hs.verify(plan, noise_multiplier=4.0, epsilon=1.0, delta=0.01, seed=4)
    expected = "verified" if scheme is hs.UserMinSep else "conjectured"
    assert guarantee.kind == expected
    assert guarantee.unit == "user"

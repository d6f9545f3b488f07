"""`compare` with draws: what is verified, and that the choice among it is covered."""

from __future__ import annotations

import pytest

import hockeystick as hs
from hockeystick.accounting.candidates import RunSize, candidates
from hockeystick.accounting.verified_comparison import (
    VERIFICATION,
    Estimated,
    expected_seconds,
    worth_verifying,
)
from hockeystick.errors import InvalidParameter
from hockeystick.montecarlo.verifier import Claim
from hockeystick.montecarlo.verify import checked_claim

RUN = {"examples": 200, "batch_size": 20, "steps": 24, "epsilon": 6.0, "delta": 1e-5}
SCHEMES = ["poisson", "min-sep"]


@pytest.fixture(scope="module")
def found():
    """A small comparison with draws, and what it said."""
    texts = []
    rows = hs.compare(**RUN, schemes=SCHEMES, verify=True, seed=3, update=texts.append)
    return rows, texts


@pytest.mark.slow
def test_verified_rows_beside_proven_ones(found):
    """Sorted together; verified rows have less error than the proven ones of the same plan.

    Independent noise has an exact analysis, and is not verified.
    """
    rows, _ = found
    errors = [one.mean_squared_error for one in rows]
    assert errors == sorted(errors)
    verified = [one for one in rows if one.answer.kind == "verified"]
    assert rows[0] in verified
    assert {one.plan.sampling.name for one in verified} == {"min-sep"}
    assert {one.plan.strategy.name for one in verified} == {"bsr", "band-mf"}
    assert all(one.answer.value <= RUN["epsilon"] for one in rows)
    for one in rows:
        same = [other for other in verified if other.plan == one.plan]
        if one.answer.kind == "proven" and same:
            assert same[0].calibration.noise_multiplier < one.calibration.noise_multiplier


@pytest.mark.slow
def test_tests_share_the_chance_of_a_wrong_acceptance(found):
    """Every verified row says of how many choices it is one."""
    rows, _ = found
    verified = [one for one in rows if one.answer.kind == "verified"]
    for one in verified:
        assert one.answer.details["choices"] >= len(verified) > 1
        assert one.answer.details["false_acceptance"] == pytest.approx(0.01 * RUN["delta"])


@pytest.mark.slow
def test_what_is_said_on_the_way(found):
    """First about how long it takes, then what is estimated and verified, with a bar."""
    _, texts = found
    assert "verified by draws: about" in texts[0]
    assert any("estimating min-sep, bsr, 8 bands" in text for text in texts)
    assert any(text.startswith("[") and "verifying min-sep" in text for text in texts)


def test_choices_share_q():
    """Several claims pass wrongly with no more than the probability of one, in all."""
    plan = hs.Plan(sampling=hs.MinSep(rate=0.1, separation=4), steps=8)
    one = checked_claim(plan, epsilon=1.0, delta=1e-3, direction="both")
    many = checked_claim(plan, epsilon=1.0, delta=1e-3, direction="both", choices=7)
    assert isinstance(many, Claim)
    assert 7 * many.false_pass == pytest.approx(one.false_pass, rel=1e-12)
    assert many.allowed == one.allowed
    with pytest.raises(InvalidParameter):
        hs.MonteCarlo(choices=0)


def test_only_the_best_are_worth_draws():
    """Close to the least error, and the best of each scheme with each factorization."""
    run = RunSize(examples=1000, batch_size=10, steps=64)
    tried = [one for one in candidates(run, verify=True) if one.by_draws]
    plans = [
        hs.Plan(sampling=one.sampling, steps=64, strategy=one.strategy(64, **one.parameters))
        for one in tried
    ]
    errors = [100.0, 105.0, 130.0, 140.0, 150.0, 160.0, 170.0, 180.0, 190.0, 200.0][: len(plans)]
    estimated = [
        Estimated(candidate, plan, 1.0, error)
        for candidate, plan, error in zip(tried, plans, errors, strict=False)
    ]
    chosen = worth_verifying(estimated, least=1000.0)
    assert [one.error for one in chosen] == sorted(one.error for one in chosen)
    names = {(one.plan.sampling.name, one.plan.strategy.name) for one in estimated}
    for name in names:
        best = min(
            (o for o in estimated if (o.plan.sampling.name, o.plan.strategy.name) == name),
            key=lambda o: o.error,
        )
        assert best in chosen
    near = [one for one in estimated if one.error <= 100.0 * VERIFICATION.within]
    assert all(one in chosen for one in near)
    assert len(chosen) <= len(near) + len(names)
    assert expected_seconds(tried) < sum(one.seconds for one in tried)


def test_without_verify_nothing_is_drawn():
    """Candidates for draws alone are left out, and a seed is refused."""
    run = RunSize(examples=1000, batch_size=10, steps=64)
    assert not any(one.by_draws for one in candidates(run))
    with pytest.raises(InvalidParameter, match="seed"):
        hs.compare(**RUN, schemes=SCHEMES, seed=3)

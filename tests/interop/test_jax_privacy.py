"""Configurations of jax-privacy 2.0.0, accounted from their fields."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from dp_accounting import dp_event
from dp_accounting.pld import pld_privacy_accountant

import hockeystick as hs
from hockeystick.cli.main import main
from hockeystick.interop import check_file, from_jax_privacy

KERAS = {
    "epsilon": 1.5,
    "delta": 1e-5,
    "clipping_norm": 1.0,
    "batch_size": 10,
    "gradient_accumulation_steps": 2,
    "train_steps": 100,
    "train_size": 1000,
    "poisson_sampling_in_fit": True,
    "noise_multiplier": 1.0,
}
BAND_MF = {
    "iterations": 50,
    "strategy": [1.0, 0.5, 0.25, 0.1],
    "sampling_prob": 0.2,
    "noise_multiplier": 1.5,
}
PARAMETERS = {
    "noise_multipliers": [[0, 1.0], [60, 2.0]],
    "num_samples": 1000,
    "delta": 1e-5,
    "batch_size": 20,
    "batch_size_scale_schedule": {"40": 2},
    "num_updates": 100,
    "sampling_method": "POISSON",
}


def theirs(*phases):
    """What dp-accounting says of (event, count), as jax-privacy composes them."""
    accountant = pld_privacy_accountant.PLDAccountant(value_discretization_interval=1e-3)
    for event, count in phases:
        accountant.compose(event, count)
    return accountant.get_epsilon(1e-5)


def sampled(noise, rate):
    """A Poisson-sampled Gaussian event."""
    return dp_event.PoissonSampledDpEvent(rate, dp_event.GaussianDpEvent(noise))


CASES = {
    "keras": (KERAS, [(sampled(1.0, 0.02), 100)], True),
    "one-band": (
        {**BAND_MF, "strategy": [1.0]},
        [(sampled(1.5, 0.2), 50)],
        True,
    ),
    # 50 steps with four groups: an example is in 13 of them at most.
    "bands": (BAND_MF, [(sampled(1.5, 0.2), 13)], False),
    "schedules": (
        PARAMETERS,
        [(sampled(1.0, 0.02), 40), (sampled(1.0, 0.04), 20), (sampled(2.0, 0.04), 40)],
        True,
    ),
    "cycle": (
        {**PARAMETERS, "noise_multipliers": 1.0, "batch_size_scale_schedule": None}
        | {"cycle_length": 5},
        [(sampled(1.0, 0.1), 20)],
        False,
    ),
    "fixed": (
        {**PARAMETERS, "noise_multipliers": 2.0, "batch_size_scale_schedule": None}
        | {"sampling_method": "SamplingMethod.FIXED_BATCH_SIZE"},
        [(sampled(1.0, 0.02), 100)],
        False,
    ),
    "capped": (
        {**BAND_MF, "strategy": [1.0], "truncated_batch_size": 40, "num_examples": 100},
        [(dp_event.TruncatedSubsampledGaussianDpEvent(100, 0.2, 40, 1.5), 50)],
        False,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_configurations_have_the_numbers_of_their_events(name):
    """As jax-privacy composes them for its accountant; two-sided where the run is tight."""
    config, phases, tight = CASES[name]
    found = from_jax_privacy(config).answer(delta=1e-5)
    assert found.value == pytest.approx(theirs(*phases), rel=5e-3)
    assert (found.lower is not None) == tight
    if tight:
        assert found.lower <= theirs(*phases) * (1 + 1e-6)


def test_objects_are_read_by_their_fields():
    """A configuration is an object; with replaced examples its noise is over twice the norm."""
    assert from_jax_privacy(SimpleNamespace(**KERAS)).epsilon(1e-5) == pytest.approx(
        from_jax_privacy(KERAS).epsilon(1e-5)
    )
    accountant = SimpleNamespace(neighboring_relation="NeighboringRelation.REPLACE_ONE")
    replaced = from_jax_privacy(SimpleNamespace(**BAND_MF, accountant=accountant))
    plan = hs.Plan(sampling=hs.Poisson(rate=0.2), steps=13, adjacency="replace-one")
    assert replaced.adjacency == "replace-one"
    assert replaced.epsilon(1e-5) == pytest.approx(
        hs.account(plan, noise_multiplier=3.0).epsilon(1e-5), rel=1e-3
    )


@pytest.mark.parametrize(
    ("config", "error"),
    [
        ({}, "config"),
        ({**KERAS, "noise_multiplier": None}, "calibrates its own"),
        ({**KERAS, "batch_size": 600}, "batch_size"),
        ({**PARAMETERS, "examples_per_user": 2}, "UserMinSep"),
        ({**PARAMETERS, "noise_multipliers": [[5, 1.0]]}, "begin with step 0"),
        ({**PARAMETERS, "sampling_method": "FIXED", "truncated_batch_size": 5}, "no cap"),
        (
            {**BAND_MF, "truncated_batch_size": 5, "num_examples": 100}
            | {"neighboring_relation": "REPLACE_ONE"},
            "zeroed out",
        ),
    ],
)
def test_what_is_refused(config, error):
    """With a reason."""
    with pytest.raises(hs.errors.HockeystickError, match=error):
        from_jax_privacy(config)


def test_a_rate_of_physical_batches_claims_too_little(tmp_path, capsys):
    """The known trap: jax-privacy checks a given noise with the rate of one physical batch.

    `DPKerasConfig` accepts noise 1 for epsilon 1.1 with updates of two batches of ten: it computes
    the epsilon of one, and allows for 0.1 more.
    """
    physical = theirs((sampled(1.0, 0.01), 100))
    claim = {**KERAS, "epsilon": physical, "poisson_sampling_in_fit": False}
    path = tmp_path / "config.json"
    path.write_text(json.dumps(claim))
    found = check_file(path)
    assert found.library == "jax-privacy"
    assert found.verdict == "too small"
    assert "one physical batch" in found.caution
    assert "shuffled" in found.caution
    assert main(["check", str(path)]) == 1
    assert "too small" in capsys.readouterr().out
    path.write_text(json.dumps(KERAS))
    assert check_file(path).verdict == "larger than needed"
    assert main(["check", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["library"] == "jax-privacy"

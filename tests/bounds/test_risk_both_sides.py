"""guarantee.risks(): the risk of the best attack from both sides; riskcal's numbers beside it."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import norm

import hockeystick as hs

# riskcal 1.5.1, get_advantage_for_dpsgd and get_beta_for_dpsgd at its default grid: noise, rate,
# steps, advantage, true positive rates at 0.001, 0.01 and 0.1.
RISKCAL = [
    (1.0, 0.01, 1000, 0.161018, (0.004014, 0.029100, 0.194179)),
    (0.7, 0.02, 300, 0.300377, (0.017615, 0.079215, 0.326275)),
    (2.0, 0.05, 2000, 0.444402, (0.029114, 0.128092, 0.460973)),
    (5.0, 1.0, 100, 0.682690, (0.137805, 0.372080, 0.763759)),
    (1.5, 0.1, 50, 0.200049, (0.006026, 0.038565, 0.226614)),
]
RATES = (0.001, 0.01, 0.1)


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "rate", "steps", "advantage", "powers"), RISKCAL)
def test_riskcal_agrees(noise, rate, steps, advantage, powers):
    """To 1e-3; its advantage is between our bounds."""
    sampling = hs.Poisson(rate=rate) if rate < 1 else hs.FullBatch()
    guarantee = hs.account(hs.Plan(sampling=sampling, steps=steps), noise_multiplier=noise)
    found = guarantee.risks()["advantage"]
    assert found.lower - 1e-6 <= advantage <= found.upper + 1e-6
    for level, power in zip(RATES, powers, strict=True):
        lower, upper = guarantee.risks(false_positive_rate=level)["true_positive_rate"]
        assert lower <= upper
        assert upper - lower < 1e-3
        assert power == pytest.approx(lower, abs=1e-3)


@pytest.mark.parametrize("mu", [0.3, 1.0, 2.5])
def test_gaussian_risks_are_enclosed(mu):
    """The closed forms of N(mu, 1) against N(0, 1) are between both sides."""
    guarantee = hs.account(hs.Plan(sampling=hs.FullBatch(), steps=1), noise_multiplier=1 / mu)
    for level, prior in ((0.001, 0.5), (0.05, 0.2), (0.5, 0.9)):
        found = guarantee.risks(false_positive_rate=level, prior=prior)
        chance = min(prior, 1 - prior)
        threshold = mu / 2 + np.log((1 - chance) / chance) / mu
        truth = {
            "advantage": 2 * norm.cdf(mu / 2) - 1,
            "true_positive_rate": norm.sf(norm.isf(level) - mu),
            "bayes_risk": chance * norm.cdf(threshold - mu) + (1 - chance) * norm.sf(threshold),
        }
        for name, value in truth.items():
            assert found[name].lower <= value * (1 + 1e-9)
            assert found[name].upper >= value * (1 - 1e-9)
            assert found[name].upper <= found[name].lower * 1.01


def test_one_side_alone():
    """Where no lower bound is known the other side stands."""
    plan = hs.Plan(sampling=hs.Poisson(rate=0.1, max_participations=2), steps=5)
    found = hs.account(plan, noise_multiplier=1.0, method="profile").risks()
    assert found["advantage"].lower is None
    assert found["true_positive_rate"].lower is None
    assert found["bayes_risk"].upper is None
    assert 0 < found["advantage"].upper < 1


@pytest.mark.slow
def test_the_command_line():
    """--risk beside other numbers, and risks as targets."""
    run = ["--sampling", "poisson", "--rate", "0.1", "--steps", "10", "--json"]

    def ask(*options):
        command = [sys.executable, "-m", "hockeystick", *options]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    answer = ask("epsilon", *run, "--noise-multiplier", "1", "--delta", "1e-5", "--risk")
    found = json.loads(answer.stdout)["risk"]
    assert found["advantage"]["lower"] <= found["advantage"]["upper"]
    target = ask("calibrate", *run, "--true-positive-rate", "0.1", "--false-positive-rate", "0.01")
    noise = json.loads(target.stdout)["best"]["noise_multiplier"]
    plan = hs.Plan(sampling=hs.Poisson(rate=0.1), steps=10)
    assert hs.account(plan, noise_multiplier=noise).true_positive_rate(0.01) <= 0.1
    for bad in (["--advantage", "2"], ["--prior", "0.5"], [], ["--epsilon", "1"]):
        refused = ask("calibrate", *run, *bad)
        assert refused.returncode == 2
        assert len(refused.stderr.strip().splitlines()) == 1

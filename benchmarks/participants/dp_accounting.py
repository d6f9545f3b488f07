"""dp-accounting: the PLD accountant with its default grid (an upper bound only).

`both-bounds` asks its PLD library for the optimistic answer beside the pessimistic one, on the same
grid; that takes its older rounding, "privacy buckets".
"""

from __future__ import annotations

from functools import partial

import dp_accounting
from dp_accounting.pld import PLDAccountant, privacy_loss_distribution

import settings as s  # beside harness.py
from starting import importing, script


def _compose(accountant, noise, rate, steps):
    event = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(noise))
    accountant.compose(dp_accounting.SelfComposedDpEvent(event, steps))


def _single(noise, rate, steps, delta):
    accountant = PLDAccountant()
    _compose(accountant, noise, rate, steps)
    return None, accountant.get_epsilon(delta)


def fifty_phases():
    """Fifty noise levels in turn."""
    accountant = PLDAccountant()
    for noise in s.PHASES["noises"]:
        _compose(accountant, noise, s.PHASES["rate"], s.PHASES["steps"])
    return None, accountant.get_epsilon(s.PHASES["delta"])


def both_bounds():
    """Optimistic and pessimistic, both by privacy buckets."""
    c = s.POISSON
    answers = (
        privacy_loss_distribution.from_gaussian_mechanism(
            c["noise"],
            sampling_prob=c["rate"],
            pessimistic_estimate=pessimistic,
            use_connect_dots=False,
        )
        .self_compose(c["steps"])
        .get_epsilon_for_delta(c["delta"])
        for pessimistic in (False, True)
    )
    return tuple(answers)


def _event(noise):
    step = dp_accounting.PoissonSampledDpEvent(
        s.CALIBRATED["rate"], dp_accounting.GaussianDpEvent(noise)
    )
    return dp_accounting.SelfComposedDpEvent(step, s.CALIBRATED["steps"])


def calibrated():
    """The least noise for a target, within its default tolerance."""
    c = s.CALIBRATED
    bracket = dp_accounting.ExplicitBracketInterval(0.5, 5.0)
    found = dp_accounting.calibrate_dp_mechanism(
        PLDAccountant, _event, c["epsilon"], c["delta"], bracket
    )
    return None, found, [found]


SHELL = """
import dp_accounting as d
from dp_accounting.pld import PLDAccountant
def event(noise):
    step = d.PoissonSampledDpEvent(0.01, d.GaussianDpEvent(noise))
    return d.SelfComposedDpEvent(step, 2000)
"""
EPSILON = "print(PLDAccountant().compose(event(1.2)).get_epsilon(1e-5))"
NOISE = (
    "print(d.calibrate_dp_mechanism(PLDAccountant, event, 2.0, 1e-5, "
    "d.ExplicitBracketInterval(0.5, 5.0)))"
)
CASES = {
    "calibrate": calibrated,
    "shell-epsilon": script(SHELL + EPSILON),
    "shell-calibrate": script(SHELL + NOISE),
    "poisson": partial(_single, **s.POISSON),
    "both-bounds": both_bounds,
    "fifty-phases": fifty_phases,
    "small-noise": partial(_single, **s.SMALL_NOISE),
    "import": importing("dp_accounting.pld"),
}
SWEEPS = {
    "steps": lambda steps: _single(steps=steps, **s.SWEEPS["steps"]),
    "delta": lambda delta: _single(delta=delta, **s.SWEEPS["delta"]),
}

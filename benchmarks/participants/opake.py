"""Opake: its accountant in Rust, at its default grid (an upper bound only).

Its public modules import PyTorch; the accountant itself is reached through the modules behind them.
"""

from __future__ import annotations

from functools import partial, reduce
from operator import or_

from opake.api.accounting.core.calibration import calibrate, epsilon_budget
from opake.api.accounting.dpsgd.amplification._k_out_of_t import k_out_of_t
from opake.api.accounting.dpsgd.amplification._poisson import poisson
from opake.api.accounting.dpsgd.mechanisms._gaussian import gaussian

import settings as s  # beside harness.py
from starting import importing, script

MODULES = "opake.api.accounting"
SHELL = f"""
from {MODULES}.core.calibration import calibrate, epsilon_budget
from {MODULES}.dpsgd.amplification._poisson import poisson
from {MODULES}.dpsgd.mechanisms._gaussian import gaussian
run = lambda noise: poisson(gaussian(noise), sample_rate=0.01) * 2000
"""


def _run(noise, rate, steps):
    return poisson(gaussian(noise), sample_rate=rate) * steps


def _single(noise, rate, steps, delta):
    return None, _run(noise, rate, steps).epsilon_at(delta)


def fifty_phases():
    """Fifty noise levels in turn."""
    c = s.PHASES
    runs = [_run(noise, c["rate"], c["steps"]) for noise in c["noises"]]
    return None, reduce(or_, runs).epsilon_at(c["delta"])


def calibrated():
    """The least noise for a target, within its default tolerance."""
    c = s.CALIBRATED
    budget = epsilon_budget(c["epsilon"], c["delta"])
    found = calibrate(budget, lambda noise: _run(noise, c["rate"], c["steps"]), 0.5, 5.0)
    return None, found.parameter, [found.parameter]


def allocation(noise, out_of, delta, picks=1):
    """`picks` blocks, one step out of each: together `picks` out of `out_of`."""
    process = k_out_of_t(gaussian(noise), k=picks, t=out_of, allocation="total")
    return None, process.epsilon_at(delta)


def last_of_five():
    """The run over all its epochs; the shorter ones are not asked."""
    c = s.FIVE_RUNS
    epochs = c["epochs"][-1]
    return allocation(c["noise"], epochs * c["out_of"], c["delta"], picks=epochs)


CASES = {
    "poisson": partial(_single, **s.POISSON),
    "fifty-phases": fifty_phases,
    "small-noise": partial(_single, **s.SMALL_NOISE),
    "calibrate": calibrated,
    "allocation": partial(allocation, **s.ALLOCATION),
    **{
        f"{picks}-of-1024": partial(
            allocation, s.PICKS["noise"], s.PICKS["out_of"], s.PICKS["delta"], picks
        )
        for picks in s.PICKS["picks"]
    },
    "five-runs": last_of_five,
    "shell-epsilon": script(f"{SHELL}print(run(1.2).epsilon_at(1e-5))"),
    "shell-calibrate": script(f"{SHELL}print(calibrate(epsilon_budget(2.0, 1e-5), run, 0.5, 5.0))"),
    "import": importing("opake.accounting"),
}
SWEEPS = {
    "steps": lambda steps: _single(steps=steps, **s.SWEEPS["steps"]),
    "delta": lambda delta: _single(delta=delta, **s.SWEEPS["delta"]),
    "block": lambda out_of: allocation(out_of=out_of, **s.SWEEPS["block"]),
}

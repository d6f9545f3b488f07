"""Opacus: its RDP accountant."""

from __future__ import annotations

from opacus.accountants import RDPAccountant

from opacus_answers import OpacusAnswers  # beside harness.py
from starting import importing, script

_ANSWERS = OpacusAnswers(RDPAccountant)
SHELL = """
from opacus.accountants import RDPAccountant
from opacus.accountants.utils import get_noise_multiplier
accountant = RDPAccountant()
accountant.history = [(1.2, 0.01, 2000)]
"""
NOISE = (
    "print(get_noise_multiplier(target_epsilon=2.0, target_delta=1e-5, sample_rate=0.01, "
    "steps=2000, accountant='rdp'))"
)
CASES = {
    **_ANSWERS.cases,
    "shell-epsilon": script(SHELL + "print(accountant.get_epsilon(1e-5))"),
    "shell-calibrate": script(SHELL + NOISE),
    "import": importing("opacus"),
}
SWEEPS = _ANSWERS.sweeps

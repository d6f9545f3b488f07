"""Opacus: its PRV accountant."""

from __future__ import annotations

from opacus.accountants import PRVAccountant

from opacus_answers import OpacusAnswers  # beside harness.py

_ANSWERS = OpacusAnswers(PRVAccountant)
CASES, SWEEPS = _ANSWERS.cases, _ANSWERS.sweeps

"""Opacus: its RDP accountant."""

from __future__ import annotations

from opacus.accountants import RDPAccountant

from opacus_answers import OpacusAnswers  # beside harness.py
from starting import importing

_ANSWERS = OpacusAnswers(RDPAccountant)
CASES, SWEEPS = {**_ANSWERS.cases, "import": importing("opacus")}, _ANSWERS.sweeps

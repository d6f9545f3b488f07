"""Audit: whether a run did what its plan says, from canaries in its data."""

from __future__ import annotations

from hockeystick.audit.checking import Recorder, check
from hockeystick.audit.lower_bounds import epsilon_of_guesses, epsilon_of_losses
from hockeystick.audit.report import AuditReport, Finding

__all__ = ["AuditReport", "Finding", "Recorder", "check", "epsilon_of_guesses", "epsilon_of_losses"]

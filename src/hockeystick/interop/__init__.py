"""A second opinion: what other libraries describe, accounted here."""

from __future__ import annotations

from hockeystick.interop.events import from_dp_event
from hockeystick.interop.files import SecondOpinion, check_file, from_opacus

__all__ = ["SecondOpinion", "check_file", "from_dp_event", "from_opacus"]

"""ProbeReport: what a probe of the independence of examples found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["ProbeReport"]


@dataclass(frozen=True)
class ProbeReport:
    """A probe that found no influence of one example on another.

    `largest_change` is the largest relative change of a loss or gradient that was seen, in double
    precision where single precision could not decide.
    `inputs_as_loaded` says whether the model and the criterion got what the loader handed out; what
    the loop did to a batch before that is not probed.
    """

    step: int
    examples: int
    largest_change: float
    inputs_as_loaded: bool
    changing_buffers: frozenset[str] = frozenset()

    def describe(self) -> dict[str, Any]:
        """For the statement."""
        return {
            "step": self.step,
            "examples": self.examples,
            "largest_change": self.largest_change,
            "inputs_as_loaded": self.inputs_as_loaded,
        }

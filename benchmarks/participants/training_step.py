"""Training with our plan's batches and noise, and with Opacus' own, in turns in one process."""

from __future__ import annotations

import settings as s  # beside harness.py
import torch_overhead


def training_step():
    """Our batches and noise over Opacus' own; then whole steps over its own, and the seconds."""
    found = torch_overhead.measured(s.TRAINING["repeats"])
    alone, step = found["batches and noise"], found["step"]
    return (
        None,
        alone["ratio"],
        [
            alone["ratio"],
            step["ratio"],
            alone["ours"],
            alone["opacus"],
            step["ours"],
            step["opacus"],
        ],
    )


CASES = {"training-step": training_step}
SWEEPS = {}

"""What nobody may know of a run: its noise, and what dropout draws."""

from __future__ import annotations

import random
import secrets
import shutil
from pathlib import Path

import numpy as np
import torch

__all__ = ["STATE", "remove_secrets", "secret_generators"]

# The state of the run inside a checkpoint: its noise, its place in the batches, the optimizer.
STATE = "private_run"
# Names in a checkpoint: that state, and the states of generators as the parent writes them.
SECRET = (STATE, "rng_state*.pth")


def remove_secrets(output: Path) -> None:
    """Remove them from the checkpoints in a folder."""
    for name in SECRET:
        for state in output.glob(f"checkpoint-*/{name}"):
            if state.is_dir():
                shutil.rmtree(state)
            else:
                state.unlink()


def secret_generators() -> None:
    """Dropout and random masks are drawn from secret seeds, not from `seed` of the arguments.

    A known seed would tell what every example draws, and with one example more all others in the
    batch draw something else: clipping bounds no such change.
    """
    torch.manual_seed(secrets.randbits(63))
    np.random.seed(secrets.randbits(32))  # noqa: NPY002 - what a model or collator may use
    random.seed(secrets.randbits(256))

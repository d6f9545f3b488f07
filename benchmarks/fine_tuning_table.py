"""The table of steps of fine-tuning, from what was measured; needs neither PyTorch nor JAX."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from training_table import milliseconds

KEPT = Path(__file__).with_name("fine_tuning.json")
# What is measured; of the first two the first entry is the same loop without privacy.
LOOP = "loop with LoRA adapters"
TRAINER = "trainer with LoRA adapters"
NOISE = "noise in JAX, 10⁶ parameters, 8 bands"
COLUMNS = ("what", "who", "CPU time of a step", "over the same without privacy")


def rows() -> Iterator[tuple[str, ...]]:
    """A row for each library."""
    found = json.loads(KEPT.read_text())
    for what in (LOOP, TRAINER, NOISE):
        plain = found[what].get("without privacy")
        for who, seconds in found[what].items():
            if seconds is None:
                yield what, who, "not measured", "-"
                continue
            over = "-" if plain is None else f"{seconds / plain:.2f}"
            yield what, who, milliseconds(seconds), over


def conditions() -> str:
    """Versions, and what else ran."""
    found = json.loads(KEPT.read_text())
    named = ", ".join(f"{name} {version}" for name, version in found["versions"].items() if version)
    return f"{named}; the load was {found['load']:.1f} on two cores."

"""Which training steps are compared, and the table of what was measured; needs no PyTorch."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

KEPT = Path(__file__).with_name("training_steps.json")
POWERS = {10**6: "10⁶", 10**8: "10⁸"}


class Case(NamedTuple):
    """What is run: parameters (26,010 is a convolutional network), bands, noise memory, processes.

    A negative number of bands is that of the inverse.
    """

    size: int
    bands: int
    memory: str
    processes: int
    steps: int = 0


SMALL = 26_010
# Of 10^8 parameters 16 bands are 6 GB of rows, and 64 are 25 GB, which 24 GB do not hold.
PARTS = [
    *(Case(10**6, bands, "rows", 1) for bands in (1, 16, 64)),
    *(Case(10**8, bands, "rows", 1) for bands in (1, 16)),
    *(Case(size, -4, memory, 1) for size in (10**6, 10**8) for memory in ("rows", "replay")),
]
STEPS = [
    *(Case(SMALL, bands, "rows", 1) for bands in (1, 16, 64)),
    *(Case(10**6, bands, "rows", n) for n in (1, 2) for bands in (1, 16, 64)),
    *(Case(10**6, -4, memory, 1) for memory in ("rows", "replay")),
    *(Case(10**8, bands, "rows", n) for n in (1, 2) for bands in (1, 16)),
    *(Case(10**8, -4, memory, 1) for memory in ("rows", "replay")),
]
KINDS = {"parts": ("batches and noise", PARTS), "step": ("whole step", STEPS)}
COLUMNS = (
    "what",
    "parameters",
    "noise",
    "processes",
    "hockeystick",
    "Opacus",
    "ratio",
    "Opake",
)


def kept() -> list[tuple[str, Case, dict[str, float]]]:
    """What was measured."""
    read = json.loads(KEPT.read_text()) if KEPT.exists() else []
    return [(kind, Case(*case), found) for kind, case, found in read]


def rows() -> Iterator[tuple[str, ...]]:
    """A row for each case, in order; those that were not measured say so."""
    measured = {(kind, case): found for kind, case, found in kept()}
    for kind, (_, cases) in KINDS.items():
        for case in cases:
            yield row(kind, case, measured.get((kind, case)))


def conditions() -> str:
    """What else ran: the load of the machine while these were measured."""
    loads = [found["load"] for _, _, found in kept() if "load" in found]
    if not loads:
        return ""
    return (
        f"Two cores; the load was {min(loads):.1f} to {max(loads):.1f} while these were measured."
    )


def row(kind: str, case: Case, found: dict[str, float] | None) -> tuple[str, ...]:
    """The cells of one case; milliseconds of CPU time."""
    name = f"{case.bands} bands" if case.bands > 0 else f"{-case.bands} inverse bands"
    name = "independent" if case.bands == 1 else name
    name += ", replay" if case.memory == "replay" else ""
    size = POWERS.get(case.size, f"{case.size:,}")
    cells = ["not measured", "-", "-", "-"]
    if found is not None:
        ours, theirs, third = (found.get(who) for who in ("hockeystick", "opacus", "opake"))
        assert ours is not None
        assert theirs is not None
        cells = [milliseconds(ours), milliseconds(theirs), f"{ours / theirs:.2f}"]
        cells.append("-" if third is None else milliseconds(third))
    return (KINDS[kind][0], size, name, str(case.processes), *cells)


def milliseconds(seconds: float) -> str:
    """With three digits."""
    return f"{1000 * seconds:.3g} ms" if seconds < 1 else f"{1000 * seconds:,.0f} ms"

"""Who takes part when, and how large batches become: one simulated run of a scheme."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hockeystick.plan import Plan
from hockeystick.report.numbers import count_text
from hockeystick.schemes import Attribution

__all__ = ["SimulatedBatches", "simulated_batches"]

# What is shown, and what is simulated at most: a page needs no billion indices.
ROWS, MOST_COLUMNS, TURNS = 40, 400, 4
MOST_STEPS, MOST_INDICES, MOST_EXAMPLES = 20_000, 20_000_000, 5_000_000


@dataclass(frozen=True)
class SimulatedBatches:
    """The sizes of the first batches, and the participations of some examples in some steps.

    `planned` is the number of steps of the run, of which `sizes` may have the first ones only.

    `examples` are the indices of the rows, spread over the data; `joined` are pairs (row, step)
    with step < `columns`.
    """

    seed: int
    planned: int
    sizes: tuple[int, ...]
    expected_size: float
    examples: tuple[int, ...]
    columns: int
    joined: tuple[tuple[int, int], ...]

    @property
    def part(self) -> str:
        """Which steps they are, if not all: a clause."""
        if len(self.sizes) == self.planned:
            return ""
        return f"first {count_text(len(self.sizes))} of {count_text(self.planned)} steps"


def simulated_batches(
    plan: Plan, *, examples: int | Attribution, seed: int
) -> SimulatedBatches | None:
    """The batches of the plan, drawn with a seed; None if the data are too many to try.

    Of a long run they are the first 20,000, or fewer if those have too many examples.

    About four participations of each row are shown. A seed that is printed is for looking only:
    a run with these batches would have no amplification.
    """
    data: Any = examples  # a graph only for a scheme that takes one
    expected = plan.sampling.expected_batch_size(data)
    examples = data.examples if isinstance(data, Attribution) else data
    if examples > MOST_EXAMPLES:
        return None
    steps = max(1, min(plan.steps, MOST_STEPS, int(MOST_INDICES / max(expected, 1.0))))
    columns = min(steps, MOST_COLUMNS, max(100, round(TURNS * examples / expected)))
    rows = np.unique(np.linspace(0, examples - 1, min(ROWS, examples)).round().astype(np.int64))
    # A common step between rows would put all of them into one group of cyclic sampling.
    rows = np.unique((rows + np.arange(rows.size) % 7) % examples)
    sizes: list[int] = []
    joined: list[tuple[int, int]] = []
    for step, batch in enumerate(plan.batches(examples=data, rng=seed)):
        if step == steps:
            break
        sizes.append(int(batch.size))
        if step < columns:
            joined += [(row, step) for row in np.flatnonzero(np.isin(rows, batch)).tolist()]
    indices = tuple(rows.tolist())
    return SimulatedBatches(
        seed, plan.steps, tuple(sizes), expected, indices, columns, tuple(joined)
    )

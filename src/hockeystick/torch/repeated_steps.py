"""Steps that a restored run takes once more: the same release, and so the same charge.

A run that was killed goes on from its last saved state. The steps since then have the batches and
the noise that they had before. If the gradients are the same too, nothing new is released, and the
charge of the step in the ledger is the one that it has already. If they are not, whoever saw both
releases knows the difference of two sums without noise, which no second charge would cover. So what
a step releases is noted, as one or two numbers, and compared when the step is repeated.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np
import torch

from hockeystick.errors import PlanMismatch
from hockeystick.ledger import Entry
from hockeystick.torch.layouts import Layout, Ranges, memory_checksum
from hockeystick.torch.progress import RunSettings
from hockeystick.training.schedules import StepSettings

__all__ = ["ReleaseWitness", "StepEntries", "Witness", "refuse_other_release"]

# Up to so many coordinates adjacent parts are copied together: calls take longer than numbers.
SMALL = 2**20
# Integers that tell releases apart.
Witness = tuple[int, ...]
# Coordinates that share a weight of their block.
BLOCK = 4096
# Sums of the same gradients may differ by so much of the clip norm: by the order of summation, and
# by what other batches make of the last digits of a gradient. The probe has the same number.
SAME = 1e-4
# Of the noise in single precision, on different devices: two last places of each number.
NOISE_ROUNDING = 2.0**-22
# Witnesses are whole numbers of parts of what may differ, so that they have no low digits.
PARTS = 16


class ReleaseWitness:
    """From a noisy sum to its witness: of all ranks together, whoever holds which coordinates.

    With exact arithmetic a digest. In floating point the inner product of the noisy sum with random
    weights, rounded: a difference of length x changes it by about x. Weights are public and follow
    from run and step, so that the witness is a function of what is released.
    """

    def __init__(
        self, settings: RunSettings, layout: Layout, parameters: list[torch.Tensor]
    ) -> None:
        self._layout, self._dimension = layout, sum(p.numel() for p in parameters)
        self._exact = settings.arithmetic == "exact"

    def of(self, noisy: list[torch.Tensor], now: StepSettings, *, run: str, step: int) -> Witness:
        """Of the parts that are held here, before they are multiplied by anything.

        What may differ is a share of the clip norm of this step, which a run may change.
        """
        ranges, group = self._layout.ranges, self._layout.group
        if self._exact:
            held = torch.cat([part.cpu() for part in noisy])[None]
            digest = memory_checksum(held, ranges)
            return tuple(int(one) for one in (digest if group is None else group.total(digest)))
        own = _projection(noisy, ranges, seed=_seed(run, step))
        total = float(own if group is None else group.total(own))
        # What is not finite is compared too.
        return (round(total / self.unit(now)),) if math.isfinite(total) else (0, 0)

    def unit(self, now: StepSettings) -> float:
        """What witnesses of this step are whole numbers of."""
        rounding = NOISE_ROUNDING * now.noise_multiplier * math.sqrt(self._dimension)
        return (SAME + rounding) * now.max_grad_norm / PARTS

    def same(self, one: Witness, other: Witness) -> bool:
        """Whether both are of the same release."""
        if self._exact or len(one) != 1 or len(other) != 1:
            return one == other
        return abs(one[0] - other[0]) <= PARTS


class StepEntries:
    """The entries that a run has in the history of its filter, found again after it was restored.

    An entry has the number of its run, the step, the lineage of its noise, and the witness of the
    step before with its lineage: only a step of the same lineage has the noise that it had.
    """

    def __init__(self, run: str, lineage: Callable[[], str]) -> None:
        self._run, self._lineage = run, lineage
        self._found: dict[tuple[int, str], Entry] = {}
        self._witnesses: dict[tuple[int, str], Witness] = {}
        self._before: tuple[int, str, Witness] | None = None

    def restored(self, run: str, history: Iterable[Entry], latest: Any) -> StepEntries:
        """Those of a restored run; `latest` is what it had when it was saved."""
        restored = StepEntries(run, self._lineage)
        if latest is not None:
            step, lineage, *witness = latest
            restored._before = (int(step), str(lineage), tuple(int(one) for one in witness))
        restored.read(history)
        return restored

    def read(self, history: Iterable[Entry]) -> None:
        """Take the entries of the run, whoever made them: it may go on in two places."""
        for entry in history:
            note = entry.request.get("note")
            if not isinstance(note, Mapping) or entry.status == "cancelled":
                continue
            if note.get("run") == self._run:
                self._take(int(note["step"]), note, entry)

    def _take(self, step: int, note: Mapping[str, Any], entry: Entry) -> None:
        self._found.setdefault((step, str(note["lineage"])), entry)
        if "before" in note:
            lineage, *witness = note["before"]
            found = tuple(int(one) for one in witness)
            self._witnesses.setdefault((step - 1, str(lineage)), found)

    def entry(self, step: int) -> Entry | None:
        """The one of a step that was charged before, with the same noise."""
        return self._found.get((step, self._lineage()))

    def witness(self, step: int) -> Witness | None:
        """What the step released before; None if that was not noted."""
        return self._witnesses.get((step, self._lineage()))

    def released(self, step: int, witness: Witness) -> None:
        """For the entry of the next step."""
        self._before = (step, self._lineage(), witness)

    @property
    def latest(self) -> list[Any] | None:
        """The step that was released last, its lineage and its witness, in plain types."""
        if self._before is None:
            return None
        step, lineage, witness = self._before
        return [step, lineage, *witness]

    def note(self, step: int) -> dict[str, object]:
        """What the entry of a step has."""
        found: dict[str, object] = {"run": self._run, "step": step, "lineage": self._lineage()}
        if self._before is not None and self._before[0] == step - 1:
            found["before"] = [self._before[1], *self._before[2]]
        return found


def refuse_other_release(step: int) -> NoReturn:
    """One sentence for a repeated step with other gradients."""
    raise PlanMismatch(
        f"Step {step + 1} of this run was taken before, with the same noise and with other "
        "gradients: whoever saw both would know their difference without noise. Nothing was "
        "updated, and the run is over. Restore all that decides on gradients (data, code, learning "
        "rates, the random state of dropout), or begin a new run from the saved weights: it has "
        "noise of its own, and is charged.",
        page="docs/sharp-edges.md#noise-that-is-used-twice",
    )


def _seed(run: str, step: int) -> int:
    digest = hashlib.sha256(f"{run} {step}".encode()).digest()
    return int.from_bytes(digest[:16], "big")


def _projection(parts: list[torch.Tensor], ranges: Ranges, *, seed: int) -> torch.Tensor:
    """Sum of values times normal weights, that of the place in a block times that of the block.

    One pass at the speed of memory: a product of matrices.
    """
    if sum(part.numel() for part in parts) <= SMALL and len({part.device for part in parts}) == 1:
        parts, ranges = _joined(parts, ranges)
    last = max((stop for _, stop in ranges), default=0)
    # In the same order for everybody: whoever needs fewer draws fewer.
    drawn = np.random.default_rng(seed).standard_normal(BLOCK + -(-last // BLOCK))
    total = torch.zeros((), dtype=torch.float64)
    for part, (start, stop) in zip(parts, ranges, strict=True):
        weights = torch.from_numpy(drawn).to(part.device)
        inside, blocks = weights[:BLOCK], weights[BLOCK:]
        values: list[torch.Tensor] = []
        done = start
        while done < stop:
            block, place = divmod(done, BLOCK)
            # Whole blocks at once; what is before and after them by itself.
            count = (stop - done) // BLOCK if place == 0 else 0
            length = count * BLOCK or min(BLOCK - place, stop - done)
            piece = part[done - start : done - start + length].double()
            if count:
                values.append((piece.view(count, BLOCK) @ inside) @ blocks[block : block + count])
            else:
                values.append((piece @ inside[place : place + length]) * blocks[block])
            done += length
        if values:
            total = total + torch.stack(values).sum().cpu()
    return total


def _joined(parts: list[torch.Tensor], ranges: Ranges) -> tuple[list[torch.Tensor], Ranges]:
    """One part if each begins where the one before it ends; otherwise as they were."""
    if any(before != after for (_, before), (after, _) in pairwise(ranges)):
        return parts, ranges
    return [torch.cat(parts)], [(ranges[0][0], ranges[-1][1])]

"""Losses of a recorded batch computed again for some of its examples, together or in parts."""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils._pytree import keystr, tree_flatten_with_path, tree_leaves, tree_map

from hockeystick.errors import HockeystickError, PlanMismatch
from hockeystick.torch.example_randomness import (
    CONSTANT,
    PerExampleRandomness,
    RandomStates,
    kept_random_states,
)
from hockeystick.torch.model_state import same
from hockeystick.torch.recording import AppliedOperation, ModelOutput, Recording

__all__ = ["EXAMPLES", "LossReplay", "ProbeExamples", "RecollatedBatch", "Replay"]

# How many examples are taken out of the batch: with four, two ways to halve them separate every
# two, and a group of two is large enough for every layer.
EXAMPLES = 4


class RecollatedBatch:
    """A batch of the loader, and the collate function that made it, for parts of the batch.

    `example` gives an example of the data set by its place in the batch.
    """

    def __init__(
        self,
        batch: Any,
        size: int,
        example: Callable[[int], Any],
        collate: Callable[[list[Any]], Any],
    ) -> None:
        self._size = size
        self._tensors = _by_path(batch, size)
        self._example, self._collate = example, collate
        self._examples: dict[int, Any] = {}
        self._parts: dict[tuple[int, ...], dict[str, torch.Tensor]] = {}
        self._paths: dict[int, str | None] = {}

    def path(self, value: torch.Tensor) -> str | None:
        """Which tensor of the batch this is, on whatever device; None if the loop changed it."""
        if id(value) not in self._paths:
            self._paths[id(value)] = next(
                (path for path, known in self._tensors.items() if _equal(known, value)), None
            )
        return self._paths[id(value)]

    def part(self, value: torch.Tensor, rows: Sequence[int]) -> torch.Tensor | None:
        """The same tensor in a batch of these examples only, if it is one of the loader's."""
        path = self.path(value)
        again = None if path is None else self._part(rows).get(path)
        return None if again is None else again.to(device=value.device)

    def agrees(self, rows: Sequence[int]) -> bool:
        """Whether reading these examples again gives what the batch has, padding aside."""
        part = self._part(rows)
        for path, whole in self._tensors.items():
            again = part.get(path)
            if again is None or again.ndim != whole.ndim:
                return False
            shorter = tuple(slice(0, n) for n in again.shape[1:])
            if not same(whole[list(rows)][(slice(None), *shorter)], again):
                return False
        return True

    def _part(self, rows: Sequence[int]) -> dict[str, torch.Tensor]:
        key = tuple(rows)
        if key not in self._parts:
            for row in rows:
                if row not in self._examples:
                    self._examples[row] = self._example(row)
            batch = self._collate([self._examples[row] for row in rows])
            self._parts[key] = _by_path(batch, len(rows))
        return self._parts[key]


def _by_path(batch: Any, size: int) -> dict[str, torch.Tensor]:
    """Tensors with a row for each example, by their place in the batch."""
    leaves, _ = tree_flatten_with_path(batch)
    return {
        keystr(path): leaf
        for path, leaf in leaves
        if isinstance(leaf, torch.Tensor) and leaf.ndim and len(leaf) == size
    }


def _equal(known: torch.Tensor, value: torch.Tensor) -> bool:
    return known.dtype == value.dtype and same(known.to(value.device), value)


class Replay:
    """The recorded values computed again, for the rows of some examples of the batch."""

    def __init__(
        self,
        recording: Recording,
        rows: Sequence[int],
        recollated: RecollatedBatch | None,
        dtype: torch.dtype | None = None,
    ) -> None:
        self._recording, self._rows, self._recollated = recording, list(rows), recollated
        self._dtype = dtype
        self.size = len(rows)
        self._outputs: dict[int, Any] = {}
        self._known: dict[int, Any] = {}

    def __call__(self, values: Any) -> Any:
        """Arguments with the rows of these examples only; recorded values are computed again."""
        return tree_map(self._value, values)

    def _value(self, value: Any) -> Any:
        if isinstance(value, (ModelOutput, AppliedOperation)):
            if id(value) not in self._known:
                self._known[id(value)] = self._again(value)
            return self._known[id(value)]
        if not isinstance(value, torch.Tensor):
            return value
        if value.ndim and len(value) == self._recording.size:
            again = None if self._recollated is None else self._recollated.part(value, self._rows)
            value = value[self._rows] if again is None else again
        return value.to(self._dtype) if self._dtype and value.is_floating_point() else value

    def _again(self, value: ModelOutput | AppliedOperation) -> Any:
        if isinstance(value, AppliedOperation):
            result = value.operation(*self(value.arguments), **self(value.options))
            return result if value.element is None else result[value.element]
        if value.call not in self._outputs:
            arguments, options = self._recording.calls[value.call]
            self._outputs[value.call] = self._recording.forward(
                self.size, self(arguments), self(options)
            )
        output = self._outputs[value.call]
        if value.place is None:
            return output
        if isinstance(value.place, int):
            return tree_leaves(output)[value.place]
        by_name = vars(output) if value.place in getattr(output, "__dict__", {}) else output
        return by_name[value.place]


# From a replay for some examples to their losses.
LossReplay = Callable[[Replay], torch.Tensor]


class ProbeExamples:
    """A few examples of a recorded batch: far apart, with different labels and two of the same.

    Inputs that the loop left as the loader made them are collated again for each part, by the
    loader's own function, so that padding to the longest example of the part is repeated too.
    """

    def __init__(
        self, recording: Recording, loss_replay: LossReplay, recollated: RecollatedBatch
    ) -> None:
        self._recording, self._loss_replay, self._recollated = recording, loss_replay, recollated
        self._again: RecollatedBatch | None = recollated
        self.rows = _spread(recording)
        self._seed = secrets.randbits(30)
        self.layout = CONSTANT
        self.dtype: torch.dtype | None = None
        self.random_operations = self.opaque_operations = 0

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def in_reduced_precision(self) -> bool:
        """Whether the batch was computed under autocast; the replay never is."""
        return self._recording.in_reduced_precision

    @property
    def as_loaded(self) -> bool:
        """Whether all inputs are what the loader returned, not changed by the loop."""
        given = [
            t
            for t in tree_leaves((self._recording.calls, self._recording.criterion_inputs))
            if self._of_rows(t)
        ]
        return all(self._recollated.path(t) is not None for t in given)

    def new_seed(self) -> None:
        """Other random numbers from now on."""
        self._seed = secrets.randbits(30)

    def as_in_batch(self, *, exactly: bool = False) -> None:
        """Make later losses comparable with the batch: a data set may vary from call to call.

        `exactly`: the examples as they are in the batch, with its padding.
        """
        agrees = not exactly and self._recollated.agrees(self.rows)
        self._again = self._recollated if agrees else None

    def losses(self, part: Sequence[int]) -> torch.Tensor:
        """Of some of the examples, by their numbers among these.

        Random operations draw the same for an example whichever others are there.
        """
        rows = [self.rows[i] for i in part]
        return self._losses(rows, Replay(self._recording, rows, self._again, self.dtype))

    def losses_in_batch(self) -> torch.Tensor:
        """Of these examples, from a forward pass of the whole batch."""
        all_rows = range(self._recording.size)
        return self._losses(all_rows, Replay(self._recording, all_rows, None, self.dtype))[
            self.rows
        ]

    def losses_of_step(self) -> torch.Tensor:
        """Of the whole batch, with the random numbers of the step."""
        assert self._recording.random_states is not None
        replay = Replay(self._recording, range(self._recording.size), None)
        with kept_random_states(), torch.no_grad(), self._without_autocast():
            self._recording.random_states.restore()
            return self._loss_replay(replay)

    def _without_autocast(self) -> Any:
        return torch.autocast(self._recording.device, enabled=False)

    def _losses(self, rows: Sequence[int], replay: Replay) -> torch.Tensor:
        randomness = PerExampleRandomness(
            rows, self._recording.size, seed=self._seed, layout=self.layout
        )
        try:
            with kept_random_states(), self._without_autocast():
                random.seed(self._seed)
                np.random.seed(self._seed)  # noqa: NPY002 - what a model may use
                before = RandomStates()
                with randomness:
                    found = self._loss_replay(replay)
                self.random_operations += randomness.count + before.used_outside_of_torch
                self.opaque_operations += randomness.opaque
        except HockeystickError:
            raise
        except Exception as error:
            raise PlanMismatch(
                "The losses could not be computed for a part of the batch, so that it stays "
                f"unknown whether examples influence each other ({type(error).__name__}: "
                f"{' '.join(str(error).split())[:200]}); give the criterion the model's output and "
                "everything else that belongs to the examples, with the examples in the first "
                "dimension."
            ) from error
        return found

    def _of_rows(self, value: Any) -> bool:
        return (
            isinstance(value, torch.Tensor)
            and value.ndim > 0
            and len(value) == self._recording.size
        )


def _spread(recording: Recording) -> list[int]:
    """Positions in the batch, in order."""
    if recording.size <= EXAMPLES:
        return list(range(recording.size))
    chosen: list[int] = []
    labels = next(
        (t for t in tree_leaves(recording.criterion_inputs) if _may_be_labels(t, recording.size)),
        None,
    )
    if labels is not None:
        _, first, counts = np.unique(labels.cpu().numpy(), return_index=True, return_counts=True)
        common = int(np.argmax(counts))
        alike = np.flatnonzero(labels.cpu().numpy() == labels.cpu().numpy()[first[common]])
        chosen = [*alike[:2].tolist(), *first.tolist()]
    apart = np.linspace(0, recording.size - 1, EXAMPLES).astype(int).tolist()
    return sorted(list(dict.fromkeys([*chosen, *apart]))[:EXAMPLES])


def _may_be_labels(value: Any, size: int) -> bool:
    """One integer for each example."""
    return (
        isinstance(value, torch.Tensor) and value.shape == (size,) and not value.is_floating_point()
    )

"""PlanLoader: a loader whose batches are the plan's, in physical parts if memory is short."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Sampler, default_collate

from hockeystick.errors import InvalidParameter, PlanMismatch
from hockeystick.schemes import Indices
from hockeystick.torch.batch_sampler import BatchSampler
from hockeystick.torch.optimizer import PlanOptimizer
from hockeystick.torch.progress import PhysicalBatch, Progress
from hockeystick.torch.replay import RecollatedBatch
from hockeystick.torch.run_group import RunGroup

__all__ = ["Collate", "PhysicalBatchSampler", "PlanLoader", "check_options", "examples_of"]

# Options that would decide the batches or their order, which the plan does.
DECIDED = ("batch_size", "shuffle", "sampler", "batch_sampler", "drop_last", "in_order")


class PhysicalBatchSampler(Sampler[list[int]]):
    """The index lists of the pass's steps that are left, in parts of at most `most` examples.

    Of several ranks each gets its own share of every part.

    Those that were requested stay in `waiting`, in order: workers request batches in advance.
    """

    def __init__(
        self,
        batches: BatchSampler,
        progress: Progress,
        *,
        most: int | None,
        group: RunGroup | None = None,
    ) -> None:
        self._batches, self._progress, self._most = batches, progress, most
        self._rank: int = 0 if group is None else group.rank
        self._ranks: int = 1 if group is None else group.size
        self.waiting: deque[PhysicalBatch] = deque()

    def __len__(self) -> int:
        return self._progress.end_of_pass - self._progress.taken

    def __iter__(self) -> Iterator[list[int]]:
        self.waiting = deque()
        return self._physical_batches(self.waiting)

    def _physical_batches(self, waiting: deque[PhysicalBatch]) -> Iterator[list[int]]:
        for step in range(self._progress.taken, self._progress.end_of_pass):
            batch = self._batches.batch(step)
            # Batches with a cap come in as many parts of one shape, however many were drawn.
            fixed = self._batches.plan.sampling.fixed_batch_size
            size = fixed if fixed and batch.size else batch.size
            most = max(size, 1) if self._most is None else self._most * self._ranks
            count = max(-(-size // most), 1)
            parts = [batch]
            if count * self._ranks > 1:
                parts = np.array_split(batch, count * self._ranks)[self._rank :: self._ranks]
            for i, part in enumerate(parts):
                longest = -(-size // (count * self._ranks)) if fixed else 0
                indices = torch.from_numpy(self._padded(part, batch, longest))
                waiting.append(
                    PhysicalBatch(step, indices, i == 0, i == count - 1, counted=part.size)
                )
                yield indices.tolist()

    def _padded(self, part: Indices, batch: Indices, longest: int) -> Indices:
        """With further examples that do not count: up to `longest`, where batches have one shape.

        And if one of several ranks has fewer than two: all ranks call the model for the same
        batches, and the probe compares two examples at least.
        """
        if longest:
            return np.concatenate([part, np.resize(batch, longest - part.size)])
        enough = min(2, batch.size) if self._ranks > 1 else 0
        if part.size >= enough:
            return part
        others = np.setdiff1d(batch, part)[: enough - part.size]
        return np.concatenate([part, others])


class PlanLoader(DataLoader[Any]):
    """The batches of the plan as a PyTorch loader; made by `make_private`.

    With `epochs=` one pass is one epoch, without it one pass is the whole run. A pass that was left
    early, or restored from a saved state, is continued by the next one after the last step that was
    taken. If the run has a filter, the pass also ends when no further step is permitted.

    Every batch needs a step, also an empty one, which consists of empty tensors: so a loop has one
    iteration for each step, whoever is in the data. The model is not called for it. `len` is the
    number of steps of one pass: of the latest, or of the first if none has begun.

    Attributes
    ----------
    dataset, batch_sampler, collate_fn
        Those of PyTorch's loaders; the batch sampler is the plan's.
    """

    def __init__(
        self,
        dataset: Any,
        *,
        batches: BatchSampler,
        progress: Progress,
        optimizer: PlanOptimizer,
        most: int | None,
        options: Mapping[str, Any],
        group: RunGroup | None = None,
    ) -> None:
        check_options(options)
        self._progress, self._optimizer = progress, optimizer
        self._latest: int | None = None
        parts = PhysicalBatchSampler(batches, progress, most=most, group=group)
        super().__init__(dataset, batch_sampler=parts, **options)

    def __len__(self) -> int:
        passes = self._progress.passes
        number = passes.at(self._progress.taken) if self._latest is None else self._latest
        return passes.length(number)

    def __iter__(self) -> Iterator[Any]:
        passes = self._progress.passes
        return self.until(passes.end(passes.at(self._progress.taken)))

    def until(self, end: int) -> Iterator[Any]:
        """A pass over the batches that are left until `end` steps are taken.

        Parameters
        ----------
        end
            Counted from the start of the run; `run.epochs()` knows the ends of epochs.
        """
        examples = self._progress.settings.examples
        if examples_of(self.dataset) != examples:
            raise PlanMismatch(
                f"The data set has {examples_of(self.dataset)} examples, but the run began with "
                f"{examples}."
            )
        iteration = self._progress.begin_iteration(end)
        self._latest = self._progress.passes.at(self._progress.taken)
        return self._pass(iteration)

    def _pass(self, iteration: int) -> Iterator[Any]:
        self._progress.check_pass(iteration)
        physical_batches: Any = self.batch_sampler
        for batch in self._of_latest(iteration):
            physical_batch = physical_batches.waiting.popleft()
            if not self._progress.announce(physical_batch):
                self._optimizer.close()
                return
            example = partial(_example, self.dataset, physical_batch)
            size, collate = physical_batch.size, self.collate_fn
            self._progress.loaded(partial(RecollatedBatch, batch, size, example, collate))
            yield batch

    def _of_latest(self, iteration: int) -> Iterator[Any]:
        """The batches, as long as no other pass has begun.

        When settings change, what workers have loaded ahead is dropped, and the batches that are
        left are drawn again: none of them was announced or shown.

        Checked before a batch is taken out as well: persistent workers have one queue, and what an
        abandoned pass takes out of it the next one would miss.
        """
        progress = self._progress
        batches, drawn = super().__iter__(), progress.redrawn
        while (batch := next(batches, self)) is not self:
            progress.check_pass(iteration)
            yield batch
            progress.check_pass(iteration)
            if drawn != progress.redrawn and progress.taken < progress.end_of_pass:
                batches, drawn = super().__iter__(), progress.redrawn


def _example(dataset: Any, physical_batch: PhysicalBatch, row: int) -> Any:
    """An example of a physical batch, read once more."""
    return dataset[int(physical_batch.indices[row])]


class Collate:
    """The collate function of a loader, which also makes empty batches.

    Parameters
    ----------
    dataset
        Its first example says what an empty batch looks like; only shapes and types are used.
    collate
        From a list of examples to a batch; by default that of PyTorch.

    Examples
    --------
    >>> import torch
    >>> import hockeystick as hs
    >>> collate = hs.torch.Collate(torch.utils.data.TensorDataset(torch.zeros(10, 3)))
    >>> [tuple(part.shape) for part in collate([])]
    [(0, 3)]
    """

    def __init__(self, dataset: Any, collate: Any = None) -> None:
        self._collate = default_collate if collate is None else collate
        # The shape of an example is public; its values are dropped.
        self._empty = _emptied(self._collate([dataset[0]]))

    def __call__(self, examples: list[Any]) -> Any:
        """A batch of these examples, which may be none."""
        return self._collate(examples) if examples else _emptied(self._empty)


def check_options(options: Mapping[str, Any]) -> None:
    """`PlanMismatch` for options that would decide the batches."""
    for name in DECIDED:
        if name in options:
            raise PlanMismatch(
                f"The plan decides which batches are drawn: leave {name} out of the loader's "
                "options (physical_batch_size limits what is in memory at once)."
            )


def examples_of(dataset: Any) -> int:
    """The number of examples of a data set."""
    if isinstance(dataset, DataLoader):
        raise PlanMismatch(
            "The plan draws the batches: give the data set itself (loader.dataset), not a loader "
            "with batches of its own, and batch_size= or a plan beside it (shuffled batches of a "
            "fixed size are not what was accounted)."
        )
    try:
        return len(dataset)
    except TypeError:
        raise InvalidParameter("data", "a data set with a length and indices", dataset) from None


def _emptied(batch: Any) -> Any:
    """The same structure without examples."""
    if isinstance(batch, torch.Tensor):
        return batch[:0].clone() if batch.ndim else batch
    if isinstance(batch, Mapping):
        return {name: _emptied(part) for name, part in batch.items()}
    if isinstance(batch, (list, tuple)):
        # A list of texts or numbers is one value for each example.
        parts = [_emptied(p) for p in batch if isinstance(p, (torch.Tensor, Mapping, list, tuple))]
        return type(batch)(*parts) if hasattr(batch, "_fields") else type(batch)(parts)
    return batch

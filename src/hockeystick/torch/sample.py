"""A few examples of a recorded batch, whose losses can be computed together or in parts."""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils._pytree import tree_leaves

from hockeystick.errors import HockeystickError, PlanMismatch
from hockeystick.torch.reloading import Reloaded
from hockeystick.torch.rowwise import CONSTANT, RandomStates, RowRandomness, kept_random_states
from hockeystick.torch.tape import Replay, Tape

__all__ = ["EXAMPLES", "Recipe", "Sample"]

# How many examples are taken out of the batch: with four, two ways to halve them separate every
# two, and a group of two is large enough for every layer.
EXAMPLES = 4

# From the repeated calls for some examples to their losses.
Recipe = Callable[[Replay], torch.Tensor]


class Sample:
    """Rows of a recorded batch: far apart, with different labels and two of the same.

    What the loop gave to the model and the criterion as it came from the loader is put together
    anew for each part, by the loader's own function: padding to the longest of the examples that
    are there is repeated too.
    """

    def __init__(self, tape: Tape, recipe: Recipe, reloaded: Reloaded) -> None:
        self._tape, self._recipe, self._reloaded = tape, recipe, reloaded
        self._again: Reloaded | None = reloaded
        self.rows = _spread(tape)
        self._seed = secrets.randbits(30)
        self.layout = CONSTANT
        self.dtype: torch.dtype | None = None
        self.random_operations = self.opaque_operations = 0

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def in_reduced_precision(self) -> bool:
        """Whether the batch was computed under autocast; the sample never is."""
        return self._tape.in_reduced_precision

    @property
    def as_loaded(self) -> bool:
        """Whether all inputs are what the loader handed out, and not changed by the loop."""
        given = [t for t in tree_leaves((self._tape.calls, self._tape.given)) if self._of_rows(t)]
        return all(self._reloaded.path(t) is not None for t in given)

    def new_seed(self) -> None:
        """Other random numbers from now on."""
        self._seed = secrets.randbits(30)

    def as_in_batch(self, *, exactly: bool = False) -> None:
        """From now on comparable with the batch: a data set may give other examples each time.

        `exactly`: as they are in the batch, with its padding.
        """
        agrees = not exactly and self._reloaded.agrees(self.rows)
        self._again = self._reloaded if agrees else None

    def losses(self, part: Sequence[int]) -> torch.Tensor:
        """Of some of the examples, by their places in the sample.

        Random operations draw the same for an example whichever others are there.
        """
        rows = [self.rows[i] for i in part]
        return self._losses(rows, Replay(self._tape, rows, self._again, self.dtype))

    def losses_in_batch(self) -> torch.Tensor:
        """Of the examples of the sample, from a forward pass of the whole batch."""
        everyone = range(self._tape.size)
        return self._losses(everyone, Replay(self._tape, everyone, None, self.dtype))[self.rows]

    def losses_of_step(self) -> torch.Tensor:
        """Of the whole batch, with the random numbers that the step had."""
        assert self._tape.random_states is not None
        replay = Replay(self._tape, range(self._tape.size), None)
        with kept_random_states(), torch.no_grad(), self._without_autocast():
            self._tape.random_states.restore()
            return self._recipe(replay)

    def _without_autocast(self) -> Any:
        return torch.autocast(self._tape.device, enabled=False)

    def _losses(self, rows: Sequence[int], replay: Replay) -> torch.Tensor:
        randomness = RowRandomness(rows, self._tape.size, seed=self._seed, layout=self.layout)
        try:
            with kept_random_states(), self._without_autocast():
                random.seed(self._seed)
                np.random.seed(self._seed)  # noqa: NPY002 - what a model may use
                before = RandomStates()
                with randomness:
                    found = self._recipe(replay)
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
        return isinstance(value, torch.Tensor) and value.ndim > 0 and len(value) == self._tape.size


def _spread(tape: Tape) -> list[int]:
    """Places in the batch, in order."""
    if tape.size <= EXAMPLES:
        return list(range(tape.size))
    chosen: list[int] = []
    labels = next((t for t in tree_leaves(tape.given) if _may_be_labels(t, tape.size)), None)
    if labels is not None:
        _, first, counts = np.unique(labels.cpu().numpy(), return_index=True, return_counts=True)
        common = int(np.argmax(counts))
        alike = np.flatnonzero(labels.cpu().numpy() == labels.cpu().numpy()[first[common]])
        chosen = [*alike[:2].tolist(), *first.tolist()]
    apart = np.linspace(0, tape.size - 1, EXAMPLES).astype(int).tolist()
    return sorted(list(dict.fromkeys([*chosen, *apart]))[:EXAMPLES])


def _may_be_labels(value: Any, size: int) -> bool:
    """One number that is not a measurement for each example."""
    return (
        isinstance(value, torch.Tensor) and value.shape == (size,) and not value.is_floating_point()
    )

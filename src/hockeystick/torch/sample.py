"""A few examples of a recorded batch, whose losses can be computed together or in parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils._pytree import tree_leaves

from hockeystick.errors import HockeystickError, PlanMismatch
from hockeystick.torch.rowwise import RowRandomness
from hockeystick.torch.tape import Replay, Tape

__all__ = ["EXAMPLES", "Recipe", "Sample"]

# How many examples are taken out of the batch: with four, two ways to halve them separate every
# two, and a group of two is large enough for every layer.
EXAMPLES = 4

# From the repeated calls for some examples to their losses.
Recipe = Callable[[Replay], torch.Tensor]


class Sample:
    """Rows of a recorded batch: far apart, and with different labels where there are labels."""

    def __init__(self, tape: Tape, recipe: Recipe) -> None:
        self._tape, self._recipe = tape, recipe
        self.rows = _spread(tape)
        self.random_operations = 0

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def in_reduced_precision(self) -> bool:
        """Whether the batch was computed under autocast; the sample never is."""
        return self._tape.in_reduced_precision

    def losses(self, part: Sequence[int]) -> torch.Tensor:
        """Of some of the examples, by their places in the sample.

        Random operations draw the same for an example whichever others are there.
        """
        randomness = RowRandomness(part, len(self))
        replay = Replay(self._tape, [self.rows[i] for i in part])
        try:
            with torch.autocast(self._tape.device, enabled=False), randomness:
                found = self._recipe(replay)
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
        self.random_operations += randomness.count
        return found


def _spread(tape: Tape) -> list[int]:
    """Places in the batch, in order."""
    if tape.size <= EXAMPLES:
        return list(range(tape.size))
    apart = np.linspace(0, tape.size - 1, EXAMPLES).astype(int).tolist()
    labels = next((t for t in tree_leaves(tape.given) if _may_be_labels(t, tape.size)), None)
    different: list[int] = []
    if labels is not None:
        _, first = np.unique(labels.cpu().numpy(), return_index=True)
        different = first.tolist()
    return sorted(list(dict.fromkeys([*different, *apart]))[:EXAMPLES])


def _may_be_labels(value: Any, size: int) -> bool:
    """One number that is not a measurement for each example."""
    return (
        isinstance(value, torch.Tensor) and value.shape == (size,) and not value.is_floating_point()
    )

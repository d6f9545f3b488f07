"""What a pass over some examples gave, and how far two passes are apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

__all__ = ["Outcome", "relative_change", "rows_of"]

# A loss or gradient this much smaller than the largest of the sample is measured by the largest.
NEGLIGIBLE = 1e-3


@dataclass(frozen=True, eq=False)
class Outcome:
    """Losses and gradients of some examples, and the buffers that their pass has changed."""

    losses: torch.Tensor
    gradients: list[torch.Tensor]
    buffers: dict[str, torch.Tensor]

    def select(self, part: Sequence[int]) -> Outcome:
        """The same for some of them."""
        rows = list(part)
        return Outcome(self.losses[rows], [g[rows] for g in self.gradients], self.buffers)


def relative_change(now: list[torch.Tensor], expected: list[torch.Tensor]) -> float:
    """The largest change of a row, relative to its length (or that of the longest).

    Rows that are not finite contribute nothing to a sum: two of them are equal.
    """
    one = torch.cat([rows_of(rows) for rows in now], dim=1)
    other = torch.cat([rows_of(rows) for rows in expected], dim=1)
    finite = torch.isfinite(one).all(dim=1), torch.isfinite(other).all(dim=1)
    if not torch.equal(*finite):
        return math.inf
    one, other = one[finite[0]], other[finite[1]]
    if not len(one):
        return 0.0
    size = torch.linalg.vector_norm(other, dim=1)
    floor = max(float(size.max()) * NEGLIGIBLE, torch.finfo(torch.float32).tiny)
    return float((torch.linalg.vector_norm(one - other, dim=1) / size.clamp(min=floor)).max())


def rows_of(values: torch.Tensor) -> torch.Tensor:
    """One row for each example, in double precision."""
    return values.detach().double().reshape(len(values), -1).cpu()

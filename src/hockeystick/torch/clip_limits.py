"""A physical batch, and how long the gradients of its examples may be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numba import njit

from hockeystick._numerics.law import FloatArray
from hockeystick.training.sum_lattice import SumLattice

__all__ = ["ClipLimit", "PhysicalBatch"]

# Keeps the quotient finite for gradients that vanish; the same number as in Opacus.
SMALLEST_NORM = 1e-6


@dataclass(frozen=True, eq=False)
class PhysicalBatch:
    """A physical batch: all examples of a step, or some of them.

    Examples beyond the first `counted` are there for a rank that has too few of its own: models are
    called for them, and they contribute nothing.
    """

    step: int
    indices: torch.Tensor
    first: bool
    last: bool
    counted: int

    @property
    def size(self) -> int:
        """The number of examples."""
        return self.indices.numel()


@dataclass(frozen=True, eq=False)
class ClipLimit:
    """The clip norm of every example, or a length for each of them."""

    clip: float
    lengths: torch.Tensor | None = None
    # What factors are multiplied by: lattice spacings that sums were made for, in present ones.
    unit: float = 1.0

    def before_rounding(self, lattice: SumLattice | None, unit: float = 1.0) -> ClipLimit:
        """The limit for gradients that are rounded to the lattice afterwards."""
        if lattice is None:
            return self
        lengths = self.lengths
        if lengths is not None:
            lengths = torch.from_numpy(lattice.shortened(lengths.numpy()))
        return ClipLimit(float(lattice.shortened(self.clip)), lengths, unit)

    def factors(
        self,
        norms: torch.Tensor,
        batch: PhysicalBatch,
        *,
        share: float = 1.0,
        gamma: float | None = None,
    ) -> torch.Tensor:
        """What gradients of these norms are multiplied by: min(1, length / norm).

        Of a length only a `share`, where the norms are those of a layer. With a `gamma` the factor
        is length / (norm + gamma), by which nothing gets as long as the length. A gradient that is
        not finite, or of an example that does not count, contributes nothing.
        """
        if norms.device.type == "cpu" and norms.dtype == torch.float64:
            return self._factors_on_cpu(norms, batch, share, gamma)
        longest: float | torch.Tensor = self.clip * share
        if self.lengths is not None:
            lengths = self.lengths[batch.indices].to(device=norms.device, dtype=norms.dtype)
            longest = lengths * share
        if gamma is None:
            factors = (longest / (norms + SMALLEST_NORM)).clamp(max=1.0)
        else:
            factors = longest / (norms + gamma)
        if self.unit != 1.0:
            factors *= self.unit
        if batch.counted < len(factors):
            factors[batch.counted :] = 0.0
        # Lengths are finite: only a norm that is not a number makes such a factor.
        return factors.nan_to_num_(nan=0.0)

    def _factors_on_cpu(
        self, norms: torch.Tensor, batch: PhysicalBatch, share: float, gamma: float | None
    ) -> torch.Tensor:
        """The same numbers in one pass."""
        longest = np.full(1, self.clip)
        if self.lengths is not None:
            longest = self.lengths[batch.indices].numpy().astype(np.float64, copy=False)
        found = np.empty(len(norms))
        added = SMALLEST_NORM if gamma is None else gamma
        most = 1.0 if gamma is None else np.inf
        values = norms.detach().contiguous().numpy()
        _fill_factors(found, values, longest * share, added, most)
        if self.unit != 1.0:
            found *= self.unit
        found[batch.counted :] = 0.0
        return torch.from_numpy(found)


@njit(cache=True, nogil=True, error_model="numpy")
def _fill_factors(
    factors: FloatArray, norms: FloatArray, longest: FloatArray, added: float, most: float
) -> None:
    """min(most, longest / (norm + added)), and 0 where that is no number."""
    for i in range(norms.size):
        one = longest[i if longest.size > 1 else 0] / (norms[i] + added)
        factors[i] = min(one, most) if one >= 0.0 else 0.0

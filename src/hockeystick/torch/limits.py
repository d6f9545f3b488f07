"""How long the contribution of an example to one step may be."""

from __future__ import annotations

from dataclasses import dataclass

import torch

__all__ = ["Limit"]

# As in Opacus: keeps the quotient finite for gradients that vanish.
SMALLEST_NORM = 1e-6


@dataclass(frozen=True, eq=False)
class Limit:
    """The clip norm for every example, or a length for each of them."""

    clip: float
    lengths: torch.Tensor | None = None

    def factors(self, norms: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
        """What gradients of these norms are multiplied by: min(1, length / norm).

        A gradient that is not finite contributes nothing.
        """
        longest: float | torch.Tensor = self.clip
        if self.lengths is not None:
            longest = self.lengths[indices].to(device=norms.device, dtype=norms.dtype)
        factors = (longest / (norms + SMALLEST_NORM)).clamp(max=1.0)
        return torch.where(torch.isfinite(norms), factors, torch.zeros_like(factors))

"""Pairs that are given as finitely many atoms, or as the masses of finitely many cells."""

from __future__ import annotations

from dataclasses import dataclass

from hockeystick._numerics.cells import law_from_cells
from hockeystick._numerics.divergence import delta_from_law
from hockeystick._numerics.law import FloatArray, Law, Resolution, Side
from hockeystick._numerics.law import reverse as reverse_law
from hockeystick.profile.expressions.base import Expression

__all__ = ["Atoms", "Cells"]


@dataclass(frozen=True, eq=False)
class Atoms(Expression):
    """A discrete pair: its law is exact at every resolution."""

    atoms: Law
    # How exact the losses are, relatively.
    loss_error: float = 0.0

    @property
    def argument_error(self) -> float:
        """That of the losses: next to an atom epsilon may be above or below it."""
        return self.loss_error

    def law(self, side: Side, resolution: Resolution) -> Law:
        """The atoms themselves."""
        return self.atoms

    def closed_form(self, epsilon: float, *, reverse: bool) -> float | None:
        """The finite sum."""
        return delta_from_law(reverse_law(self.atoms) if reverse else self.atoms, epsilon)


@dataclass(frozen=True, eq=False)
class Cells(Expression):
    """A likelihood ratio known only through the masses between given losses."""

    nodes: FloatArray
    log_p: FloatArray
    log_q: FloatArray

    def law(self, side: Side, resolution: Resolution) -> Law:
        """Split at the edges (upper) or merged in the cells (lower); no finer than given."""
        return law_from_cells(self.nodes, self.log_p, self.log_q, side)

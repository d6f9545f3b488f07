"""Mean squared error as a function of epsilon, the best over all candidates of a family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hockeystick.guarantee import Kind
from hockeystick.report.noise_curve import NoiseCurve, winning_curve
from hockeystick.report.progress import Update
from hockeystick.report.result_rows import Family

__all__ = ["ErrorCurve", "error_curves"]

# Points of the common grid of epsilons.
EPSILON_POINTS = 33
# The grid runs from the target divided by this to the target times this.
REACH = 2.5


@dataclass(frozen=True)
class ErrorCurve:
    """Errors at some epsilons; NaN where no candidate's curve reaches."""

    label: str
    kind: Kind
    epsilon: tuple[float, ...]
    error: tuple[float, ...]


def error_curves(
    families: Sequence[Family],
    *,
    computed: Mapping[str, Sequence[NoiseCurve]],
    update: Update,
) -> list[ErrorCurve]:
    """One curve for each family, in their order.

    `computed` has the curves of each family's best member that are there already, by the family's
    label; those that are not proven are left out. Other members are accounted with the method that
    gave them their noise.
    """
    target = families[0].best.calibration.epsilon
    grid = np.geomspace(target / REACH, target * REACH, EPSILON_POINTS)
    curves = []
    for family in families:
        update(f"Drawing the error of {family.label} ...")
        unit = family.best.unit_error
        proven = [one for one in computed[family.label] if one.kind == "proven"]
        errors = [_errors(curve, unit, grid) for curve in proven]
        for one in family.members[1:]:
            curve = winning_curve(one)
            if curve is not None:
                errors.append(_errors(curve, one.unit_error, grid))
        # fmin ignores curves that do not reach a point.
        best = np.fmin.reduce(errors, axis=0) if errors else np.full(EPSILON_POINTS, np.nan)
        # What was verified is a point, not a curve.
        kind = family.best.answer.kind if family.best.answer.kind != "verified" else "proven"
        curves.append(ErrorCurve(family.label, kind, tuple(grid.tolist()), tuple(best.tolist())))
    return curves


def _errors(curve: NoiseCurve, unit: float, grid: np.ndarray) -> np.ndarray:
    """The error at the epsilons of the grid, interpolated in logarithms; `unit` is at noise 1."""
    noise, epsilon = np.array(curve.noise), np.array(curve.epsilon)
    drawn = np.isfinite(epsilon)
    # epsilon falls with the noise; np.interp wants it to rise.
    x, y = np.log(epsilon[drawn])[::-1], 2 * np.log(noise[drawn])[::-1]
    errors: np.ndarray = unit * np.exp(np.interp(np.log(grid), x, y, left=np.nan, right=np.nan))
    return errors

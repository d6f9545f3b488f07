"""Mean squared error as a function of epsilon, the best over all candidates of a family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hockeystick.comparison import Compared
from hockeystick.guarantee import Kind
from hockeystick.report.noise_curve import noise_around, noise_curve
from hockeystick.report.progress import Update

__all__ = ["ErrorCurve", "error_curves", "family_of", "scheme_of"]

# Points of each candidate's own curve, and of the common grid of epsilons.
NOISE_POINTS, EPSILON_POINTS = 7, 33
# The grid runs from the target divided by this to the target times this.
REACH = 2.5


@dataclass(frozen=True)
class ErrorCurve:
    """Errors at some epsilons; NaN where no candidate's curve reaches."""

    label: str
    kind: Kind
    epsilon: tuple[float, ...]
    error: tuple[float, ...]


def scheme_of(one: Compared) -> str:
    """The scheme by name; batches without chance are called fixed."""
    sampling = one.plan.sampling
    return "fixed batches" if sampling.participation_known else sampling.name


def family_of(one: Compared) -> str:
    """Scheme and strategy by name."""
    return f"{scheme_of(one)}, {one.plan.strategy.name}"


def error_curves(compared: Sequence[Compared], *, update: Update) -> list[ErrorCurve]:
    """One curve for each family, in the order of their best members."""
    target = compared[0].calibration.epsilon
    grid = np.geomspace(target / REACH, target * REACH, EPSILON_POINTS)
    families: dict[str, list[Compared]] = {}
    for one in compared:
        families.setdefault(family_of(one), []).append(one)
    curves = []
    for label, members in families.items():
        update(f"Drawing {label} ...")
        errors = np.array([_errors(one, grid) for one in members])
        # fmin ignores members whose curve does not reach a point.
        best = np.fmin.reduce(errors, axis=0)
        kind = members[0].answer.kind
        curves.append(ErrorCurve(label, kind, tuple(grid.tolist()), tuple(best.tolist())))
    return curves


def _errors(one: Compared, grid: np.ndarray) -> np.ndarray:
    """The candidate's error at the epsilons of the grid, interpolated in logarithms."""
    found = one.calibration
    curve = noise_curve(
        one.plan,
        label="",
        kind=one.answer.kind,
        noise=noise_around(found.noise_multiplier, points=NOISE_POINTS),
        delta=found.delta,
    )
    noise, epsilon = np.array(curve.noise), np.array(curve.epsilon)
    drawn = np.isfinite(epsilon)
    # epsilon falls with the noise; np.interp wants it to rise.
    x, y = np.log(epsilon[drawn])[::-1], 2 * np.log(noise[drawn])[::-1]
    unit = one.plan.strategy.mean_squared_error()
    errors: np.ndarray = unit * np.exp(np.interp(np.log(grid), x, y, left=np.nan, right=np.nan))
    return errors

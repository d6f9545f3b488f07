"""Everything that the report of a comparison shows, collected before anything is drawn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hockeystick import _validate as check
from hockeystick.accounting.account import methods
from hockeystick.accounting.compare import Compared
from hockeystick.analyses import METHODS
from hockeystick.errors import HockeystickError
from hockeystick.report.figure_data import (
    ErrorCurve,
    PrivacyPoints,
    SimulatedBatches,
    error_curves,
    privacy_points,
    simulated_batches,
)
from hockeystick.report.noise_figure import NoiseCurve, drawn_methods, method_curve
from hockeystick.report.recommendation import Recommendation, recommended
from hockeystick.report.result_rows import Family, families
from hockeystick.report.text import Update

__all__ = ["ComparisonReport", "FamilyReport", "comparison_report"]

# Of the batches that are shown; any number, so that the same report is drawn again.
DEFAULT_SEED = 1


@dataclass(frozen=True)
class FamilyReport:
    """One scheme with one strategy, shown by the member with the least error.

    `not_drawn` are methods that apply but take too long for a curve. `estimated_noise` is about the
    noise that exact accounting would give, where nothing proven is exact; nobody may run with it.
    """

    family: Family
    curves: tuple[NoiseCurve, ...]
    error: ErrorCurve
    points: PrivacyPoints
    batches: SimulatedBatches | None
    not_drawn: tuple[str, ...]
    estimated_noise: float | None
    can_be_verified: bool

    @property
    def estimated_error(self) -> float | None:
        """The mean squared error at the estimated noise."""
        if self.estimated_noise is None:
            return None
        return self.estimated_noise**2 * self.family.best.unit_error


@dataclass(frozen=True)
class ComparisonReport:
    """What was compared, best first, and the families in the order of their best members."""

    compared: tuple[Compared, ...]
    families: tuple[FamilyReport, ...]
    recommendation: Recommendation
    batch_size: float
    seed: int

    @property
    def best(self) -> Compared:
        """The recommended setting: the least error of all."""
        return self.recommendation.best

    @property
    def examples(self) -> int:
        """How many there are."""
        return self.recommendation.examples


def comparison_report(
    compared: Sequence[Compared],
    *,
    examples: int,
    batch_size: float,
    recommendation: Recommendation | None = None,
    seed: int = DEFAULT_SEED,
    estimates: bool = True,
    update: Update = lambda text: None,
) -> ComparisonReport:
    """The curves, profiles and simulated batches of `compare(...)` with the same arguments.

    With momentum, learning rates or users the `recommendation` says so; by default it is that for
    plain SGD and single examples.

    Costs up to a minute of work on top of a comparison with two thousand steps: curves are computed
    with a hundredth of the usual budget, and a method that takes seconds for a number at a few
    points only. `seed` is that of the simulated batches and of the estimates, which `estimates`
    leaves out.
    """
    examples = check.positive_integer("examples", examples)
    batch_size = check.positive("batch_size", batch_size)
    advice = recommendation or recommended(compared, examples=examples)
    grouped = families(compared)
    computed: dict[str, list[NoiseCurve]] = {}
    for family in grouped:
        update(f"Drawing {family.label} ...")
        curves = (method_curve(family.best, method) for method in drawn_methods(family.best))
        computed[family.label] = [curve for curve in curves if curve is not None]
    errors = error_curves(grouped, computed=computed, update=update)
    reports = []
    for family, error in zip(grouped, errors, strict=True):
        best = family.best
        update(f"Reading the profile of {family.label} ...")
        points = privacy_points(best)
        applicable = methods(best.plan)
        draws = (
            any(METHODS[name].by_draws for name in applicable)
            and not best.calibration.guarantee.analyses[0].tight
            and best.answer.kind == "proven"
        )
        update(f"Simulating {family.label} ...")
        reports.append(
            FamilyReport(
                family=family,
                curves=tuple(computed[family.label]),
                error=error,
                points=points,
                batches=simulated_batches(best.plan, examples=advice.data, seed=seed),
                not_drawn=_not_drawn(applicable, computed[family.label]),
                estimated_noise=_estimate(best, seed) if draws and estimates else None,
                can_be_verified=draws,
            )
        )
    return ComparisonReport(tuple(compared), tuple(reports), advice, batch_size, seed)


def _not_drawn(applicable: Iterable[str], curves: Sequence[NoiseCurve]) -> tuple[str, ...]:
    drawn = {curve.label for curve in curves}
    return tuple(name for name in applicable if name not in drawn and not METHODS[name].by_draws)


def _estimate(one: Compared, seed: int) -> float | None:
    """About the noise of exact accounting, by draws; None where draws do not find it."""
    from hockeystick.montecarlo.noise_estimate import estimate_noise

    found = one.calibration
    try:
        estimate = estimate_noise(
            one.plan,
            epsilon=found.epsilon,
            delta=found.delta,
            start=found.noise_multiplier,
            seed=seed,
        )
    except HockeystickError:
        return None
    return estimate.noise_multiplier

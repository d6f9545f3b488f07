"""What the training scripts find: accuracies over seeds, as a table and as a diagram."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from curves import MARKERS
from hockeystick.report.figure import INK, curve_style, log_axes
from private_training import CalibratedPlan, half_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Accuracies", "Differences", "Entry"]

# Points at the same epsilon are drawn beside each other.
APART = 1.05


@dataclass(frozen=True)
class Entry:
    """One scheme at one epsilon; an accuracy for each seed."""

    scheme: str
    epsilon: float
    calibrated: CalibratedPlan
    learning_rate: float
    accuracies: Sequence[float]

    @property
    def mean(self) -> float:
        """Over seeds."""
        return fmean(self.accuracies)


@dataclass(frozen=True)
class Accuracies:
    """All schemes, beside the same network without privacy (`without`, for each seed)."""

    entries: Sequence[Entry]
    without: Sequence[float]
    baseline: str
    title: str = "Test accuracy"

    def errors(self, scheme: str) -> tuple[list[float], list[float], float]:
        """Epsilons, the MSE over that of the baseline, and how long it took to find the noise."""
        found = [entry for entry in self.entries if entry.scheme == scheme]
        base = [self._entry(self.baseline, entry.epsilon) for entry in found]
        ratios = [
            round(one.calibrated.mse / other.calibrated.mse, 4)
            for one, other in zip(found, base, strict=True)
        ]
        seconds = round(sum(entry.calibrated.seconds for entry in found), 1)
        return [entry.epsilon for entry in found], ratios, seconds

    def difference(self, entry: Entry) -> tuple[float, float]:
        """How much better than the baseline with the same seed, and half of the interval."""
        base = self._entry(self.baseline, entry.epsilon).accuracies
        apart = [one - other for one, other in zip(entry.accuracies, base, strict=True)]
        return fmean(apart), half_width(apart)

    def apart(self, scheme: str) -> tuple[float, float]:
        """The difference of the scheme's first entry."""
        return self.difference(next(entry for entry in self.entries if entry.scheme == scheme))

    def print(self) -> None:
        """One line for each entry; ± is half of a 95 % interval for the mean over seeds."""
        width = max(len(entry.scheme) for entry in self.entries) + 2
        title = f"{self.title}, {len(self.entries[0].accuracies)} seeds"
        print(f"{title}; without privacy {_interval(self.without)}")
        head = f"{'epsilon':>8}{'accuracy':>17}{f'minus {self.baseline}':>23}{'rate':>6}"
        print(f"{'':<{width}}{head}{'bands':>6}{'noise':>8}{'MSE':>9}  method")
        for entry in self.entries:
            apart, half = self.difference(entry)
            away = "" if entry.scheme == self.baseline else f"{100 * apart:+.2f} ± {100 * half:.2f}"
            calibrated = entry.calibrated
            print(
                f"{entry.scheme:<{width}}{entry.epsilon:>8g}{_interval(entry.accuracies):>17}"
                f"{away:>23}{entry.learning_rate:>6g}{calibrated.plan.strategy.bands:>6}"
                f"{calibrated.noise_multiplier:>8.3f}{calibrated.mse:>9.1f}  {calibrated.method}"
            )

    def content(self) -> dict[str, Any]:
        """Everything, for JSON."""
        return {
            "name": "accuracy",
            "baseline": self.baseline,
            "without_privacy": {"accuracies": _rounded(self.without)},
            "entries": [self._content(entry) for entry in self.entries],
        }

    def draw(self, axes: Axes) -> None:
        """Means with intervals; a dashed line is the network without privacy."""
        self._points(axes, self._absolute)
        without = 100 * fmean(self.without)
        axes.axhline(without, color=INK, linewidth=1, linestyle="--", label="without privacy")
        title = f"{self.title}, 95 % intervals"
        axes.set_title(title, loc="left", fontsize=10, color=INK)
        axes.set_ylabel("accuracy (%)", color=INK)

    def draw_differences(self, axes: Axes) -> None:
        """From the baseline with the same seed, with intervals."""
        self._points(axes, self.difference)
        axes.set_title("The same, seed by seed", loc="left", fontsize=10, color=INK)
        axes.set_ylabel(f"points above {self.baseline}", color=INK)

    def _absolute(self, entry: Entry) -> tuple[float, float]:
        return entry.mean, half_width(entry.accuracies)

    def _points(self, axes: Axes, value: Callable[[Entry], tuple[float, float]]) -> None:
        schemes = list(dict.fromkeys(entry.scheme for entry in self.entries))
        epsilons = sorted({entry.epsilon for entry in self.entries})
        for i, scheme in enumerate(schemes):
            found = [value(self._entry(scheme, epsilon)) for epsilon in epsilons]
            colour, dashes = curve_style(i)
            axes.errorbar(
                [epsilon * APART ** (i - (len(schemes) - 1) / 2) for epsilon in epsilons],
                [100 * mean for mean, _ in found],
                [100 * half for _, half in found],
                label=scheme,
                color=colour,
                linestyle=dashes,
                linewidth=1.2,
                marker=MARKERS[i],
                markersize=4.5,
                capsize=3,
            )
        log_axes(axes)
        axes.set_yscale("linear")
        axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
        axes.set_xticks([], minor=True)
        axes.set_xlabel("ε", color=INK)

    def _entry(self, scheme: str, epsilon: float) -> Entry:
        return next(e for e in self.entries if (e.scheme, e.epsilon) == (scheme, epsilon))

    def _content(self, entry: Entry) -> dict[str, Any]:
        apart, half = self.difference(entry)
        calibrated = entry.calibrated
        return {
            "scheme": entry.scheme,
            "epsilon": entry.epsilon,
            "bands": calibrated.plan.strategy.bands,
            "noise_multiplier": round(calibrated.noise_multiplier, 5),
            "method": calibrated.method,
            "mse": round(calibrated.mse, 3),
            "learning_rate": entry.learning_rate,
            "accuracy": round(entry.mean, 5),
            "half_width": round(half_width(entry.accuracies), 5),
            "minus_baseline": round(apart, 5),
            "minus_baseline_half_width": round(half, 5),
            "accuracies": _rounded(entry.accuracies),
        }


@dataclass(frozen=True)
class Differences:
    """The diagram of the differences from the baseline, which the table of accuracies has."""

    found: Accuracies

    def print(self) -> None:
        """Nothing more."""

    def content(self) -> dict[str, Any]:
        """Where the numbers are."""
        return {"name": "differences", "see": "minus_baseline of the entries of accuracy"}

    def draw(self, axes: Axes) -> None:
        """Of all schemes."""
        self.found.draw_differences(axes)


def _interval(values: Sequence[float]) -> str:
    return f"{100 * fmean(values):.2f} ± {100 * half_width(values):.2f} %"


def _rounded(values: Sequence[float]) -> list[float]:
    return [round(value, 5) for value in values]

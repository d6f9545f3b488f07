"""What the numbers of a comparison mean, sentence by sentence."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from hockeystick._version import __version__
from hockeystick.report.comparison_report import ComparisonReport
from hockeystick.report.method_curves import CURVE_BUDGET

__all__ = ["KIND_MEANINGS", "fine_print", "versions"]

KIND_MEANINGS = {
    "proven": "a theorem, with arithmetic that only rounds towards the safe side: the run is "
    "(ε, δ)-DP.",
    "verified": "a claim that was fixed first and accepted by a test with draws, whose chance of a "
    "wrong acceptance is inside δ. Nothing on this page was verified; the commands say how.",
    "asymptotic": "a limit without a known error. It can be too small and is no guarantee.",
    "estimate": "about what exact accounting would give, by draws of the run. It is no guarantee "
    "and nobody may run with it.",
}


def fine_print(report: ComparisonReport) -> Iterator[tuple[str, str]]:
    """Subjects and what is to be known about them."""
    guarantee = report.best.calibration.guarantee
    yield (
        "adjacency",
        f"{guarantee.adjacency}: one {guarantee.unit} is there, or contributes nothing",
    )
    yield "unit", f"{guarantee.unit}; whoever owns several is protected for each of them separately"
    yield "directions", "both: the larger of the two divergences everywhere"
    yield (
        "what is proven",
        "every noise multiplier, error, point of a profile and attack reading of a setting, by the "
        "method named beside it; curves where their kind says so. Lines join computed points",
    )
    yield (
        "what is chosen",
        "the least mean squared error of the noise in the prefix sums at clip norm 1, among the "
        "candidates of the table. It depends on the sizes of the run and not on its data",
    )
    yield (
        "noise multiplier",
        "standard deviation of Z over the clip norm, where the noise is C⁻¹Z. Those of different "
        "strategies are not comparable; errors are",
    )
    yield (
        "curves",
        f"priced to 1 % with a budget of {CURVE_BUDGET:g} operations for each number, so they may "
        "be a few per cent above what their method proves with more work; the dots are not",
    )
    yield (
        "attack reading",
        "from the proven points (ε, δ): at false positive rate x no attack has more true positives "
        "than the least of δ + x exp(ε) and 1 − (1 − δ − x) exp(−ε)",
    )
    yield (
        "batches shown",
        f"simulated with seed {report.seed}. A real run keeps its batches and their seed secret; "
        "published ones void the amplification",
    )
    yield "versions", versions()


def versions() -> str:
    """The library and what computes its numbers and pictures."""
    names = ("numpy", "scipy", "numba", "plotly", "matplotlib")
    found = [f"hockeystick {__version__}", f"Python {platform.python_version()}"]
    for name in names:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)

"""The text of the page: what was compared, what the numbers mean, how to run it."""

from __future__ import annotations

import math
import platform
from collections.abc import Iterable, Iterator
from html import escape
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from hockeystick._version import __version__
from hockeystick.bounds.risk import USUAL_RATE
from hockeystick.report import COLUMNS, cells, upper_text
from hockeystick.report.comparison_report import (
    ESTIMATE,
    ComparisonReport,
    FamilyReport,
    method_names,
)
from hockeystick.report.figure_data import PrivacyPoints
from hockeystick.report.noise_figure import CURVE_BUDGET
from hockeystick.report.reproduction import commands, python_code, verifying_command

__all__ = [
    "KIND_MEANINGS",
    "family_boxes",
    "fine_print",
    "fine_print_list",
    "method_boxes",
    "recommendation",
    "scheme_options",
    "settings",
    "table",
    "versions",
]

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
    held = report.recommendation.examples_per_user
    protected = "whoever owns several is protected for each of them separately"
    if held is not None:
        protected = f"users with {held} examples each, all of which are protected together"
    yield "unit", f"{guarantee.unit}; {protected}"
    yield "directions", "both: the larger of the two divergences everywhere"
    yield (
        "what is proven",
        "every noise multiplier, error, point of a profile and attack reading of a setting, by the "
        "method named beside it; curves where their kind says so. Lines join computed points",
    )
    yield (
        "what is chosen",
        f"the least mean squared error of the noise in the iterates of "
        f"{report.recommendation.optimizer} at clip norm 1, among the candidates of the table. It "
        "depends on the sizes of the run and not on its data",
    )
    yield (
        "noise multiplier",
        "standard deviation of Z over the clip norm, where the noise is C⁻¹Z. Those of different "
        "strategies are not comparable; errors are",
    )
    yield (
        "curves",
        f"computed to 1 % with a budget of {CURVE_BUDGET:g} operations for each number: they may "
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


def recommendation(report: ComparisonReport) -> str:
    """The setting with the least error: the gain, the caveat, the code that runs it."""
    advice = report.recommendation
    found, answer = advice.best.calibration, advice.best.answer
    gain = advice.gain[0].upper() + advice.gain[1:]
    return (
        f'<p class="big">{escape(advice.setting)}: noise multiplier '
        f"{upper_text(found.noise_multiplier)}</p>"
        f"<p><strong>{escape(gain)}</strong>, the least of {advice.candidates} candidates. "
        f"ε ≤ {upper_text(answer.value)} at "
        f'δ = {found.delta:g}, <span class="kind">{escape(answer.kind)}</span> by '
        f"<code>{escape(answer.method)}</code>.</p>"
        f"<p>{escape(advice.caveat)}</p>"
        f"{_verified_alternative(report)}"
        "<details><summary>Command and Python that run it, from the plan to the statement</summary>"
        f"{_code(advice.command)}{_code(advice.python)}</details>"
    )


def scheme_options(report: ComparisonReport) -> str:
    """An option for each family; the first is recommended."""
    return "".join(
        f'<option value="{i}"{" selected" if i == 0 else ""}>{escape(_setting(one))}'
        f"{' (recommended)' if i == 0 else ''}</option>"
        for i, one in enumerate(report.families)
    )


def method_boxes(report: ComparisonReport) -> str:
    """A toggle for each method, and one for estimates."""
    names = method_names(report)
    boxes = [_box("method", name, name, f' data-method="{escape(name)}"') for name in names]
    if any(one.estimated_noise is not None for one in report.families):
        boxes.append(
            _box(
                "method",
                ESTIMATE,
                "exact accounting (estimate)",
                f' data-method="{ESTIMATE}"',
                line="◇",
            )
        )
    return "".join(boxes)


def family_boxes(report: ComparisonReport) -> str:
    """A toggle for each family in the figure of errors."""
    return "".join(
        _box("family", str(i), f"{one.family.label} ({one.family.best.answer.kind})")
        for i, one in enumerate(report.families)
    )


def settings(report: ComparisonReport) -> str:
    """For each family a part with its numbers, its commands and its Python; one is shown."""
    return "".join(
        f'<div data-family="{i}"{"" if i == 0 else " hidden"}>{_family(one, report)}</div>'
        for i, one in enumerate(report.families)
    )


def table(report: ComparisonReport) -> str:
    """All candidates, the least error first."""
    head = "".join(
        f'<th scope="col"{_numeric(number)}>{escape(title)}</th>' for title, number in COLUMNS
    )
    body = ""
    for place, one in enumerate(report.compared):
        texts = zip(cells(one, report.recommendation.baseline), COLUMNS, strict=True)
        row = "".join(f"<td{_numeric(number)}>{escape(text)}</td>" for text, (_, number) in texts)
        body += f"<tr{' class=best' if place == 0 else ''}>{row}</tr>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def fine_print_list(report: ComparisonReport) -> str:
    """The fine print, and what each kind means."""
    kinds = _facts(KIND_MEANINGS.items())
    return f"{_facts(fine_print(report))}<h3>Kinds</h3>{kinds}"


def _family(one: FamilyReport, report: ComparisonReport) -> str:
    best = one.family.best
    found, answer = best.calibration, best.answer
    # The words of the table.
    texts = zip(COLUMNS, cells(best, report.recommendation.baseline), strict=True)
    facts = [(title.replace("\n", " "), text) for (title, _), text in texts if text]
    data: Any = report.recommendation.data
    facts += [
        ("expected batch size", f"{best.plan.sampling.expected_batch_size(data):g}"),
        ("ε at δ", f"{upper_text(answer.value)} at {found.delta:g}, {answer.kind}"),
        ("method", answer.method),
        ("whoever tests whether one example was used", _risk(one.points)),
    ]
    if one.not_drawn:
        facts.append(("methods not drawn", ", ".join(one.not_drawn)))
    return f"{_facts(facts)}{_verification(one, report)}{_reproduction(one, report)}"


def _risk(points: PrivacyPoints) -> str:
    """What every attack is bounded by, rounded to the safe side."""
    advantage = math.ceil(points.advantage * 1e4) / 1e4
    rate = math.ceil(points.true_positive_rate(USUAL_RATE) * 1e4) / 1e4
    risk = math.floor((1 - points.advantage) / 2 * 1e4) / 1e4
    return (
        f"advantage at most {advantage:.4f}; true positive rate at most {rate:.4f} at a false one "
        f"of {USUAL_RATE:g}; Bayes risk at least {risk:.4f} for a prior of 1/2"
    )


def _reproduction(one: FamilyReport, report: ComparisonReport) -> str:
    best, optimizer = one.family.best, report.recommendation.optimizer
    given = commands(best, examples=report.examples, seed=report.seed, optimizer=optimizer)
    lines = "\n".join(given)
    return (
        f"<h3>Commands</h3>{_code(lines)}"
        f"<h3>Python</h3>{_code(python_code(best, optimizer=optimizer))}"
    )


def _verified_alternative(report: ComparisonReport) -> str:
    """Where an estimate is below the least proven error: what may be had by draws."""
    able = [one for one in report.families if one.estimated_error is not None]
    if not able:
        return ""
    least = min(able, key=lambda one: one.estimated_error or 0.0)
    error = least.estimated_error or 0.0
    if error >= report.best.mean_squared_error:
        return ""
    return (
        f"<p>Verified by draws, {escape(_setting(least))} may need less: an error of about "
        f'{error:.4g} <span class="kind">{ESTIMATE}</span>. Choose it below for the command.</p>'
    )


def _verification(one: FamilyReport, report: ComparisonReport) -> str:
    """What draws would say, where no proven number is exact."""
    if not one.can_be_verified:
        return ""
    best = one.family.best
    text = "No proven number is exact here; draws of the run may verify less noise"
    if one.estimated_noise is not None:
        text += (
            f" (exact accounting: about {one.estimated_noise:.4g}, with an error of about "
            f'{one.estimated_error:.4g}; <span class="kind">{ESTIMATE}</span>)'
        )
    command = verifying_command(best, optimizer=report.recommendation.optimizer)
    return f"<p>{text}:</p>{_code(command)}"


def _setting(one: FamilyReport) -> str:
    """Scheme, strategy and what it is parametrised by."""
    parameters = one.family.best.plan.strategy.parameters
    named = [f"{parameters[name]} {name}" for name in ("bands", "buffers") if name in parameters]
    return f"{one.family.label}{''.join(f' ({text})' for text in named)}"


def _box(name: str, value: str, label: str, attributes: str = "", *, line: str = "") -> str:
    """A checkbox, the piece of line that it stands for, and its label."""
    key = f"{name}-{escape(value)}"
    return (
        f'<span class="toggle"{attributes}><input type="checkbox" name="{name}" id="{key}" '
        f'value="{escape(value)}" checked><span class="swatch" id="swatch-{key}">{line}</span>'
        f'<label for="{key}">{escape(label)}</label></span>'
    )


def _facts(facts: Iterable[tuple[str, str]]) -> str:
    lines = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in facts)
    return f'<dl class="facts">{lines}</dl>'


def _code(text: str) -> str:
    return f'<pre tabindex="0"><code>{escape(text)}</code></pre>'


def _numeric(number: bool) -> str:
    return ' class="number"' if number else ""

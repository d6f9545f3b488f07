"""The page as text: what it says, what it escapes, and that it asks nobody for anything."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

import hockeystick as hs
from hockeystick.errors import InvalidParameter, MissingExtra
from hockeystick.report import result_row, upper_text
from hockeystick.report.comparison_report import ComparisonReport, comparison_report
from hockeystick.report.page import check_page_file, page_html, report_figure, write_page
from hockeystick.report.recommendation import recommended
from hockeystick.report.reproduction import OptimizerSetting
from report.small_comparison import DELTA, EXAMPLES, small_report

pytestmark = pytest.mark.slow
MOST_BYTES = 6_000_000
# Attributes by which a page makes a browser fetch something.
FETCHING = {"src", "srcset", "href", "action", "poster", "data", "formaction", "background"}
NASTY = '</script><script>alert(1)</script><img src=x onerror="alert(1)">&'


class Parts(HTMLParser):
    """The tags of a page, the addresses in them, and its visible text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.text = ""
        self.inside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember the tag and where it points."""
        self.tags.append(tag)
        self.inside.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in FETCHING]

    def handle_endtag(self, tag: str) -> None:
        """What follows is outside of it."""
        while self.inside and self.inside.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        """Text that a reader sees."""
        if not {"script", "style"} & set(self.inside):
            self.text += data


def parsed(report: ComparisonReport) -> Parts:
    """The page of the report, taken apart."""
    parts = Parts()
    parts.feed(page_html(report))
    return parts


def test_nothing_is_fetched() -> None:
    """All addresses are inside the page, style sheets have none, and a policy forbids others."""
    html = page_html(small_report())
    parts = parsed(small_report())
    assert parts.addresses
    assert all(address.startswith(("#", "data:")) for address in parts.addresses)
    style = html[html.index("<style>") : html.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style
    assert "default-src 'none'" in html
    own = html[html.rindex("<script>") :]
    assert not re.search(r"https?:|fetch\(|XMLHttpRequest|import\(", own)


def test_the_page_is_small_enough_and_complete(tmp_path: Path) -> None:
    """One file under six megabytes, and nothing beside it."""
    path = tmp_path / "report.html"
    write_page(small_report(), path)
    assert list(tmp_path.iterdir()) == [path]
    assert path.stat().st_size < MOST_BYTES
    assert path.read_text(encoding="utf-8").rstrip().endswith("</html>")


def test_numbers_are_those_of_the_comparison() -> None:
    """The data are what --json prints, the table is what the terminal shows."""
    report = small_report()
    html = page_html(report)
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    assert found is not None
    content = json.loads(found[1])
    expected = [result_row(one, EXAMPLES) for one in report.compared]
    assert content["results"] == json.loads(json.dumps(expected))
    for one, shown in zip(report.families, content["families"], strict=True):
        best = one.family.best
        assert shown["noise"] == best.calibration.noise_multiplier
        assert shown["epsilon"] == best.answer.value
        assert shown["mse"] == best.mean_squared_error
    for one in report.compared:
        assert f'<td class="number">{upper_text(one.calibration.noise_multiplier)}</td>' in html
        assert f'<td class="number">{upper_text(one.mean_squared_error)}</td>' in html


def test_the_recommendation_can_be_run() -> None:
    """The gain over plain DP-SGD, what it does not mean, the command and the whole script."""
    report = small_report()
    advice, text = report.recommendation, parsed(report).text
    assert advice.baseline is not None
    assert advice.baseline.plan.sampling.name == "poisson"
    for part in (advice.setting, advice.gain[1:], advice.caveat, advice.command, advice.python):
        assert part in text
    assert "make_private(" in text
    assert "run.statement(delta=1e-05)" in text


def test_the_optimizer_is_named() -> None:
    """In the heading, in the caveat and in the fine print."""
    report = small_report()
    setting = OptimizerSetting(0.9, "cosine")
    other = replace(report, recommendation=replace(report.recommendation, optimizer=setting))
    assert parsed(other).text.count("SGD with momentum 0.9 and cosine learning rates") >= 3


def test_users_are_named() -> None:
    """The page of a comparison for users says so, and the script has whose the examples are."""
    sizes = {"examples": 40, "batch_size": 10}
    found = hs.compare(**sizes, steps=4, epsilon=2.0, delta=1e-3, examples_per_user=5, quick=True)
    advice = recommended(found, examples=40, examples_per_user=5)
    report = comparison_report(found, **sizes, recommendation=advice, estimates=False)
    text = parsed(report).text
    assert "40 examples, 5 for each user" in text
    assert "users with 5 examples each" in text
    assert "attribution=users" in text


def test_kinds_and_fine_print_are_there() -> None:
    """Each family and curve has its kind; adjacency, unit, method and versions are stated."""
    text = parsed(small_report()).text
    for report in small_report().families:
        assert f"{report.family.label} ({report.family.best.answer.kind})" in text
    for word in (
        "zero-out / add-remove",
        "adjacency",
        "unit",
        "asymptotic",
        "estimate",
        "verified",
    ):
        assert word in text
    assert "renyi" in text
    assert re.search(r"hockeystick \d+\.\d+.*plotly \d+", text)
    assert "seed 1" in text
    assert "--method monte-carlo --dry-run" in text
    assert "hs.calibrate(plan, epsilon=2.0, delta=1e-05)" in text


def test_whatever_comes_in_is_escaped() -> None:
    """A label that tries to be a tag stays a label, in the text and in the data."""
    report = small_report()
    first = report.families[0]
    nasty = replace(first, family=replace(first.family, label=NASTY))
    plain = parsed(report)
    attacked = parsed(replace(report, families=(nasty, *report.families[1:])))
    assert attacked.tags == plain.tags
    assert NASTY in attacked.text
    html = page_html(replace(report, families=(nasty, *report.families[1:])))
    assert NASTY not in html


def test_controls_have_labels() -> None:
    """Every control is named, and the page can be skipped to."""
    html = page_html(small_report())
    controls = re.findall(r'<(?:input|select)[^>]* id="([^"]+)"', html)
    assert len(controls) >= 8
    for control in controls:
        assert f'for="{control}"' in html
    assert '<a class="skip" href="#main">' in html
    assert '<html lang="en">' in html


@pytest.mark.parametrize("name", ["report", "report.txt", "no/report.html", ".html"])
def test_impossible_files_are_refused_early(tmp_path: Path, name: str) -> None:
    """Other suffixes and missing directories, before anything is computed."""
    with pytest.raises(InvalidParameter, match="html must be"):
        check_page_file("html", tmp_path / name)


def test_a_missing_plotly_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says which extra to install."""
    monkeypatch.setitem(sys.modules, "plotly", None)
    with pytest.raises(MissingExtra, match=r"hockeystick\[report\]"):
        check_page_file("html", tmp_path / "report.html")


def test_a_failure_while_writing_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a page is none."""

    def fails(report: ComparisonReport) -> str:
        raise RuntimeError

    monkeypatch.setattr("hockeystick.report.page.page_html", fails)
    with pytest.raises(RuntimeError):
        write_page(small_report(), tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_the_page_has_the_words_of_the_table() -> None:
    """Noise without correlation is "independent" in choices, facts and the table alike."""
    text = parsed(small_report()).text
    assert "independent" in text
    assert "identity" not in text
    assert "factorization" not in text


def test_all_panels_are_there() -> None:
    """Six panels with their kinds, and the numbers of the report in them."""
    report = small_report()
    first = report.families[0]
    panels = report_figure(report, title="the run").axes
    assert len(panels) == 6
    errors, noise, profile, attack, raster, sizes = panels
    lines = {line.get_label() for line in errors.get_lines()}
    assert {f"{one.family.label} (proven)" for one in report.families} <= lines
    curves = {line.get_label() for line in noise.get_lines()}
    assert {f"{one.label} ({one.kind})" for one in first.curves} <= curves
    assert profile.get_lines()[1].get_ydata()[0] == DELTA
    assert attack.get_xlabel() == "false positive rate"
    assert first.batches is not None
    assert raster.collections[0].get_offsets().shape[0] == len(first.batches.joined)
    assert tuple(sizes.get_lines()[0].get_ydata()) == first.batches.sizes


def test_risk_of_every_family():
    """Advantage, true positive rate and Bayes risk, never better than the guarantee's own."""
    report = small_report()
    page = page_html(report)
    found = re.findall(
        r"advantage at most ([\d.]+); true positive rate at most ([\d.]+) at a false one of 0.001; "
        r"Bayes risk at least ([\d.]+) for a prior",
        page,
    )
    assert len(found) == len(report.families)
    for texts, one in zip(found, report.families, strict=True):
        advantage, rate, risk = map(float, texts)
        guarantee = one.family.best.calibration.guarantee
        exact = guarantee.answer(epsilon=0.0).lower
        assert advantage >= (guarantee.advantage() if exact is None else exact)
        assert rate >= guarantee.true_positive_rate(0.001) * (1 - 1e-3)
        assert risk <= 0.5
        assert risk == pytest.approx((1 - advantage) / 2, abs=1e-4)
        assert advantage <= guarantee.advantage() + 0.03

"""The figures of the report as one static picture."""

from __future__ import annotations

import pytest

from hockeystick.report.page import report_figure
from report.small_comparison import DELTA, small_report

pytestmark = pytest.mark.slow


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

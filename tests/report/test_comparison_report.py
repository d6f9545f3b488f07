"""What the report of a comparison collects."""

from __future__ import annotations

import math
import shlex
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.cli.main import main
from hockeystick.errors import InvalidParameter
from hockeystick.report import upper_text
from hockeystick.report.comparison_report import FamilyReport, comparison_report
from hockeystick.report.figure_data import MOST_EXAMPLES, PrivacyPoints, simulated_batches
from hockeystick.report.page import report_figure
from hockeystick.report.reproduction import commands, python_code, verifying_command
from report.small_comparison import (
    BATCH_SIZE,
    DELTA,
    EPSILON,
    EXAMPLES,
    STEPS,
    compared,
    plans,
    small_report,
)

pytestmark = pytest.mark.slow


def family(name: str) -> FamilyReport:
    """The family whose label starts with the name."""
    return next(one for one in small_report().families if one.family.label.startswith(name))


def test_families_come_in_the_order_of_their_errors() -> None:
    """The recommended setting is the first row of the comparison."""
    report = small_report()
    errors = [one.family.best.mean_squared_error for one in report.families]
    assert errors == sorted(errors)
    assert report.best is report.families[0].family.best is compared()[0]
    assert len(report.families) == 4


def test_curves_are_the_method_s_own_numbers() -> None:
    """Each point is within the accuracy of the curve above what the method proves."""
    for report in small_report().families:
        best = report.family.best
        for curve in report.curves:
            for noise, epsilon in list(zip(curve.noise, curve.epsilon, strict=True))[::3]:
                guarantee = hs.account(best.plan, noise_multiplier=noise, method=curve.label)
                assert curve.kind == guarantee.kind
                exact = guarantee.epsilon(DELTA)
                assert exact * (1 - 2e-3) <= epsilon <= exact * 1.05


def test_every_cheap_method_has_a_curve() -> None:
    """Those that need no draws; the kinds are those of `methods`."""
    for report in small_report().families:
        kinds = dict(hs.methods(report.family.best.plan))
        kinds.pop("monte-carlo", None)
        drawn = {curve.label: curve.kind for curve in report.curves}
        assert drawn.items() <= kinds.items()
        assert set(kinds) - set(drawn) == set(report.not_drawn)
    assert {c.kind for c in family("poisson").curves} == {"proven", "asymptotic"}


def test_the_calibrated_point_lies_on_its_curve() -> None:
    """At the noise that was found the curve has the epsilon that was reached."""
    for report in small_report().families:
        best = report.family.best
        (curve,) = [c for c in report.curves if c.label == best.answer.method]
        middle = curve.noise.index(best.calibration.noise_multiplier)
        assert curve.epsilon[middle] == best.answer.value <= EPSILON


def test_error_curves_pass_through_the_comparison() -> None:
    """At the target they have the error of the table, and they fall."""
    for report in small_report().families:
        drawn = np.isfinite(report.error.error)
        epsilon, error = np.array(report.error.epsilon)[drawn], np.array(report.error.error)[drawn]
        at_target = math.exp(np.interp(math.log(EPSILON), np.log(epsilon), np.log(error)))
        assert at_target == pytest.approx(report.family.best.mean_squared_error, rel=0.01)
        assert np.all(np.diff(error) < 0)


def test_points_of_the_profile_are_proven() -> None:
    """None is below the proven lower bound, and they are convex in e^epsilon."""
    for report in small_report().families:
        best, points = report.family.best, report.points
        noise = best.calibration.noise_multiplier
        guarantee = hs.account(best.plan, noise_multiplier=noise, accuracy=5e-3)
        for epsilon, delta in list(zip(points.epsilon, points.delta, strict=True))[1::5]:
            answer = guarantee.answer(delta=delta)
            lower = answer.value * 0.99 if answer.lower is None else answer.lower
            assert lower <= epsilon <= answer.value * 1.05
        gamma = np.exp(points.epsilon)
        slopes = np.diff(points.delta) / np.diff(gamma)
        assert np.all(slopes < 0)
        assert all(before <= after * (1 - 1e-9) for before, after in pairwise(slopes))
        assert min(points.delta) <= DELTA / 10


@pytest.mark.parametrize("name", ["poisson", "cyclic-poisson", "fixed batches"])
def test_the_attack_reading_is_a_bound_and_close(name: str) -> None:
    """Never below the worse direction of the profile itself, and above it by a few per cent."""
    best, rates = family(name).family.best, [1e-6, 1e-4, 1e-3, 0.01, 0.1, 0.5]
    guarantee = hs.account(best.plan, noise_multiplier=best.calibration.noise_multiplier)
    profile = guarantee.profile
    exact = np.max(
        [
            hs.fdp.true_positive_rate(one, false_positive_rate=rates)
            for one in (profile, profile.reverse())
        ],
        axis=0,
    )
    read = family(name).points.true_positive_rate(rates)
    assert np.all(read >= exact * (1 - 2e-3))
    assert np.all(read <= exact * 1.06)
    assert family(name).points.true_positive_rate(1.0) == 1.0


def test_the_attack_reading_at_known_points() -> None:
    """Two points by hand, rounded up; rates outside of [0, 1] are refused."""
    points = PrivacyPoints((0.0, 1.0), (0.4, 1e-5), "proven")
    e = math.e
    expected = [1e-5, 1e-5 + e * 1e-3, 0.7, 1 - (1 - 1e-5 - 0.9) / e]
    read = points.true_positive_rate([0.0, 1e-3, 0.3, 0.9])
    assert read == pytest.approx(expected, rel=1e-9)
    assert np.all(read >= np.array(expected) * (1 - 1e-15))
    assert points.true_positive_rate(1e-3) == read[1]
    for bad in (math.nan, -0.1, 1.1):
        with pytest.raises(InvalidParameter, match="false_positive_rate"):
            points.true_positive_rate(bad)


def test_batches_are_those_of_the_plan() -> None:
    """Drawn with the stated seed: sizes and participations."""
    for report in small_report().families:
        batches, plan = report.batches, report.family.best.plan
        assert batches is not None
        drawn = list(plan.batches(examples=EXAMPLES, rng=batches.seed))
        assert list(batches.sizes) == [batch.size for batch in drawn]
        assert batches.expected_size == pytest.approx(BATCH_SIZE, rel=1e-12)
        expected = {
            (row, step)
            for step, batch in enumerate(drawn)
            for row, example in enumerate(batches.examples)
            if example in batch
        }
        assert set(batches.joined) == expected


def test_rows_of_a_raster_belong_to_different_groups() -> None:
    """Even spacing would show one group of a cyclic scheme only."""
    plan = hs.Plan(sampling=hs.CyclicPoisson(rate=1.0, groups=10), steps=10)
    batches = simulated_batches(plan, examples=1000, seed=1)
    assert batches is not None
    assert len({example % 10 for example in batches.examples}) >= 7


def test_huge_data_are_not_simulated() -> None:
    """Nothing is drawn, and the report says so by leaving the part out."""
    assert simulated_batches(plans()[0], examples=MOST_EXAMPLES + 1, seed=1) is None


def test_all_steps_are_shown_or_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of 2,344 steps has all of them; of one that is too long it says which are shown."""
    long = hs.Plan(sampling=hs.Poisson(rate=0.1), steps=2_344)
    batches = simulated_batches(long, examples=10, seed=1)
    assert batches is not None
    assert (len(batches.sizes), batches.part) == (2_344, "")
    monkeypatch.setattr("hockeystick.report.figure_data.MOST_STEPS", 1_000)
    batches = simulated_batches(long, examples=10, seed=1)
    assert batches is not None
    assert batches.part == "first 1,000 of 2,344 steps"


def test_pictures_have_the_digits_of_the_table() -> None:
    """The noise beside the dot is the text of the table, which is rounded up."""
    figure = report_figure(small_report(), title="t")
    noise = small_report().best.calibration.noise_multiplier
    texts = [text.get_text() for axes in figure.axes for text in axes.texts]
    assert f"noise {upper_text(noise)}" in texts


def test_estimates_are_where_nothing_is_exact() -> None:
    """Below the proven noise, and only for the scheme that draws can say more about."""
    for report in small_report().families:
        open_question = report.family.label.startswith("min-sep")
        assert report.can_be_verified == open_question
        assert (report.estimated_noise is not None) == open_question
    report = family("min-sep")
    assert report.estimated_noise is not None
    proven = report.family.best.calibration.noise_multiplier
    assert 0.5 * proven < report.estimated_noise < proven


@pytest.mark.parametrize("index", range(4))
def test_the_python_reproduces_the_setting(index: int, capsys: pytest.CaptureFixture[str]) -> None:
    """It prints noise, epsilon and error of the table."""
    one = compared()[index]
    exec(python_code(one), {})
    noise, epsilon, error = map(float, capsys.readouterr().out.split())
    assert noise == one.calibration.noise_multiplier
    assert epsilon == one.answer.value
    assert error == one.mean_squared_error


@pytest.mark.parametrize("index", range(4))
def test_the_commands_describe_the_plan(
    index: int, capsys: pytest.CaptureFixture[str], tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The noise is accepted at its epsilon, and the batches are those of the plan."""
    monkeypatch.chdir(tmp_path)
    one = compared()[index]
    calibrate, epsilon, tradeoff, batches = commands(one, examples=EXAMPLES, seed=1)
    for line in (epsilon.replace(" --method all", ""), batches):
        words = shlex.split(line)
        assert words[0] == "hockeystick"
        assert main([*words[1:], "--json"]) == 0
    output = capsys.readouterr().out
    assert f'"noise_multiplier": {one.calibration.noise_multiplier!r}' in output
    drawn = np.load("batches.npz")["offsets"]
    assert drawn[-1] == sum(b.size for b in one.plan.batches(examples=EXAMPLES, rng=1))
    assert f"--epsilon {EPSILON!r} --delta {DELTA!r}" in calibrate
    assert tradeoff.split()[1] == "tradeoff"
    assert verifying_command(one).startswith(f"{calibrate} --method monte-carlo")
    assert f"--steps {STEPS}" in calibrate


def test_nan_is_refused() -> None:
    """Whatever the parameter."""
    with pytest.raises(InvalidParameter, match="batch_size"):
        comparison_report(compared(), examples=EXAMPLES, batch_size=math.nan)
    with pytest.raises(InvalidParameter, match="examples"):
        comparison_report(compared(), examples=math.nan, batch_size=1.0)  # type: ignore[arg-type]


def test_no_batches_is_no_obstacle() -> None:
    """The picture and the page do without them."""
    from hockeystick.report.page import page_html, report_figure

    report = small_report()
    bare = replace(report, families=tuple(replace(f, batches=None) for f in report.families))
    assert '"batches": null' in page_html(bare)
    assert len(report_figure(bare, title="t").axes) == 6

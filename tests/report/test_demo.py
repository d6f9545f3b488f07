"""The demonstration, at reduced size."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import hockeystick as hs
from hockeystick.guarantee import Answer
from hockeystick.report.demo import Calibrated, DemoRun, demo, main, verdict

SMALL = DemoRun(examples=1_000, batch_size=100, steps=20, epsilon=4.0, delta=1e-4, bands=2)


@pytest.fixture(autouse=True)
def _pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """Output as in a pipe of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.slow
def test_the_demo_prints_a_table_and_writes_the_plot(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Every scheme has its row; the noise meets the target; the plot is where it is said to be."""
    path = tmp_path / "demo.png"
    found = demo(SMALL, output=path)
    captured = capsys.readouterr()
    assert captured.err == ""
    rows = {line.split()[0]: line.split() for line in captured.out.splitlines() if line.split()}
    plain = found[1]
    for row in found:
        name, noise = row.plan.sampling.name, row.calibration.noise_multiplier
        shown = [word for word in rows[name][1:] if word != "(2)"]
        assert shown[0] == ("band-mf" if row.plan.correlated else "independent")
        assert noise <= float(shown[1]) <= 1.0002 * noise
        assert float(shown[2]) == row.batch_size
        assert float(shown[3]) == pytest.approx(100 * row.error / plain.error, rel=0.01)
        assert shown[5] == row.answer.method
        assert 3.99 <= hs.account(row.plan, noise_multiplier=noise).epsilon(1e-4) <= 4.01
    assert [row.label for row in found] == [
        "full-batch",
        "poisson",
        "random-allocation",
        "cyclic-poisson, band-mf",
    ]
    assert [row.batch_size for row in found] == [1000.0, 100.0, 100.0, 100.0]
    assert captured.out.splitlines()[-2].startswith("verdict: ")
    assert captured.out.splitlines()[-1] == f"Plot written to {path.resolve()}"
    assert path.read_bytes().startswith(b"\x89PNG")
    assert all(len(line.rstrip()) <= 80 for line in captured.out.splitlines()[:-2])


def test_the_demo_s_run_is_the_documented_one() -> None:
    """50,000 examples in batches of 500, with the schemes that follow from it."""
    run = DemoRun()
    assert (run.steps, run.epsilon, run.delta) == (2000, 2.0, 1e-5)
    assert [plan.sampling for plan in run.plans()] == [
        hs.FullBatch(),
        hs.Poisson(rate=0.01),
        hs.RandomAllocation(picks=1, out_of=100),
        hs.CyclicPoisson(rate=0.08, groups=8),
    ]
    assert run.plans()[3].strategy == hs.strategies.band_mf(2000, 8)


@pytest.mark.parametrize("best", ["cyclic", "poisson"])
def test_the_verdict_is_about_the_same_batch_size(best: str) -> None:
    """It names the least error beside DP-SGD's, and says what the full batch costs."""
    run = DemoRun(examples=1_000, batch_size=100, steps=20, bands=2)
    noises = {"cyclic": (9.0, 1.0, 1.1, 0.9), "poisson": (9.0, 1.0, 1.1, 5.0)}[best]
    rows = []
    for plan, noise in zip(run.plans(), noises, strict=True):
        guarantee = hs.account(plan, noise_multiplier=noise)
        found = hs.Calibration(noise, guarantee, 2.0, 1e-5, 1)
        size = plan.sampling.expected_batch_size(1_000)
        rows.append(Calibrated(plan, found, Answer(2.0, None, "x", "proven"), size, 0))
    text = verdict(rows)
    if best == "poisson":
        assert text.startswith("verdict: poisson has the least error at this batch size")
    else:
        gain = 100 * (1 - rows[3].error / rows[1].error)
        assert text.startswith(f"verdict: cyclic-poisson, band-mf has {int(gain)} % less error")
    assert text.endswith("the full batch has 19 % less, with 10 times the work.")


def test_errors_are_those_of_the_iterates() -> None:
    """Relative to independent noise and per example: what is averaged over the batch."""
    cyclic = DemoRun(examples=1_000, batch_size=100, steps=20, bands=2).plans()[3]
    found = hs.calibrate(cyclic, epsilon=4.0, delta=1e-4)
    row = Calibrated(cyclic, found, found.guarantee.answer(delta=1e-4), 100.0, 0.0)
    error = found.noise_multiplier**2 * cyclic.strategy.mean_squared_error()
    independent = hs.strategies.identity(20).mean_squared_error()
    assert row.error == pytest.approx(error / independent / 100**2, rel=1e-12)


def test_the_demo_fails_with_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without Matplotlib it says what to install, before any work."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["--output", str(tmp_path / "demo.png")]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1

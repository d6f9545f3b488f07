"""The demonstration, at reduced size."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import hockeystick as hs
from hockeystick.report.demo import DemoRun, demo, main

SMALL = DemoRun(examples=1_000, batch_size=100, steps=20, epsilon=4.0, delta=1e-4, groups=2)


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
    for row in found:
        name, noise = row.plan.sampling.name, row.calibration.noise_multiplier
        assert noise <= float(rows[name][1]) <= 1.0002 * noise
        assert float(rows[name][2]) == row.batch_size
        assert float(rows[name][3]) == pytest.approx(noise / row.batch_size, rel=0.011)
        assert rows[name][4:7] == [row.answer.method, "proven", str(row.calibration.evaluations)]
        assert 3.99 <= hs.account(row.plan, noise_multiplier=noise).epsilon(1e-4) <= 4.01
    assert [row.plan.sampling.name for row in found] == [
        "full-batch",
        "poisson",
        "cyclic-poisson",
        "random-allocation",
    ]
    assert [row.batch_size for row in found] == [1000.0, 100.0, 100.0, 100.0]
    assert captured.out.splitlines()[-1] == f"Plot written to {path.resolve()}"
    assert path.read_bytes().startswith(b"\x89PNG")
    assert all(len(line.rstrip()) <= 80 for line in captured.out.splitlines()[:-1])


def test_the_demo_s_run_is_the_documented_one() -> None:
    """50,000 examples in batches of 500, with the schemes that follow from it."""
    run = DemoRun()
    assert (run.steps, run.epsilon, run.delta) == (2000, 2.0, 1e-5)
    assert run.schemes() == [
        hs.FullBatch(),
        hs.Poisson(rate=0.01),
        hs.CyclicPoisson(rate=0.16, groups=16),
        hs.RandomAllocation(picks=1, out_of=100),
    ]


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

"""A sign of life on a terminal, silence in a pipe."""

from __future__ import annotations

import threading

import pytest

from hockeystick.report import _Timed, progress


def test_a_pipe_stays_silent(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is written to either stream, and nothing runs in the background."""
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    before = threading.active_count()
    with progress("Working ...") as update:
        update("Still working ...")
        assert threading.active_count() == before
    assert capsys.readouterr() == ("", "")


def test_a_terminal_shows_what_is_being_done(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text goes to standard error, so that standard output stays clean."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    with progress("Working ..."):
        pass
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Working ..." in captured.err


def test_lines_stay_above_the_text(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal each line is printed, brackets included; in a pipe nothing is."""
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    with progress("Working ...") as update:
        update.line("first [1]")
    assert capsys.readouterr() == ("", "")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    with progress("Working ...") as update:
        update.line("first [1]")
    assert "first [1]" in capsys.readouterr().err


def test_the_time_is_shown_after_two_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the present text, in whole seconds."""
    now = [100.0]
    monkeypatch.setattr("hockeystick.report.time.monotonic", lambda: now[0])
    text = _Timed("Working ...")
    assert text.__rich__().plain == "Working ..."
    now[0] = 112.3
    assert text.__rich__().plain == "Working ... (12 s)"

"""Every command line in the README and the docs is one; those that take seconds are run."""

from __future__ import annotations

import re
import shlex

import numpy as np
import pytest
import typer

import hockeystick as hs
from documentation.pages import PAGES, ROOT, SPAN, blocks, name_of, prose
from hockeystick.cli.main import app, main
from in_one_test import in_one_test

PROGRAM = re.compile(r"^\$? ?hockeystick ", re.MULTILINE)
# Words that begin a command line that takes minutes or a network: it is only parsed.
LONG = (
    ["compare"],
    ["data"],
    ["filters"],
    ["reproduce"],
    ["epsilon", "--sampling", "balls-in-bins"],
    ["calibrate", "--sampling", "min-sep"],
)


def words_of(line):
    """The words after the program's name, optional ones included; None if some are left out."""
    line = line.removeprefix("$").strip().replace("[", "").replace("]", "")
    words = shlex.split(line, comments=True)[1:]
    return None if "..." in words or "NAME" in words or len(words) < 2 else words


def lines_of(page):
    """Command lines in plain blocks and in the text of a page."""
    shown = [
        line
        for block in blocks(page)
        if not block.info
        for line in block.text.splitlines()
        if PROGRAM.match(line)
    ]
    spans = [span.strip("`") for span in SPAN.findall(prose(page))]
    return shown + [span for span in spans if PROGRAM.match(span)]


def commands_of(page):
    """The command lines of a page that are complete."""
    return [words for line in lines_of(page) if (words := words_of(line)) is not None]


WITH_COMMANDS = [page for page in PAGES if commands_of(page)]


@in_one_test
@pytest.mark.parametrize("page", WITH_COMMANDS, ids=name_of)
def test_command_lines_are_understood(page):
    """By the parser itself: commands, options, and the types of their values."""
    for words in commands_of(page):
        context = None
        command, rest = typer.main.get_command(app), words
        while rest and hasattr(command, "commands"):
            context = command.make_context(
                "hockeystick", [], parent=context, resilient_parsing=True
            )
            name, command, rest = command.resolve_command(context, rest)
        command.make_context(name, list(rest), parent=context)


def test_command_lines_are_found():
    """In the README, one for each command, and on other pages; a wrong option is noticed."""
    readme = {words[0] for words in commands_of(PAGES[0])}
    assert readme == {command.callback.__name__ for command in app.registered_commands} | {"ledger"}
    assert len(WITH_COMMANDS) > 4
    assert main(["epsilon", "--sampling", "poisson", "--rates", "0.1"]) == 2


def test_targets_of_make_exist():
    """Those that the pages tell the reader to make."""
    rules = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {
        target
        for page in PAGES
        for code in [*SPAN.findall(prose(page)), *(b.text for b in blocks(page) if not b.info)]
        for target in re.findall(r"^`?make ([a-z-]+)", code, re.MULTILINE)
    }
    assert named >= {"demo", "test", "test-long", "check", "docs"}
    assert named <= rules


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the files that the pages talk about."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for file, name in (("budget.db", "default"), ("spending.db", "mnist")):
        with hs.filters.Gaussian(mu=1.0, ledger=file, name=name).request(noise_multiplier=10.0):
            pass
    (tmp_path / "history.json").write_text('{"history": [[1.0, 0.01, 1000]]}')
    plan = hs.Plan(sampling=hs.FullBatch(), steps=2)
    run = hs.training.PrivateRun(
        plan, examples=10, dimension=1, noise_multiplier=1.0, max_grad_norm=1.0
    )
    run.statement(delta=1e-5).save("statement.json")
    audited = hs.audit.Recorder(
        hs.Plan(sampling=hs.Poisson(rate=0.1), steps=20),
        noise_multiplier=1.0,
        max_grad_norm=1.0,
        members=np.arange(200) < 0,
    )
    rng = np.random.default_rng(0)
    for _ in range(20):
        audited.add(rng.normal(size=200))
    audited.save("run.npz")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_COMMANDS, ids=name_of)
def test_short_commands_run(page, folder, capsys):
    """Exit status 0, and what a page shows below a command is what it prints."""
    for words in commands_of(page):
        if any(words[: len(start)] == start for start in LONG):
            continue
        assert main(words) == 0, words
        printed = " ".join(capsys.readouterr().out.split())
        for block in blocks(page):
            first, _, shown = block.text.partition("\n")
            if first.startswith("$") and words_of(first) == words:
                assert " ".join(shown.split()) in printed

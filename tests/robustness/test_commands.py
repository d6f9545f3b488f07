"""The command line, with options of any size: status 0, 1 or 2, and one line for an error."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hockeystick.cli.main import main
from hypothesis_strategies import examples
from robustness.outcomes import outcome
from robustness.values import absurd, counts, deltas, epsilons, noises, rates

pytestmark = pytest.mark.slow

SCHEMES: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "full-batch": {},
    "poisson": {"rate": rates()},
    "cyclic-poisson": {"rate": rates(), "groups": counts(1000)},
    "balls-in-bins": {"bins": counts(1000)},
    "random-allocation": {"picks": counts(5), "out-of": counts(1000)},
    "min-sep": {"rate": rates(), "separation": counts(100)},
    "user-min-sep": {"rate": rates(), "separation": counts(9), "examples-per-user": counts(9)},
    "shuffle": {"batch-size": counts(50), "examples": counts(1000)},
    "lottery": {},
}
STRATEGIES = ("identity", "bsr", "bisr", "magic")


def run(words: list[str]) -> tuple[int, str, str]:
    """Exit status and both streams of a command."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = outcome(lambda: main(words))
    return status, out.getvalue(), err.getvalue()


def assert_proper(words: list[str]) -> None:
    """JSON on success, one line otherwise."""
    status, out, err = run([*words, "--json"])
    assert status in (0, 1, 2), words
    if status == 0:
        json.loads(out, parse_constant=_no_constant)
    else:
        lines = err.strip().splitlines()
        assert len(lines) == 1, (words, err)
        assert lines[0].startswith("error: ")
        # Status 1 is for refusals that depend on the numbers, not for crashes.
        assert status == 2 or not any(name in err for name in UNEXPECTED), (words, err)


UNEXPECTED = ("Warning", "ValueError", "TypeError", "IndexError", "KeyError", "ZeroDivision")


def _no_constant(name: str) -> None:
    raise AssertionError(f"{name} is no JSON")


@st.composite
def runs(draw: st.DrawFn) -> list[str]:
    """The options of a run, most of them right."""
    scheme = draw(st.sampled_from(sorted(SCHEMES)))
    options = {name: draw(values) for name, values in SCHEMES[scheme].items()}
    options |= {"steps": draw(counts(3000)), "method": draw(st.sampled_from(METHODS))}
    strategy = draw(st.sampled_from(STRATEGIES))
    if strategy != "identity":
        options |= {"strategy": strategy, "bands": draw(counts(8))}
    wrong = draw(st.sampled_from([None, None, None, *sorted(options)]))
    if wrong is not None:
        options[wrong] = draw(absurd())
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    return ["--sampling", scheme, "--accuracy", "0.5", "--budget", "1e4", *words]


METHODS = ("auto", "gaussian", "profile", "gaussian", "poisson-reduction", "luck")


@examples(32)
@given(runs(), noises() | absurd(), deltas() | absurd())
def test_epsilon(words: list[str], noise: object, delta: object) -> None:
    """`hockeystick epsilon`."""
    assert_proper(["epsilon", *words, "--noise-multiplier", str(noise), "--delta", str(delta)])


@examples(20)
@given(runs(), noises() | absurd(), epsilons() | absurd())
def test_delta(words: list[str], noise: object, epsilon: object) -> None:
    """`hockeystick delta`."""
    assert_proper(["delta", *words, "--noise-multiplier", str(noise), "--epsilon", str(epsilon)])


@examples(40)
@given(st.lists(st.text(max_size=12) | st.sampled_from(["epsilon", "--steps", "-h"]), max_size=5))
def test_any_words(words: list[str]) -> None:
    """Words that nobody would type."""
    status, _, err = run(words)
    assert status in (0, 2), (words, err)

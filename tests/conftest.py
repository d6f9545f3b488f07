"""Settings of the whole suite."""

from __future__ import annotations

import gc
import importlib.util
import os
from collections.abc import Iterator

# Tests run side by side, one process a core: threads of linear algebra would wait for each other,
# and the CPU time of what is measured would depend on them. Before NumPy is loaded.
for _library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402
from hypothesis.internal.conjecture import providers  # noqa: E402

from hypothesis_strategies import TIMES, examples  # noqa: E402

# Property tests that do not say how many examples they draw.
settings.register_profile("suite", examples(25))
settings.load_profile("suite")
# Hypothesis also draws constants from whatever modules happen to be loaded; then the examples of a
# test would depend on which tests ran before it, and on every number in the source.
if hasattr(providers, "_get_local_constants"):
    providers._get_local_constants = providers.Constants


# Without PyTorch (docs/installing.md: no small build of it for every Python) its tests are left out
# and named in the summary.
PYTORCH = all(importlib.util.find_spec(name) for name in ("torch", "opacus"))
NEED_PYTORCH = [
    "extras",
    "pytorch",
    "reproductions/test_digits.py",
    "reproductions/test_experiments.py",
    "reproductions/test_linear_heads.py",
]
collect_ignore = [] if PYTORCH else NEED_PYTORCH

# Objects of collected tests stay; looking through them for garbage is an eighth of collecting them.
gc.set_threshold(100_000, 50, 100)


def pytest_collection_finish() -> None:
    """What was collected is never garbage."""
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Property tests with more examples than usual belong to the long run."""
    for item in items:
        if TIMES > 1 and getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker(pytest.mark.long)


@pytest.fixture(autouse=True, scope="session")
def _state_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keys of checkpoints are made in a folder of the test run, not in the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(autouse=True, scope="session")
def _commands_made_once() -> Iterator[None]:
    """Typer reads all signatures again in every call, which takes longer than most commands.

    Commands, schemes and strategies that are registered later make them anew.
    """
    import typer

    made, make = {}, typer.main.get_command

    def get_command(app: typer.Typer) -> object:
        from hockeystick.schemes import SCHEMES
        from hockeystick.strategies import FACTORIZATIONS

        known = id(app), len(app.registered_commands), *SCHEMES, *FACTORIZATIONS
        if known not in made:
            made[known] = make(app)
        return made[known]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("typer.main.get_command", get_command)
        yield


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What was left out; how many calls the tests in robustness/ made; their reports say so."""
    if not PYTORCH:
        terminalreporter.write_line(
            f"PyTorch and Opacus are not installed: left out {', '.join(NEED_PYTORCH)}"
        )
    reports = [one for some in terminalreporter.stats.values() for one in some]
    last = [one.user_properties for one in reports if getattr(one, "when", None) == "teardown"]
    made = sum(value for each in last for name, value in each if name == "cases")
    if made:
        terminalreporter.write_line(f"robustness: {made:,} cases")

"""What a release says about itself agrees: versions, badges, dependencies, workflows."""

from __future__ import annotations

import re
import tomllib

import hockeystick
import lowest
import pythons
from documentation.pages import DOCS, ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
# For those who work on the package; a user never installs them.
TOOLS = {"test", "test-core", "test-extras", "dev", "docs", "bench", "demo", "release"}
REQUIREMENTS = [*PROJECT["dependencies"], *(one for extra in EXTRAS.values() for one in extra)]


def test_one_version():
    """In the package, in the citation, and as the newest heading of the changelog."""
    citation = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    heading = re.search(r"^## \[?(\d\S*?)\]? ", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert citation is not None
    assert heading is not None
    assert citation[1] == heading[1] == hockeystick.__version__


def test_no_exact_pins():
    """A range with a floor for everything; exact versions are in constraints.txt alone."""
    for requirement in REQUIREMENTS:
        assert "==" not in requirement.partition(";")[0], requirement
        assert requirement.startswith("hockeystick[") or ">=" in requirement, requirement
    pinned = re.findall(r"^[\w-]+==[\d.]+$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    assert "torch==2.13.0" in pinned


def test_the_badge_shows_the_promised_pythons():
    """And the workflow tests them."""
    versions = pythons.promised()
    assert f"python-{'_%7C_'.join(versions)}-blue" in (ROOT / "README.md").read_text()
    workflow = (ROOT / ".github/workflows/tests.yml").read_text()
    quoted = ", ".join(f'"{version}"' for version in versions)
    assert f"python: [{quoted}]" in workflow


def test_the_page_has_every_extra_and_dependency():
    """A row for each extra of users, and a reason with the floor of each package."""
    page = (DOCS / "installing.md").read_text()
    for extra in set(EXTRAS) - TOOLS:
        assert f"| `{extra}` |" in page
    for version in set(lowest.floors().values()):
        assert re.search(rf"\| {re.escape(version)}(\.0)? \|", page), version


def test_workflows_call_targets_that_exist():
    """`make` with a target of the Makefile."""
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    called = set()
    for workflow in (ROOT / ".github/workflows").glob("*.yml"):
        called |= set(re.findall(r"\bmake ([\w-]+)", workflow.read_text()))
    assert called
    assert called <= targets

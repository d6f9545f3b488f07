"""Try a wheel and an sdist as a user would: `python tests/installed.py dist/*`.

Each is installed into a clean environment outside of the repository; pip finds nothing broken, the
command answers, the documentation is there, and a user's script passes `mypy --strict`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

EPSILON = "epsilon --sampling poisson --rate 0.01 --steps 2000 --noise-multiplier 1.2 --delta 1e-5"
SCRIPT = """
from __future__ import annotations

import hockeystick as hs


def noise(epsilon: float) -> float:
    plan = hs.Plan(sampling=hs.Poisson(rate=0.01), steps=100)
    return hs.calibrate(plan, epsilon=epsilon, delta=1e-5).noise_multiplier


def spent(step: hs.Profile) -> float:
    return step.subsample(0.01).self_compose(100).epsilon(1e-5)


reveal_type(noise(1.0))
guarantee: hs.Guarantee = hs.account(
    hs.Plan(sampling=hs.FullBatch(), steps=1), noise_multiplier=1.0
)
print(guarantee.epsilon(delta=1e-5), spent(hs.Profile.gaussian(noise_multiplier=1.0)))
"""
# The same with a mistake in it: types that are not known would let it pass.
WRONG = SCRIPT.replace("epsilon=epsilon, delta", "epsilon=[epsilon], delta")


def main(archives: list[str]) -> None:
    """Every archive in an environment of its own; the first failure ends it."""
    for archive in archives:
        with tempfile.TemporaryDirectory() as folder:
            check(Path(archive).resolve(), Path(folder))
        print(f"{Path(archive).name}: installs, runs, has types")  # noqa: T201


def check(archive: Path, folder: Path) -> None:
    """Install and use one archive."""
    environment = folder / "environment"
    run(folder, sys.executable, "-m", "venv", environment)
    python = environment / "bin" / "python"
    run(folder, python, "-m", "pip", "install", "--quiet", archive)
    run(folder, python, "-m", "pip", "check")
    command = environment / "bin" / "hockeystick"
    expect("1.86", run(folder, command, *EPSILON.split()))
    expect("Quick start", run(folder, command, "docs", "quick-start"))
    expect("random_allocation", run(folder, command, "reproduce"))
    run(folder, python, "-m", "pip", "install", "--quiet", "mypy")
    for name, text in (("script.py", SCRIPT), ("wrong.py", WRONG)):
        (folder / name).write_text(text)
    expect('"float"', run(folder, python, "-m", "mypy", "--strict", "script.py"))
    expect("arg-type", run(folder, python, "-m", "mypy", "--strict", "wrong.py", status=1))


def expect(part: str, text: str) -> None:
    """`part` is in what was printed."""
    if part not in text:
        sys.exit(f"{part!r} is not in:\n{text}")


def run(folder: Path, *command: object, status: int = 0) -> str:
    """What the command prints, run outside of the repository."""
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != status:
        sys.exit(f"{' '.join(words)}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main(sys.argv[1:])

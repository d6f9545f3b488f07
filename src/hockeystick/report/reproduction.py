"""How a row of the comparison is made again: commands and Python."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import MISSING, fields
from typing import Any

from hockeystick.accounting.compare import Compared
from hockeystick.plan import Plan
from hockeystick.schemes import Sampling

__all__ = ["commands", "python_code", "verifying_command"]

# Parameters that the command line takes from the scheme itself.
FOUND_BY_THE_COMMAND = ("separation", "participations")


def commands(one: Compared, *, examples: int, seed: int) -> list[str]:
    """Its noise, its epsilon at that noise, and batches as they are drawn for a look."""
    found = one.calibration
    plan = _plan_words(one.plan)
    noise = f"--noise-multiplier {found.noise_multiplier!r}"
    draw = [*_sampling_words(one.plan.sampling), "--steps", str(one.plan.steps)]
    return [
        f"hockeystick calibrate {plan} --epsilon {found.epsilon!r} --delta {found.delta!r}",
        f"hockeystick epsilon {plan} {noise} --delta {found.delta!r} --method all",
        f"hockeystick tradeoff {plan} {noise}",
        f"hockeystick batches {shlex.join(draw)} --examples {examples} --seed {seed} "
        "--output batches.npz",
    ]


def verifying_command(one: Compared) -> str:
    """Draws that may verify less noise; `--dry-run` says what they would take."""
    found = one.calibration
    return (
        f"hockeystick calibrate {_plan_words(one.plan)} --epsilon {found.epsilon!r} "
        f"--delta {found.delta!r} --method monte-carlo --dry-run"
    )


def python_code(one: Compared, *, examples: int) -> str:
    """A script that prints the noise multiplier, the epsilon that it reaches and the error."""
    plan, found = one.plan, one.calibration
    sampling = ", ".join(f"{name}={value!r}" for name, value in _settings(plan.sampling))
    strategy = plan.strategy
    parameters = "".join(f", {name}={value!r}" for name, value in strategy.parameters.items())
    made = f"hs.strategies.{strategy.name.replace('-', '_')}({plan.steps}{parameters})"
    return f"""\
import hockeystick as hs

plan = hs.Plan(
    sampling=hs.{type(plan.sampling).__name__}({sampling}),
    steps={plan.steps},
    strategy={made},
)
found = hs.calibrate(plan, epsilon={found.epsilon!r}, delta={found.delta!r})
print(found.noise_multiplier, found.guarantee.epsilon({found.delta!r}))
print(found.noise_multiplier**2 * plan.strategy.mean_squared_error())
batches = plan.batches(examples={examples})  # those that were accounted
"""


def _settings(sampling: Sampling) -> Iterator[tuple[str, Any]]:
    """The scheme's parameters that are not at their defaults."""
    for field in fields(sampling):
        value = getattr(sampling, field.name)
        if field.default is MISSING or value != field.default:
            yield field.name, value


def _sampling_words(sampling: Sampling) -> list[str]:
    words = ["--sampling", sampling.name]
    for name, value in _settings(sampling):
        option = f"--{name.replace('_', '-')}"
        words += [option] if value is True else [option, repr(value)]
    return words


def _plan_words(plan: Plan) -> str:
    words = [*_sampling_words(plan.sampling), "--steps", str(plan.steps)]
    if plan.correlated:
        words += ["--strategy", plan.strategy.name]
        for name, value in plan.strategy.parameters.items():
            if name not in FOUND_BY_THE_COMMAND:
                words += [f"--{name}", str(value)]
    return shlex.join(words)

"""Options for parameters of schemes, strategies and the optimizer, and for an attacker's success.

Those of schemes and strategies are read from the classes and functions; the optimizer has a name,
momentum and learning rates; the success of an attacker stands in the place of epsilon and delta.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, get_args, get_type_hints

import numpy as np
import numpy.typing as npt
import typer

from hockeystick.cli import QUESTION, RUN
from hockeystick.errors import InvalidParameter
from hockeystick.report.reproduction import OptimizerSetting
from hockeystick.schemes import SCHEMES
from hockeystick.strategies import FACTORIZATIONS
from hockeystick.strategies.iterates import SCHEDULES, learning_rates

__all__ = [
    "NOTHING_SAID",
    "Optimizer",
    "OptimizerOptions",
    "Risk",
    "RiskTargets",
    "WantedDelta",
    "WantedEpsilon",
    "further_options",
    "names_of_strategies",
]

# What the text of an option can be turned into.
PLAIN = (bool, int, float, str)


def further_options(known: Iterable[str], *, panel: str) -> list[inspect.Parameter]:
    """Options for what registered schemes and strategies take besides the known names.

    All fields of a scheme, and what a strategy cannot do without, if their types are plain; None
    stands for an option that is left out. The help is what the docstring says about the parameter,
    up to the first full stop. A field may spell its flags: `metadata={"flags": "--this/--that"}`.
    """
    owners = *SCHEMES.values(), *FACTORIZATIONS.values()
    return list(_further_options(owners, tuple(known), panel))


@cache  # Typer reads every signature several times
def _further_options(
    owners: tuple[Callable[..., Any], ...], known: tuple[str, ...], panel: str
) -> tuple[inspect.Parameter, ...]:
    found: dict[str, inspect.Parameter] = {}
    for owner in owners:
        hints = get_type_hints(owner.__init__ if inspect.isclass(owner) else owner)
        for name in _parameters_of(owner):
            kind = _plain(hints[name])
            if name not in (*known, *found) and kind is not None:
                option = typer.Option(
                    *_flags(owner, name, kind), help=_described(owner, name), rich_help_panel=panel
                )
                found[name] = inspect.Parameter(
                    name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=None,
                    annotation=Annotated[kind | None, option],
                )
    return tuple(found.values())


def names_of_strategies() -> set[str]:
    """The parameters that strategies cannot do without and no scheme has."""
    of_schemes = {field.name for scheme in SCHEMES.values() for field in fields(scheme)}
    return {name for f in FACTORIZATIONS.values() for name in _needed(f)} - of_schemes


def _parameters_of(owner: Callable[..., Any]) -> list[str]:
    """All fields of a scheme, what a strategy cannot do without."""
    if is_dataclass(owner):
        return [field.name for field in fields(owner) if field.init]
    return _needed(owner)


def _needed(factorization: Callable[..., Any]) -> list[str]:
    """The parameters without a default, beside the number of steps."""
    parameters = inspect.signature(factorization).parameters.values()
    return [p.name for p in parameters if p.default is p.empty and p.name != "steps"]


def _flags(owner: Callable[..., Any], name: str, kind: type) -> list[str]:
    """How the option is spelled, where Typer would spell it otherwise: no switch has a --no."""
    field = getattr(owner, "__dataclass_fields__", {}).get(name)
    if field is not None and "flags" in field.metadata:
        return [str(field.metadata["flags"])]
    return [f"--{name.replace('_', '-')}"] if kind is bool else []


def _plain(hint: Any) -> type | None:
    """The type of an option for this type of parameter; None if it has none."""
    kinds = [one for one in (get_args(hint) or (hint,)) if one is not type(None)]
    optional = not get_args(hint) or isinstance(hint, UnionType)
    return kinds[0] if optional and len(kinds) == 1 and kinds[0] in PLAIN else None


def _described(owner: Callable[..., Any], name: str) -> str:
    """The first sentence about a parameter in a docstring."""
    text = inspect.cleandoc(owner.__doc__ or "")
    match = re.search(rf"^{name}\n((?: +\S.*\n?)+)", text, re.MULTILINE)
    sentence = re.split(r"[.;] ", " ".join(match[1].split()))[0] if match else ""
    return sentence.replace("`", "").rstrip(".") + "."


Momentum = Annotated[
    float | None,
    typer.Option(
        help="Heavy-ball momentum of SGD, for which strategies are optimised.", rich_help_panel=RUN
    ),
]
Optimizer = Annotated[
    str,
    typer.Option(
        help="sgd, or one that rescales gradients (adam, adamw, adagrad, rmsprop, other): what "
        "noise does to those has no formula, and only independent noise is compared.",
        rich_help_panel=RUN,
    ),
]
LearningRateSchedule = Annotated[
    str | None,
    typer.Option(
        help="Learning rates for which strategies are optimised: constant, cosine, linear, or a "
        "file with one number for each step.",
        metavar="NAME|FILE",
        rich_help_panel=RUN,
    ),
]


@dataclass(frozen=True, kw_only=True)
class OptimizerOptions:
    """What SGD does with the gradients, for which strategies are optimised."""

    momentum: Momentum = None
    learning_rate_schedule: LearningRateSchedule = None

    def given(self) -> dict[str, float | str]:
        """What is not left out."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def rates(self, *, steps: int) -> str | npt.NDArray[np.float64] | None:
        """The name of a schedule, the rates in the file, or None."""
        schedule = self.learning_rate_schedule
        return None if schedule is None else _rates_from(schedule, steps=steps)

    def setting(self, name: str = "sgd") -> OptimizerSetting:
        """The same with the optimizer's name, as they were spelled."""
        return OptimizerSetting(self.momentum or 0.0, self.learning_rate_schedule, name)


NOTHING_SAID = OptimizerOptions()


def _rates_from(schedule: str, *, steps: int) -> str | npt.NDArray[np.float64]:
    """The name of a schedule, or the rates in the file: text, or an .npy array."""
    if schedule in SCHEDULES:
        return schedule
    allowed = f"{', '.join(SCHEDULES)}, or a file with {steps} numbers >= 0 that are not all 0"
    path = Path(schedule)
    try:
        rates = np.load(path) if path.suffix == ".npy" else np.loadtxt(path, ndmin=1)
        return learning_rates(rates, steps=steps)
    except (OSError, EOFError, ValueError):
        raise InvalidParameter("learning_rate_schedule", allowed, schedule) from None


Risk = Annotated[
    bool,
    typer.Option(
        "--risk",
        help="Also say what an attacker achieves: advantage, true positive rate, Bayes risk.",
        rich_help_panel="Output",
    ),
]
WantedDelta = Annotated[
    float | None, typer.Option(help="In (0, 1); or a wanted risk.", rich_help_panel=QUESTION)
]
WantedEpsilon = Annotated[
    float | None, typer.Option(help="Not negative; or a wanted risk.", rich_help_panel=QUESTION)
]


@dataclass(frozen=True, kw_only=True)
class RiskTargets:
    """What an attacker may achieve, in the place of epsilon and delta."""

    advantage: Annotated[
        float | None,
        typer.Option(
            help="Largest advantage of membership inference: true minus false positive rate.",
            rich_help_panel=QUESTION,
        ),
    ] = None
    true_positive_rate: Annotated[
        float | None,
        typer.Option(
            help="Largest true positive rate, with --false-positive-rate.",
            rich_help_panel=QUESTION,
        ),
    ] = None
    false_positive_rate: Annotated[
        float | None,
        typer.Option(
            help="The share of others that is accused, with --true-positive-rate.",
            rich_help_panel=QUESTION,
        ),
    ] = None
    bayes_risk: Annotated[
        float | None,
        typer.Option(
            help="Smallest error of an attacker who knows the prior, with --prior.",
            rich_help_panel=QUESTION,
        ),
    ] = None
    prior: Annotated[
        float | None,
        typer.Option(
            help="The probability that the example is in the data, with --bayes-risk.",
            rich_help_panel=QUESTION,
        ),
    ] = None

    def given(self) -> dict[str, float]:
        """What is not left out."""
        return {name: value for name, value in asdict(self).items() if value is not None}

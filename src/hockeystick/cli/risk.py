"""An attacker's success on the command line: as a target, and beside other numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import typer

from hockeystick.bounds.risk import USUAL_PRIOR, USUAL_RATE, RiskBounds
from hockeystick.report.text import lower_text, upper_text

__all__ = ["Risk", "RiskTargets", "WantedDelta", "WantedEpsilon", "risk_object", "risk_text"]

QUESTION = "The question"

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


def risk_object(risks: Mapping[str, RiskBounds]) -> dict[str, Any]:
    """Lower and upper bounds by name, and what they are asked at."""
    bounds = {name: one._asdict() for name, one in risks.items()}
    return {"false_positive_rate": USUAL_RATE, "prior": USUAL_PRIOR, **bounds}


def risk_text(risks: Mapping[str, RiskBounds]) -> str:
    """What the best attack achieves, in a line."""
    advantage, rate, risk = (risks[n] for n in ("advantage", "true_positive_rate", "bayes_risk"))
    return (
        f"risk: advantage {_interval(advantage)}; true positive rate {_interval(rate)} at "
        f"false positive rate {USUAL_RATE:g}; Bayes risk {_interval(risk)} at prior "
        f"{USUAL_PRIOR:g}"
    )


def _interval(bounds: RiskBounds) -> str:
    """Both sides, or the one that is known."""
    lower, upper = bounds
    if lower is None:
        assert upper is not None
        return f"<= {upper_text(upper)}"
    return f">= {lower_text(lower)}" + ("" if upper is None else f" and <= {upper_text(upper)}")

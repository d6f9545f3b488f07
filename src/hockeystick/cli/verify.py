"""`hockeystick verify`: test a claim by draws, or recompute a privacy statement."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from hockeystick._text import escaped
from hockeystick.cli import Command, gathered
from hockeystick.cli.answers import MethodAnswer
from hockeystick.cli.options import (
    AccountingOptions,
    Delta,
    DrawOptions,
    DryRun,
    Epsilon,
    Json,
    NoiseMultiplier,
    OutputOptions,
    PlanOptions,
)
from hockeystick.cli.output import print_json, stdout
from hockeystick.cli.plans import described, plan_from
from hockeystick.cli.question import Question, Spot, show_draw_plans
from hockeystick.errors import InvalidParameter
from hockeystick.montecarlo import MonteCarlo
from hockeystick.montecarlo.verify import draws_to_verify
from hockeystick.montecarlo.verify import verify as check_claim
from hockeystick.report import Update, count_text, progress, upper_text
from hockeystick.training import (
    Coverage,
    JointStatement,
    Recheck,
    Statement,
    check_statement,
    load_statement,
)

__all__ = ["or_statement", "verify"]

FILE, KEY, EXPECT = "statement", "key", "expect"
SIGNATURES = {
    "valid": "signed with the key that was given: all fields are as its owner wrote them",
    "invalid": "the signature is not that of the key that was given",
    "not checked": "signed, but the signature is not checked: give the signer's --key",
    "absent": "not signed: whoever can write the file can change the fields",
}
StatementFile = Annotated[
    Path | None,
    typer.Argument(
        help="A privacy statement to recompute, as `run.statement(...).save(FILE)` writes it; no "
        "other option but --json, --key and --expect then.",
        metavar="FILE",
        show_default=False,
    ),
]
PublicKey = Annotated[
    Path | None,
    typer.Option(
        help="With FILE: the signer's public key (PEM); the statement must be signed with it.",
        metavar="PUBLIC",
        show_default=False,
    ),
]
Expected = Annotated[
    list[str] | None,
    typer.Option(
        help="With FILE: a value that a field must have, such as dataset=...; may be repeated.",
        metavar="FIELD=VALUE",
        show_default=False,
    ),
]


def or_statement(command: Callable[..., None]) -> Command:
    """The command with a file as an argument that takes the place of all its options.

    Options that the command requires are then required only without the file.
    """

    def call(**options: Any) -> None:
        path, key, expect = (options.pop(name) for name in (FILE, KEY, EXPECT))
        known = inspect.signature(command).parameters
        if path is None:
            for name, value in ((KEY, key), (EXPECT, expect)):
                if value:
                    raise InvalidParameter(name, "left out without a statement", value)
            _require([name for name, one in known.items() if one.default is one.empty], options)
            command(**options)
            return
        for name, value in options.items():
            if name != "json" and value != _absent(known[name]):
                raise InvalidParameter(name, "left out with a statement", value)
        recheck_file(path, key=key, expect=_expected(expect or []), json=options["json"])

    def parameters() -> list[inspect.Parameter]:
        own = [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation
            )
            for name, annotation in ((FILE, StatementFile), (KEY, PublicKey), (EXPECT, Expected))
        ]
        known = inspect.signature(command).parameters.values()
        return [*own, *(one.replace(default=_absent(one)) for one in known)]

    return Command(command, call, parameters)


def _absent(parameter: inspect.Parameter) -> Any:
    """What stands for an option that is left out."""
    return None if parameter.default is parameter.empty else parameter.default


def _expected(given: list[str]) -> dict[str, str]:
    parts = [one.partition("=") for one in given]
    for name, sign, value in parts:
        if not (name and sign and value):
            raise InvalidParameter(EXPECT, "FIELD=VALUE", f"{name}{sign}{value}")
    return {name: value for name, _, value in parts}


def recheck_file(path: Path, *, key: Path | None, expect: dict[str, str], json: bool) -> None:
    """Recompute the statement in the file; exit status 1 if it does not hold."""
    statement = _read(path)
    with progress("Recomputing ..."):
        recheck = check_statement(statement, key=key, expect=expect)
    if json:
        print_json(_as_object(statement, recheck))
    else:
        _print(statement, recheck)
    if not recheck.holds:
        raise typer.Exit(1)


def _require(names: list[str], options: dict[str, Any]) -> None:
    for name in names:
        if options[name] is None:
            raise typer.BadParameter.__mro__[1](f"Missing option '--{name.replace('_', '-')}'.")


def _read(path: Path) -> Statement | JointStatement:
    try:
        return load_statement(path)
    except InvalidParameter as error:
        raise typer.BadParameter(
            f"{escaped(str(path))} is not a privacy statement: {error}"
        ) from None


def _as_object(statement: Statement | JointStatement, recheck: Recheck) -> dict[str, Any]:
    stated = {name: getattr(statement, name) for name in ("epsilon", "delta", "kind", "method")}
    recomputed = {
        "epsilon": recheck.epsilon,
        "delta": statement.delta,
        "kind": recheck.kind,
        "method": recheck.method,
    }
    runs = [{"priced_for": run.priced_for, "versions": run.versions} for run in statement.runs]
    return {
        "holds": recheck.holds,
        "stated": {**stated, **(runs[0] if len(runs) == 1 else {"runs": runs})},
        "recomputed": recomputed,
        "problems": list(recheck.problems),
        "coverage": asdict(recheck.coverage),
    }


def _print(statement: Statement | JointStatement, recheck: Recheck) -> None:
    console = stdout()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for title in ("", "stated", "recomputed"):
        table.add_column(title)
    found = "-" if recheck.epsilon is None else upper_text(recheck.epsilon)
    table.add_row("epsilon", upper_text(statement.epsilon), found)
    table.add_row("delta", f"{statement.delta:g}", f"{statement.delta:g}")
    table.add_row("kind", statement.kind, recheck.kind or "-")
    table.add_row("method", escaped(statement.method), recheck.method or "-")
    console.print(table, soft_wrap=False)
    for number, run in enumerate(statement.runs, start=1):
        which = "" if len(statement.runs) == 1 else f"run {number}: "
        console.print(
            f"{which}{count_text(run.taken_steps)} of {count_text(run.planned_steps)} planned "
            f"steps taken; accounted for {escaped(run.priced_for)}"
        )
        if run.whole_steps is not None:
            console.print(
                f"{which}a checkpoint of a run of {count_text(run.whole_steps)} steps: holds only "
                "if its step was fixed before the run and nothing later is released"
            )
    console.print(escaped(f"adjacency: {statement.adjacency}; unit: {statement.unit}"))
    _print_coverage(console, recheck.coverage)
    for problem in recheck.problems:
        console.print(escaped(f"problem: {problem}"), style="bold red")
    console.print("the statement holds" if recheck.holds else "the statement does not hold")


def _print_coverage(console: Console, coverage: Coverage) -> None:
    """Every field, by what is known about it."""
    titles = {
        "recomputed": "the number follows from",
        "expected": "compared with what is expected",
        "consistent": "fit each other, not checked otherwise",
        "unchecked": "NOT CHECKED",
    }
    for name, title in titles.items():
        found = getattr(coverage, name)
        if found:
            console.print(f"{title}: {', '.join(found)}")
    style = "bold green" if coverage.signature == "valid" else ""
    console.print(SIGNATURES[coverage.signature], style=style)


@or_statement
@gathered
def verify(
    run: PlanOptions,
    noise_multiplier: NoiseMultiplier,
    epsilon: Epsilon,
    delta: Delta,
    drawing: DrawOptions,
    *,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Recompute a privacy statement (FILE), or test by draws that a run is (epsilon, delta)-DP.

    FILE is what `run.statement(...).save(FILE)` wrote: its number is recomputed, every field is
    listed with how it was checked or that it was not, and the exit status is 1 if the statement
    does not hold. Without a file the run, its noise, epsilon and delta are
    required; the run may be made only if the claim is accepted.
    """
    plan = plan_from(run)
    claim: dict[str, Any] = {
        "noise_multiplier": noise_multiplier,
        "epsilon": epsilon,
        "delta": delta,
    }
    if dry_run:
        with progress("Pilot run ...") as update:
            execution = drawing.execution(update)
            draft = draws_to_verify(plan, **claim, seed=drawing.seed, execution=execution)
        show_draw_plans(described(plan, run), [draft], delta=delta, json=json)
        return

    def ask(_method: str, update: Update) -> MethodAnswer:
        execution = drawing.execution(update)
        guarantee = check_claim(
            plan, **claim, draws=drawing.draws, seed=drawing.seed, execution=execution
        )
        return MethodAnswer(guarantee.answer(delta=delta), guarantee)

    Question(
        plan,
        "epsilon",
        given={"noise_multiplier": noise_multiplier, "delta": delta},
        ask=ask,
        spot=lambda best: Spot(noise_multiplier, epsilon, delta),
    ).answer(run, AccountingOptions(method=MonteCarlo.name), OutputOptions(json=json))

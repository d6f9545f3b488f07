"""What verification is going to draw, for people and for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich import box
from rich.table import Table

from hockeystick.cli.output import plan_text, print_json, stdout
from hockeystick.montecarlo.verifier import DrawPlan
from hockeystick.report.numbers import count_text

__all__ = ["show_draw_plans"]


def show_draw_plans(
    plan: Mapping[str, Any], drafts: Sequence[DrawPlan], *, delta: float, json: bool
) -> None:
    """A table for each candidate, noisiest first, or one JSON object."""
    if json:
        print_json({"plan": plan, "delta": delta, "candidates": [_plain(one) for one in drafts]})
        return
    console = stdout()
    console.print(plan_text(plan), style="bold")
    if len(drafts) > 1:
        console.print(
            "tested in turn, up to the first that fails; the last that passes is the noise"
        )
    for number, draft in enumerate(drafts, start=1):
        which = f"candidate {number} of {len(drafts)}: " if len(drafts) > 1 else ""
        console.print(f"\n{which}noise multiplier {draft.noise_multiplier:.6g}", style="bold")
        if not draft.feasible:
            console.print(f"would fail: the pilot estimates delta at {draft.estimated_delta:.3g}")
            continue
        console.print(_table(draft), soft_wrap=False)
        console.print(
            f"{count_text(draft.draws)} draws, about {draft.seconds:.0f} s; passes up to delta = "
            f"{draft.passes_up_to:.3g}, {draft.passes_up_to / delta:.0%} of the claimed one; "
            f"estimated delta {draft.estimated_delta:.3g}"
        )
    if not drafts:
        console.print("no candidate: the proven noise is the answer; more draws may change that")


def _table(draft: DrawPlan) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    users = any(trial.held > 1 for trial in draft.trials)
    for title in ("direction", *(["examples"] if users else []), "part"):
        table.add_column(title)
    for title in ("draws", "passes up to"):
        table.add_column(title, justify="right")
    for trial in draft.trials:
        number = count_text(trial.draws)
        held = [str(trial.held)] if users else []
        table.add_row(trial.direction, *held, trial.part, number, f"{trial.threshold:.4g}")
    return table


def _plain(draft: DrawPlan) -> dict[str, Any]:
    return {**asdict(draft), "draws": draft.draws}

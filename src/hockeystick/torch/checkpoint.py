"""RunCheckpoint: what a run stores in the optimizer's state, and what it accepts back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from hockeystick._states import MALFORMED, state_digest
from hockeystick.errors import InvalidParameter, PlanMismatch, shown
from hockeystick.torch.adapting import Adapting
from hockeystick.torch.batch_sampler import BatchSampler
from hockeystick.torch.layouts import Layout, memory_checksum, memory_of, memory_pieces
from hockeystick.torch.noise_stream import TorchNoiseStream
from hockeystick.torch.progress import Progress, RunSettings
from hockeystick.torch.run_group import agreed
from hockeystick.training.schedules import as_lists, from_lists
from hockeystick.training.statement_fields import checked_run_id, checked_schedule

__all__ = ["RunCheckpoint"]

# What changes the run to the saved one, and the checksum of this rank's remembered noise.
Prepared = tuple[Callable[[], None], torch.Tensor]
CHANGED = "The state of the run was changed after it was saved."

PARTS = (
    "settings",
    "now",
    "run",
    "taken",
    "noise",
    "memory",
    "checksum",
    "batches",
    "budget",
    "digest",
)


class RunCheckpoint:
    """RunSettings, place in the batches, noise and spending, as of the last whole step.

    The remembered noise is apart from the rest: of several ranks each has the part that it holds,
    in pieces that know their place, so that another number of ranks can continue.
    """

    def __init__(
        self, progress: Progress, batches: BatchSampler, layout: Layout, adapting: Adapting
    ) -> None:
        self._progress, self._batches, self._layout = progress, batches, layout
        self._adapting = adapting

    def state(self, noise: TorchNoiseStream) -> dict[str, Any]:
        """Numbers, text and tensors."""
        taken, layout = self._progress.taken, self._layout
        content = {
            "settings": _described(self._progress.settings),
            "now": self._adapting.state(),
            "run": {
                "id": self._progress.settings.run_id,
                "schedule": json.dumps(as_lists(self._progress.schedule)),
            },
            "taken": taken,
            "noise": noise.head(),
            "memory": memory_pieces(noise.memory, layout.ranges),
            "checksum": self._total(memory_checksum(noise.memory, layout.ranges)),
            "batches": self._batches.state_dict(position=taken),
            "budget": self._progress.budget.state(),
        }
        return {**content, "digest": _digest(content)}

    def restore(self, state: Any, noise: TorchNoiseStream) -> None:
        """Check everything, then change the noise, the batches and the progress.

        `PlanMismatch`, and nothing is changed, if something does not fit.
        """
        self.prepared(state, noise)()

    def prepared(self, state: Any, noise: TorchNoiseStream) -> Callable[[], None]:
        """`restore` in two parts: everything is checked now, and changed by the result."""
        if not isinstance(state, Mapping):
            raise PlanMismatch(
                "The state has no noise and no batches in it: it was not saved by a private run."
            )
        change, checksum = agreed(self._layout.group, partial(self._checked, state, noise))
        if state["checksum"] != self._total(checksum):
            raise PlanMismatch(CHANGED)
        return change

    def _checked(self, state: Mapping[str, Any], noise: TorchNoiseStream) -> Prepared:
        try:
            return self._prepared(state, noise)
        except PlanMismatch:
            raise
        except InvalidParameter as error:
            raise PlanMismatch(f"The saved run cannot continue: {error}") from error
        except MALFORMED as error:
            raise PlanMismatch(
                "The state of the run is damaged, or of another version of this library: "
                f"{', '.join(PARTS)} are expected in it, each as it was saved."
            ) from error

    def _prepared(self, state: Mapping[str, Any], noise: TorchNoiseStream) -> Prepared:
        for name, value in _described(self._progress.settings).items():
            theirs = state["settings"][name]
            if type(theirs) is not type(value) or theirs != value:
                raise PlanMismatch(
                    f"The saved run had another {name}: {shown(theirs)}, not {shown(value)}."
                )
        taken = state["taken"]
        if isinstance(taken, bool) or not isinstance(taken, int):
            raise TypeError("steps are counted in integers")
        if taken != state["noise"]["step"] or taken != state["batches"]["position"]:
            raise PlanMismatch("The saved noise and batches are not of the same step.")
        if not taken >= self._progress.taken:
            raise PlanMismatch(
                f"The state is of step {taken}, but this run has taken {self._progress.taken}: the "
                "noise of the steps between would be used twice."
            )
        run_id = checked_run_id("run id", state["run"]["id"])
        self._progress.budget.check(dict(state["budget"]), run_id)
        schedule = from_lists(checked_schedule("schedule", json.loads(state["run"]["schedule"])))
        if sum(part.steps for part in schedule) != taken:
            raise PlanMismatch("The saved schedule is not of the same step.")
        memory = memory_of(state["memory"], self._layout.ranges, like=noise.memory)
        now, change_settings = self._adapting.prepared(state["now"])
        if now.rate is not None and state["batches"]["rate"] != now.rate:
            raise PlanMismatch("The saved batches are not of the same rate.")
        change_batches = self._batches.prepared(state["batches"])
        change_noise = noise.prepared(state["noise"], memory=memory, scale=now.scale)
        if state["digest"] != _digest(state):
            raise PlanMismatch(CHANGED)

        def change() -> None:
            change_batches()
            change_noise()
            change_settings()
            self._adapting.draw_again(taken, now)
            self._progress.continue_from(taken, schedule)
            # A seed that was known stays known, wherever the run continues.
            seeded = self._progress.settings.seeded or noise.seeded or self._batches.seeded
            self._progress.settings = replace(self._progress.settings, seeded=seeded, run_id=run_id)

        return change, memory_checksum(memory, self._layout.ranges)

    def _total(self, checksum: torch.Tensor) -> list[int]:
        group = self._layout.group
        return [int(one) for one in (checksum if group is None else group.total(checksum))]


def _described(settings: RunSettings) -> dict[str, Any]:
    """The settings as plain values; `seeded` and `run_id` say nothing about the plan.

    The arithmetic is part of the noise's own description.
    """
    other = ("seeded", "run_id", "arithmetic")
    values = {name: value for name, value in vars(settings).items() if name not in other}
    values["plan"] = json.dumps(settings.plan.describe(), sort_keys=True, default=str)
    return values


def _digest(state: Mapping[str, Any]) -> str:
    """Of all parts; noise and batches have digests of their own, and memory has the checksum."""
    own = {name: state[name]["digest"] for name in ("noise", "batches")}
    return state_digest({**state, **own, "memory": None})

"""What a run writes into the optimizer's state, and what it accepts back."""

from __future__ import annotations

import json
from typing import Any

from hockeystick.errors import PlanMismatch
from hockeystick.torch.batch_sampler import BatchSampler
from hockeystick.torch.noise_stream import NoiseStream
from hockeystick.torch.progress import Progress, Settings

__all__ = ["Saved"]


class Saved:
    """Settings, place in the batches, noise and spending, as of the last whole step."""

    def __init__(self, progress: Progress, batches: BatchSampler) -> None:
        self._progress, self._batches = progress, batches

    def state(self, noise: NoiseStream) -> dict[str, Any]:
        """Numbers, text and tensors."""
        taken = self._progress.taken
        return {
            "settings": _described(self._progress.settings),
            "taken": taken,
            "noise": noise.state_dict(),
            "batches": self._batches.state_dict(position=taken),
            "budget": self._progress.budget.state(),
        }

    def restore(self, state: Any, noise: NoiseStream) -> None:
        """Check everything, then change the noise, the batches and the progress."""
        if not isinstance(state, dict):
            raise PlanMismatch(
                "The state has no noise and no batches in it: it was not saved by a private run."
            )
        mine = _described(self._progress.settings)
        for name, value in mine.items():
            if state["settings"].get(name) != value:
                raise PlanMismatch(
                    f"The saved run had another {name}: {state['settings'].get(name)}, not {value}."
                )
        taken = state["taken"]
        if taken != state["noise"]["step"] or taken != state["batches"]["position"]:
            raise PlanMismatch("The saved noise and batches are not of the same step.")
        if not taken >= self._progress.taken:
            raise PlanMismatch(
                f"The state is of step {taken}, but this run has taken {self._progress.taken}: the "
                "noise of the steps between would be used twice."
            )
        self._progress.budget.check(state["budget"])
        self._batches.load_state_dict(state["batches"])
        noise.load_state_dict(state["noise"])
        self._progress.go_on_from(taken)


def _described(settings: Settings) -> dict[str, Any]:
    """The settings as plain values; `seeded` may differ, it says nothing about the plan."""
    values = {name: value for name, value in vars(settings).items() if name != "seeded"}
    values["plan"] = json.dumps(settings.plan.describe(), sort_keys=True, default=str)
    return values

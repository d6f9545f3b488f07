"""Adapting: how the settings of a run change between steps, by hand or by a policy."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

import torch

from hockeystick.errors import PlanMismatch
from hockeystick.torch.batch_sampler import BatchSampler
from hockeystick.torch.noise_stream import TorchNoiseStream
from hockeystick.torch.progress import Progress
from hockeystick.torch.run_group import RunGroup
from hockeystick.training.adaptive_clipping import AdaptiveClipping, NormCount
from hockeystick.training.filtered import WITHOUT_FILTER, scheme_at
from hockeystick.training.schedules import StepSettings
from hockeystick.training.sum_lattice import SumLattice

__all__ = ["Adapting"]


class Adapting:
    """The one place that changes noise, rate and clip norm of a run.

    A change by hand also changes the key of the noise and the generator of the batches, to ones
    that follow from the present ones and the new settings. Otherwise a run that is restored, and
    then changed in another way than before, would use the noise of the first time once more, on
    other sums: both would follow from the same numbers.
    """

    def __init__(
        self,
        progress: Progress,
        noise: TorchNoiseStream,
        batches: BatchSampler,
        group: RunGroup | None,
        *,
        policy: AdaptiveClipping | None,
        counts: NormCount | None,
    ) -> None:
        self._progress, self._noise, self._batches = progress, noise, batches
        self._group, self._policy, self._counts = group, policy, counts

    def set(self, filtered: bool, **given: float | None) -> None:
        """Change what is given, from the next step on; all ranks give the same."""
        if not filtered:
            raise PlanMismatch(WITHOUT_FILTER, page="docs/adapting.md")
        if self._group is not None and len(set(map(str, self._group.of_all(given)))) > 1:
            raise PlanMismatch("All ranks change the same settings to the same values, or none.")
        progress = self._progress
        self._check_between_steps()
        wanted = progress.now.changed(**given)
        if wanted == progress.now:
            return
        lattice, size = self.parts_for(wanted)
        reason = json.dumps({"step": progress.taken, **asdict(wanted)}, sort_keys=True)
        self._noise.change(scale=wanted.scale, reason=reason)
        self._batches.change(step=progress.taken, rate=wanted.rate, reason=reason)
        self._use(wanted, lattice, size)
        progress.redrawn += 1

    def draw_again(self, step: int, now: StepSettings) -> None:
        """After a state was restored: other noise and batches for steps that are charged again."""
        reason = self._progress.budget.again
        if reason is not None:
            self._noise.change(scale=now.scale, reason=reason)
            self._batches.change(step=step, rate=now.rate, reason=reason)

    @property
    def counting(self) -> bool:
        """Whether a policy moves the clip norm by counts."""
        return self._policy is not None

    def after_step(self, excess: int) -> None:
        """The clip norm of the next step, where a policy moves it by the count of this one."""
        if self._policy is None or self._counts is None:
            return
        progress = self._progress
        if self._group is not None:
            excess = int(self._group.total(torch.tensor([excess], dtype=torch.int64)))
        half = self._counts.released(excess, key=self._noise.key, step=self._noise.step - 1)
        fraction = half / progress.expected_batch_size + 0.5
        clip = self._policy.updated(progress.now.max_grad_norm, fraction)
        wanted = progress.now.changed(max_grad_norm=clip)
        lattice, size = self.parts_for(wanted)
        self._noise.change(scale=wanted.scale)
        self._use(wanted, lattice, size)

    @property
    def shortened(self) -> bool:
        """Whether the filter permitted less than the clip norm for the current step."""
        permitted = self._progress.permitted
        return permitted is not None and permitted.clip != self._progress.now.max_grad_norm

    def _check_between_steps(self) -> None:
        """`PlanMismatch` while a batch is out whose step is not taken, or none may follow."""
        if self._progress.finished:
            raise PlanMismatch(self._progress.no_more())
        if self._progress.permitted is not None:
            raise PlanMismatch(
                f"The batch of step {self._progress.taken + 1} is drawn and accounted for already; "
                "settings change between steps: after the optimizer's step, before the next batch.",
                page="docs/adapting.md",
            )

    def _use(self, now: StepSettings, lattice: SumLattice | None, size: float) -> None:
        """Other settings from the next step on."""
        self._progress.now, self._progress.lattice = now, lattice
        self._progress.expected_batch_size = size
        self._progress.budget.use(now)

    def parts_for(self, wanted: StepSettings) -> tuple[SumLattice | None, float]:
        """The lattice and the expected batch size; refusals before anything is changed."""
        settings, progress = self._progress.settings, self._progress
        size, lattice = settings.expected_batch_size, progress.lattice
        if wanted.rate is not None and wanted.rate != progress.start.rate:
            scheme = scheme_at(settings.plan, wanted.rate)
            size = float(scheme.expected_batch_size(settings.examples))
        if lattice is not None:
            lattice = lattice.rescaled(
                noise_multiplier=wanted.gradient_noise,
                max_grad_norm=wanted.max_grad_norm,
                examples=settings.examples,
            )
        return lattice, size

    # -- saving -----------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """The settings of the next step."""
        return asdict(self._progress.now)

    def prepared(self, state: Mapping[str, Any]) -> tuple[StepSettings, Callable[[], None]]:
        """Saved settings, checked, and what changes the run to them."""
        saved = StepSettings(**state)
        start = self._progress.start
        wanted = start.changed(
            noise_multiplier=saved.noise_multiplier,
            rate=saved.rate,
            max_grad_norm=saved.max_grad_norm,
        )
        fixed = start.rate is None
        moved = wanted.max_grad_norm != start.max_grad_norm and self._policy is None
        if wanted != saved or (fixed and (wanted.noise_multiplier != start.noise_multiplier)):
            raise PlanMismatch("The saved run had settings that this one cannot have.")
        if fixed and moved:
            raise PlanMismatch("The saved run had another clip norm, which needs a filter.")
        lattice, size = self.parts_for(wanted)
        return wanted, lambda: self._use(wanted, lattice, size)

"""PlanOptimizer: an optimizer whose gradients are clipped sums plus the plan's noise."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import torch

from hockeystick._process import SingleUse, refuse_setting
from hockeystick.errors import PlanMismatch
from hockeystick.torch.adapting import Adapting
from hockeystick.torch.checkpoint import RunCheckpoint
from hockeystick.torch.gradient_sums import GradientSums
from hockeystick.torch.layouts import Layout
from hockeystick.torch.noise_stream import TorchNoiseStream
from hockeystick.torch.original_state import (
    GroupSettings,
    StepGuard,
    load_optimizer_state,
    trained_parameters,
)
from hockeystick.torch.progress import Progress
from hockeystick.torch.repeated_steps import ReleaseWitness, refuse_other_release
from hockeystick.torch.sums import with_noise

__all__ = ["PlanOptimizer"]

SETTINGS = ("noise_multiplier", "max_grad_norm", "expected_batch_size")
# The run's own part of a state; PyTorch's parts are called "state" and "param_groups".
OURS = "hockeystick"


class PlanOptimizer(SingleUse, torch.optim.Optimizer):
    """Any PyTorch optimizer, fed with (sum of clipped gradients + noise) / expected batch size.

    The noise is the plan's C^-1 Z, where Z has the standard deviation noise_multiplier *
    max_grad_norm. `step` is called once for every batch of the run's loader; after a physical batch
    that does not end a logical one it only adds to the sum. For an empty batch the loader calls it:
    a step of noise alone. `state_dict` holds the noise and the place in the batches too: it is as
    secret as the data. Made by `make_private`.

    Attributes
    ----------
    param_groups, state, defaults
        Those of the original optimizer; learning rates may change.
    noise_multiplier, max_grad_norm, expected_batch_size
        What is accounted; `run.set` changes it in a run with a filter.
    """

    what = "The optimizer of a private run"
    instead = "let one run follow the other by state_dict() and load_state_dict()"

    def __init__(
        self,
        original: torch.optim.Optimizer,
        *,
        progress: Progress,
        gradients: GradientSums,
        noise: TorchNoiseStream,
        saved: RunCheckpoint,
        layout: Layout,
        in_parts: bool,
        adapting: Adapting,
    ) -> None:
        # The base class is not set up: groups and state are those of the original.
        self._original = original
        self._progress, self._gradients = progress, gradients
        self._noise, self._checkpoint = noise, saved
        self._layout, self._adapting = layout, adapting
        self._dtypes = [held.dtype for held in layout.like()]
        self._excess = 0
        self._parameters = trained_parameters(original)
        self._witness = ReleaseWitness(progress.settings, layout, self._parameters)
        self._sums: list[torch.Tensor] | None = None
        self._guard = StepGuard(original)
        self._group_settings = GroupSettings(original, progress, in_parts=in_parts)

    # -- one step ---------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Take the step of the current batch, or add a physical batch to the sum.

        Parameters
        ----------
        closure
            Computes the loss and its backward pass, as for other optimizers.

        Raises
        ------
        PlanMismatch
            If the gradients are not those of the current batch, or no step is left.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        with torch.no_grad():
            with self._gradients.telling_other_ranks():
                sums = self._added()
            if sums is not None:
                if self._layout.group is not None:
                    self._layout.group.check()
                with self._gradients.telling_other_ranks(waiting=False):
                    self._release(sums)
        return loss

    def _added(self) -> list[torch.Tensor] | None:
        """Add the current physical batch; the sums of the logical batch if it was the last."""
        self._check_parameters()
        physical_batch, _ = self._progress.current()
        self._group_settings.check()
        sums = self._gradients.take(physical_batch)
        if physical_batch.first or self._sums is None:
            self._sums, self._excess = sums, 0
        else:
            for total, part in zip(self._sums, sums, strict=True):
                total.add_(part)
        self._excess += self._gradients.excess() if self._adapting.counting else 0
        self._progress.physical_batch_done()
        return self._sums if physical_batch.last else None

    def _release(self, sums: list[torch.Tensor]) -> None:
        """Add the noise and update; the step is counted as soon as its noise is drawn.

        Sums are in double precision and rounded once, after the noise: that is post-processing. Of
        several ranks each adds noise to the part of the sum that it holds. With exact arithmetic
        both are integers below 2^52, in units of the lattice.
        """
        self._sums = None
        held = self._layout.held(sums)
        noise = next(self._noise)
        unit = 1.0 if self._noise.lattice is None else self._noise.lattice
        size, shortened = self.expected_batch_size, self._adapting.shortened
        self._progress.step_done()
        noted = self._progress.budget.noted
        if noted:
            noisy = [total.add_(own.flatten()) for total, own in zip(held, noise, strict=True)]
            self._compare_repeated(noisy)
        if not shortened:
            # A step that the filter has shortened releases no count.
            self._adapting.after_step(self._excess)
        if noted:
            released = [total.mul_(unit).div_(size) for total in noisy]
        else:
            parts = zip(held, noise, self._dtypes, strict=True)
            released = [with_noise(*part, unit=unit, size=size) for part in parts]
        gradients = self._layout.gradients(released)
        for parameter, gradient in zip(self._parameters, gradients, strict=True):
            parameter.grad = gradient
        with self._guard.open():
            self._original.step()
        self._gradients.released()
        self._group_settings.updated()
        if self._progress.finished:
            self.close()

    def _compare_repeated(self, noisy: list[torch.Tensor]) -> None:
        """End the run if the step was taken before, with other gradients and the same noise."""
        budget, step, now = self._progress.budget, self._progress.taken - 1, self._progress.now
        found = self._witness.of(noisy, now, run=self._progress.settings.run_id, step=step)
        if budget.before is not None and not self._witness.same(budget.before, found):
            self.close()
            refuse_other_release(step)
        budget.released(step, found)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear gradients; what earlier physical batches added to the sum stays."""
        self._original.zero_grad(set_to_none)
        for parameter in self._parameters:
            parameter.grad_sample = None

    def close(self) -> None:
        """End the run for good; a run whose steps are all taken is closed by itself.

        Hooks are removed from the model and the original optimizer, which can be used for another
        run or otherwise. What was done stays: the statement is about all planned steps.
        """
        self.check_here()
        self._progress.close()
        self._sums = None
        self._gradients.close()
        self._guard.remove()

    # -- saving -----------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """The original's state, and everything about the run after its last whole step.

        In a process group all ranks call it.
        """
        return {**self._original.state_dict(), OURS: self._checkpoint.state(self._noise)}

    def load_state_dict(self, state_dict: Any) -> None:
        """Continue from a saved state of the same run.

        Parameters
        ----------
        state_dict
            What `state_dict()` returned.

        Raises
        ------
        PlanMismatch
            For a state of another run or of an ordinary optimizer, and for one that is behind this
            run: its noise would be used a second time. Nothing is changed then.
        """
        if self._progress.closed:
            raise PlanMismatch("The run was closed and cannot continue from a saved state.")
        theirs = dict(state_dict) if isinstance(state_dict, Mapping) else {}
        change = self._checkpoint.prepared(theirs.pop(OURS, None), self._noise)
        load_optimizer_state(self._original, theirs)
        change()
        self._sums = None
        self._gradients.restart()
        if self._progress.finished:
            self.close()

    # -- what belongs to the original -------------------------------------------------------------

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        """The groups of the original optimizer; learning rates may change."""
        return self._original.param_groups

    @property
    def state(self) -> defaultdict[torch.Tensor, Any]:
        """The state of the original optimizer."""
        return self._original.state

    @property
    def defaults(self) -> dict[str, Any]:
        """The defaults of the original optimizer."""
        return self._original.defaults

    def register_step_post_hook(self, hook: Any) -> Any:
        """Call `hook(optimizer, args, kwargs)` after each update, also those of empty batches.

        Parameters
        ----------
        hook
            As for other optimizers; it gets the original one. `lambda *_: scheduler.step()` lets
            learning rates follow the steps of the plan.
        """
        return self._original.register_step_post_hook(hook)

    def __repr__(self) -> str:
        return f"PlanOptimizer({self._original!r}, taken={self._progress.taken})"

    # -- what may not change ----------------------------------------------------------------------

    @property
    def noise_multiplier(self) -> float:
        """Standard deviation of Z over the clip norm."""
        return self._progress.now.noise_multiplier

    @property
    def max_grad_norm(self) -> float:
        """The clip norm."""
        return self._progress.now.max_grad_norm

    @property
    def expected_batch_size(self) -> float:
        """What sums are divided by: the plan's, not the size of the batch."""
        return self._progress.expected_batch_size

    def __setattr__(self, name: str, value: Any) -> None:
        if name in SETTINGS or (name in self.__dict__ and name == "_original"):
            refuse_setting(self, name, value)
        super().__setattr__(name, value)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Refused: the noise has the dimension of the parameters at the start."""
        raise PlanMismatch("Parameters cannot be added to a private run.")

    def signal_skip_step(self, do_skip: bool = True) -> None:
        """Refused: Opacus' memory manager would make a loader of its own."""
        raise PlanMismatch(
            "The run cuts batches itself: give physical_batch_size to make_private instead."
        )

    def _check_parameters(self) -> None:
        now = trained_parameters(self._original)
        if len(now) != len(self._parameters) or any(
            a is not b for a, b in zip(now, self._parameters, strict=True)
        ):
            raise PlanMismatch(
                "The optimizer's trainable parameters are not those with which the run began."
            )

    @property
    def over(self) -> bool:
        """Whether no step may follow."""
        return self._progress.finished

    @property
    def original(self) -> torch.optim.Optimizer:
        """The optimizer that was given to make_private; the run's own until it is over."""
        return self._original

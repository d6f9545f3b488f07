"""GradientSums: the clipped sum of the current batch, kept where nothing else can change it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from hockeystick.errors import PlanMismatch
from hockeystick.torch.clipping import Clipping, as_mismatch
from hockeystick.torch.empty_outputs import EmptyOutput, nothing_like, refuse_other_leaves
from hockeystick.torch.layouts import Layout
from hockeystick.torch.model_state import ChangeDetector, ModelState
from hockeystick.torch.per_sample_module import forget_activations, forget_gradients
from hockeystick.torch.probe import IndependenceProbe
from hockeystick.torch.probe_outcomes import PassResult, ProbeReport, joint_report
from hockeystick.torch.progress import PhysicalBatch, Progress
from hockeystick.torch.recording import Recording
from hockeystick.torch.replay import LossReplay, ProbeExamples, RecollatedBatch

__all__ = ["GradientSums"]

# A model may change what it does: the probe runs again after 8, 64, ... times as many steps.
PROBE_FACTOR = 8
# Around what a single process does.
ALONE = nullcontext()


class GradientSums:
    """Between the loss and the optimizer: backward pass, clipping, and the checks of a batch.

    The sums are never in `parameter.grad`, where another optimizer would find them, or something
    else could be added to them.
    """

    def __init__(
        self,
        clipping: Clipping,
        parameters: list[torch.Tensor],
        progress: Progress,
        claim: Callable[[], None],
        layout: Layout,
        *,
        changes: ChangeDetector,
    ) -> None:
        self._clipping, self._parameters, self._progress = clipping, parameters, progress
        self._claim, self._layout, self._change_detector = claim, layout, changes
        self._probe = IndependenceProbe(clipping, parameters)
        self._module: torch.nn.Module = clipping.model._module
        self._loaded: RecollatedBatch | None = None
        self._initial: ModelState | None = None
        self._recording: Recording | None = None
        self._probed: ProbeExamples | None = None
        self._called, self._next_probe = False, 1
        self.excess: Callable[[], int] = int  # which is 0
        self._nothing: Any = EmptyOutput()
        self._ready: tuple[PhysicalBatch, list[torch.Tensor], Callable[[], int]] | None = None
        self._released: list[Any] = [None] * len(parameters)
        self._refusal: PlanMismatch | None = None
        self._report: ProbeReport | None = None
        self._probe_rows: list[torch.Tensor] = []
        if layout.sharded:
            # Hooks for gradients of examples make a view of what a layer returns, in every pass.
            warnings.filterwarnings("ignore", "FSDP2-wrapped module")
        # What an earlier run or another training left there does not belong to this run.
        forget_gradients(clipping.model)
        clipping.model.observer = self._call
        progress.listener = self._begin_batch

    @property
    def report(self) -> ProbeReport | None:
        """What the last probe found; `PlanMismatch` if it refused the run."""
        self._check_refused()
        return self._report

    # -- recording --------------------------------------------------------------------------------

    def _begin_batch(
        self, physical_batch: PhysicalBatch, loaded: Callable[[], RecollatedBatch]
    ) -> None:
        """A batch was loaded: changes from here on until its step are detected."""
        if not self._change_detector.begun:
            self._change_detector.begin()
        self._recording, self._called = None, False
        due = physical_batch.step + 1 >= self._next_probe and physical_batch.size >= 2
        self._loaded = loaded() if due else None
        if due:
            self._initial = ModelState(self._module)
            self._recording = Recording(physical_batch.size, self._clipping.model.replayed)

    def _call(self, forward: Callable[..., Any], arguments: Any, options: Any) -> Any:
        """A call of the model; the first batch with two examples is recorded for the probe."""
        recording = self.recording() if torch.is_grad_enabled() else None
        if torch.is_grad_enabled() and not self._called:
            self._called = True
            forget_activations(self._clipping.model)
        if recording is not None:
            recording.begin_call()
        model, batch = self._clipping.model, self._progress.current_batch
        if batch is None:
            return forward(*arguments, **options)
        if batch.size == 0 and torch.is_grad_enabled():
            return self._nothing
        with model.of_examples(batch.size, probing=recording is not None), self._passes():
            output = forward(*arguments, **options)
        if torch.is_grad_enabled():
            self._nothing = nothing_like(output)
        return output if recording is None else recording.record(arguments, options, output)

    def recording(self) -> Recording | None:
        """The recording of the current batch, if it is to be probed."""
        return None if self._progress.current_batch is None else self._recording

    # -- one batch --------------------------------------------------------------------------------

    def physical_batch(self) -> PhysicalBatch:
        """The current physical batch."""
        return self._progress.current()[0]

    def compute(
        self, losses: torch.Tensor, loss_replay: LossReplay | None, of: PhysicalBatch
    ) -> None:
        """The backward pass of the current batch; `PlanMismatch` for another, or a second pass."""
        with self.telling_other_ranks(waiting=not self._layout.sharded):
            probed = self._clipped_sums(losses, loss_replay, of)
        if probed is not None:
            self._run_probe(probed, batch=PassResult(losses.detach(), self._probe_rows, {}))
            self._probe_rows = []

    def _clipped_sums(
        self, losses: torch.Tensor, loss_replay: LossReplay | None, of: PhysicalBatch
    ) -> ProbeExamples | None:
        """Keeps the sums for the step; returns the examples to probe, if a probe is due."""
        physical_batch, limit = self._progress.current()
        if of is not physical_batch:
            raise PlanMismatch(
                "The loss is of an earlier batch than the one that is out; compute the loss of a "
                "batch and call its backward() before the next batch."
            )
        self._check_refused()
        self._claim()
        self._change_detector.check()
        if self._ready is not None and self._ready[0] is physical_batch:
            raise PlanMismatch(
                "A second backward pass for the same batch: an example would count twice; add "
                "losses first and call backward() once for every batch."
            )
        self._refuse_other_gradients()
        if physical_batch.size == 0:
            return None
        if not self._clipping.model.training:
            raise PlanMismatch(
                "The model is in evaluation mode, in which gradients of single examples are not "
                "computed; call model.train() before the step."
            )
        refuse_other_leaves(losses, self._module)
        probed = None
        if self._recording is not None:
            assert loss_replay is not None  # Both are there whenever a batch is recorded.
            assert self._loaded is not None
            probed = ProbeExamples(self._recording, loss_replay, self._loaded)
        rows = [] if probed is None else probed.rows
        with as_mismatch(), self._passes():
            found = self._clipping.clipped(
                losses, self._parameters, physical_batch, limit, keep=rows
            )
        forget_activations(self._clipping.model)
        self._ready, self._probe_rows = (physical_batch, found.sums, found.excess), found.rows
        return probed

    def _run_probe(self, probed: ProbeExamples, *, batch: PassResult | None) -> ProbeReport:
        step, initial = self._progress.taken + 1, self._initial
        assert initial is not None
        if self._recording is not None:
            self._recording.close()
        if self._layout.group is not None:
            self._layout.group.check()
        found: ProbeReport | PlanMismatch
        try:
            with as_mismatch(), self._passes(), self._layout.whole(self._module):
                found = self._probe(probed, batch=batch, initial=initial, step=step)
        except PlanMismatch as refusal:
            found = refusal
        report = self._of_all_ranks(found)
        self._change_detector.hold_buffers(except_for=report.changing_buffers)
        self._report, self._probed, self._recording = report, probed, None
        self._next_probe = PROBE_FACTOR * step
        return report

    def _of_all_ranks(self, found: ProbeReport | PlanMismatch) -> ProbeReport:
        """One report of all ranks; `PlanMismatch` on all of them if one refuses."""
        if self._layout.group is None:
            outcomes = [found]
        else:
            outcomes = [
                outcome if isinstance(outcome, ProbeReport) else PlanMismatch(outcome)
                for outcome in self._layout.group.of_all(
                    found
                    if isinstance(found, ProbeReport)
                    else f"On rank {self._layout.group.rank}: {found}"
                )
            ]
        for outcome in outcomes:
            if isinstance(outcome, PlanMismatch):
                self._refusal = outcome
                raise outcome
        return joint_report([outcome for outcome in outcomes if isinstance(outcome, ProbeReport)])

    def telling_other_ranks(self, *, waiting: bool = True) -> AbstractContextManager[None]:
        """Whatever goes wrong inside ends the run on all ranks.

        `waiting`: they exchange nothing else before they ask for it.
        """
        group = self._layout.group
        return ALONE if group is None else group.telling(waiting=waiting)

    def _passes(self) -> AbstractContextManager[None]:
        """Passes of a sharded model exchange parameters: one sentence if a rank is gone."""
        group = self._layout.group
        return ALONE if group is None or not self._layout.sharded else group.passes()

    def take(self, physical_batch: PhysicalBatch) -> list[torch.Tensor]:
        """The sums of the batch, for the optimizer's step; `excess()` is then that of the batch."""
        self._check_refused()
        self._change_detector.check()
        self._refuse_other_gradients()
        ready, self._ready, self.excess = self._ready, None, int
        if physical_batch.size == 0:
            return self._layout.zeros()
        if ready is None or ready[0] is not physical_batch:
            raise PlanMismatch(
                "There is no clipped gradient of this batch; compute the loss with "
                "criterion = run.loss(...), and call loss.backward() once for every batch."
            )
        self.excess = ready[2]
        return ready[1]

    def released(self) -> None:
        """The update was made; gradients on the parameters are those with noise."""
        self._change_detector.begin()
        self._released = [_identity(p.grad) for p in self._parameters]

    def restart(self) -> None:
        """A state was restored: the current batch is dropped, and the probe is due again."""
        self._change_detector.forget()
        self._recording = self._ready = None
        self._next_probe = 1
        forget_gradients(self._clipping.model)
        self._released = [None] * len(self._parameters)

    def probe_again(self) -> ProbeReport:
        """The probe on the batch on which it ran before, with the present parameters."""
        if self._probed is None:
            raise PlanMismatch(
                "The probe needs a batch with two or more examples; it runs by itself in the first "
                "backward pass of one, and can be repeated after that."
            )
        if self._progress.current_batch is not None:
            raise PlanMismatch("The probe runs between steps; take the step of this batch first.")
        self._check_refused()
        self._initial = ModelState(self._module)
        with self._clipping.model.with_hooks():
            return self._run_probe(self._probed, batch=None)

    def close(self) -> None:
        """The run is over: the model is an ordinary module again."""
        self._recording = self._loaded = self._ready = None
        self._clipping.model.observer = None
        self._clipping.model.detach()

    def _check_refused(self) -> None:
        if self._refusal is not None:
            raise PlanMismatch(f"The probe has ended this run. {self._refusal}")

    def _refuse_other_gradients(self) -> None:
        for parameter, released in zip(self._parameters, self._released, strict=True):
            if parameter.grad is not None and _identity(parameter.grad) != released:
                raise PlanMismatch(
                    "A parameter has a gradient that does not come from run.loss(...): it is not "
                    "clipped and has no noise; compute every loss with a criterion of the run."
                )


def _identity(gradient: torch.Tensor | None) -> tuple[int, int] | None:
    return None if gradient is None else (id(gradient), gradient._version)

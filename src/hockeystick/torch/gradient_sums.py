"""GradientSums: what the batch that is out contributes, kept where nothing else can change it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from hockeystick.errors import PlanMismatch
from hockeystick.torch.clipping import Clipping, forget_activations, forget_gradients
from hockeystick.torch.probe import IndependenceProbe, ProbeReport
from hockeystick.torch.process_group import GroupClaim
from hockeystick.torch.progress import Piece, Progress
from hockeystick.torch.sample import Recipe, Sample
from hockeystick.torch.tape import Tape
from hockeystick.torch.watch import Watch

__all__ = ["GradientSums"]


class GradientSums:
    """Between the loss and the optimizer: backward pass, clipping, and the checks of a batch.

    The sums never stand in `parameter.grad`, where another optimizer would find them, or something
    else could be added to them.
    """

    def __init__(
        self,
        clipping: Clipping,
        parameters: list[torch.Tensor],
        progress: Progress,
        claim: GroupClaim,
    ) -> None:
        self._clipping, self._parameters, self._progress = clipping, parameters, progress
        self._claim = claim
        self._watch = Watch(clipping.model._module)
        self._probe = IndependenceProbe(clipping, parameters)
        self._tape: tuple[Piece, Tape] | None = None
        self._sample: Sample | None = None
        self._ready: tuple[Piece, list[torch.Tensor]] | None = None
        self._released: list[Any] = [None] * len(parameters)
        self.report: ProbeReport | None = None
        self._due = True
        self._called: Piece | None = None
        clipping.model.observer = self._call

    # -- recording --------------------------------------------------------------------------------

    def _call(self, forward: Callable[..., Any], arguments: Any, options: Any) -> Any:
        """A call of the model; the first batch with two examples is recorded for the probe."""
        tape = None
        if torch.is_grad_enabled():
            if self._called is not self._progress.out:
                self._called = self._progress.out
                forget_activations(self._clipping.model)
            tape = self.tape()
        output = forward(*arguments, **options)
        return output if tape is None else tape.record(arguments, options, output)

    def tape(self) -> Tape | None:
        """The record of the batch that is out, if it is to be probed."""
        piece = self._progress.out
        if not self._due or piece is None or piece.size < 2:
            return None
        if self._tape is None or self._tape[0] is not piece:
            self._tape = (piece, Tape(piece.size, self._clipping.model._module))
        return self._tape[1]

    # -- one batch --------------------------------------------------------------------------------

    def batch_size(self) -> int:
        """Of the batch that is out."""
        return self._progress.current()[0].size

    def compute(self, losses: torch.Tensor, recipe: Recipe | None) -> None:
        """The backward pass of the batch that is out; `PlanMismatch` for a second one."""
        piece, limit = self._progress.current()
        self._claim()
        self._watch.check()
        if self._ready is not None and self._ready[0] is piece:
            raise PlanMismatch(
                "A second backward pass for the same batch: an example would count twice; add "
                "losses first and call backward() once for every batch."
            )
        self._refuse_other_gradients()
        if piece.size == 0:
            return
        tape = self.tape()
        sample = None if tape is None or recipe is None else Sample(tape, recipe)
        rows = [] if sample is None else sample.rows
        found = self._clipping.clipped(losses, self._parameters, piece, limit, keep=rows)
        if tape is not None and sample is not None:
            tape.close()
            self._run_probe(sample, batch=(losses.detach()[rows], found.rows), step=piece.step + 1)
        self._tape, self._ready = None, (piece, found.sums)

    def _run_probe(
        self, sample: Sample, *, batch: tuple[torch.Tensor, list[torch.Tensor]] | None, step: int
    ) -> ProbeReport:
        report = self._probe(sample, batch=batch, step=step)
        self._watch.hold_buffers(except_for=report.changing_buffers)
        self.report, self._sample, self._due = report, sample, False
        return report

    def take(self, piece: Piece) -> list[torch.Tensor]:
        """The sums of the batch, for the optimizer's step."""
        self._watch.check()
        self._refuse_other_gradients()
        ready, self._ready = self._ready, None
        if piece.size == 0:
            return [
                torch.zeros(p.numel(), dtype=torch.float64, device=p.device)
                for p in self._parameters
            ]
        if ready is None or ready[0] is not piece:
            raise PlanMismatch(
                "There is no clipped gradient of this batch; compute the loss with "
                "criterion = run.loss(...), and call loss.backward() once for every batch."
            )
        return ready[1]

    def released(self) -> None:
        """The update was made; gradients on the parameters are those with noise."""
        self._watch.begin()
        self._released = [_identity(p.grad) for p in self._parameters]

    def restart(self) -> None:
        """A state was restored: what was under way is forgotten, and the probe is due again."""
        self._watch.forget()
        self._tape = self._ready = None
        self._due = True
        forget_gradients(self._parameters)
        self._released = [None] * len(self._parameters)

    def probe_again(self) -> ProbeReport:
        """The probe on the batch on which it ran before, with the present parameters."""
        if self._sample is None:
            raise PlanMismatch(
                "The probe needs a batch with two or more examples; it runs by itself in the first "
                "backward pass of one, and can be repeated after that."
            )
        if self._progress.out is not None:
            raise PlanMismatch("The probe runs between steps; take the step of this batch first.")
        return self._run_probe(self._sample, batch=None, step=self._progress.taken + 1)

    def _refuse_other_gradients(self) -> None:
        for parameter, released in zip(self._parameters, self._released, strict=True):
            if parameter.grad is not None and _identity(parameter.grad) != released:
                raise PlanMismatch(
                    "A parameter has a gradient that does not come from run.loss(...): it is not "
                    "clipped and has no noise; compute every loss with a criterion of the run."
                )


def _identity(gradient: torch.Tensor | None) -> tuple[int, int] | None:
    return None if gradient is None else (id(gradient), gradient._version)

"""GradientSums: what the batch that is out contributes, kept where nothing else can change it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from hockeystick.errors import HockeystickError, PlanMismatch
from hockeystick.torch.clipping import Clipping, forget_activations, forget_gradients
from hockeystick.torch.model_state import ModelState
from hockeystick.torch.outcome import Outcome
from hockeystick.torch.probe import IndependenceProbe
from hockeystick.torch.probe_report import ProbeReport
from hockeystick.torch.process_group import GroupClaim
from hockeystick.torch.progress import Piece, Progress
from hockeystick.torch.reloading import Reloaded
from hockeystick.torch.sample import Recipe, Sample
from hockeystick.torch.tape import Tape
from hockeystick.torch.watch import Watch

__all__ = ["GradientSums"]

# The probe runs again when so many times as many steps are taken: what a model does may change.
NEXT = 8


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
        self._module: torch.nn.Module = clipping.model._module
        self._loaded: Reloaded | None = None
        self._initial: ModelState | None = None
        self._tape: Tape | None = None
        self._sample: Sample | None = None
        self._called = False
        self._ready: tuple[Piece, list[torch.Tensor]] | None = None
        self._released: list[Any] = [None] * len(parameters)
        self._next_probe = 1
        self._refusal: PlanMismatch | None = None
        self._report: ProbeReport | None = None
        clipping.model.observer = self._call
        progress.listener = self._handed_out

    @property
    def report(self) -> ProbeReport | None:
        """What the last probe found; `PlanMismatch` if it refused the run."""
        self._check_refused()
        return self._report

    # -- recording --------------------------------------------------------------------------------

    def _handed_out(self, piece: Piece, loaded: Reloaded) -> None:
        """A batch comes: what changes from here on until its step is noticed."""
        if not self._watch.begun:
            self._watch.begin()
        self._tape, self._called = None, False
        due = piece.step + 1 >= self._next_probe and piece.size >= 2
        self._loaded = loaded if due else None
        if due:
            self._initial = ModelState(self._module)
            self._tape = Tape(piece.size, self._module)

    def _call(self, forward: Callable[..., Any], arguments: Any, options: Any) -> Any:
        """A call of the model; the first batch with two examples is recorded for the probe."""
        tape = self.tape() if torch.is_grad_enabled() else None
        if torch.is_grad_enabled() and not self._called:
            self._called = True
            forget_activations(self._clipping.model)
        if tape is not None:
            tape.begin_call()
        output = forward(*arguments, **options)
        return output if tape is None else tape.record(arguments, options, output)

    def tape(self) -> Tape | None:
        """The record of the batch that is out, if it is to be probed."""
        return None if self._progress.out is None else self._tape

    # -- one batch --------------------------------------------------------------------------------

    def piece(self) -> Piece:
        """The batch that is out."""
        return self._progress.current()[0]

    def compute(self, losses: torch.Tensor, recipe: Recipe | None, of: Piece) -> None:
        """The backward pass of the batch that is out; `PlanMismatch` for another, or a second."""
        piece, limit = self._progress.current()
        if of is not piece:
            raise PlanMismatch(
                "The loss is of an earlier batch than the one that is out; compute the loss of a "
                "batch and call its backward() before the next batch."
            )
        self._check_refused()
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
        if not self._clipping.model.training:
            raise PlanMismatch(
                "The model is in evaluation mode, in which gradients of single examples are not "
                "computed; call model.train() before the step."
            )
        sample = None
        if self._tape is not None:
            # Both are there whenever a batch is recorded.
            assert recipe is not None
            assert self._loaded is not None
            sample = Sample(self._tape, recipe, self._loaded)
        rows = [] if sample is None else sample.rows
        with _in_one_sentence():
            found = self._clipping.clipped(losses, self._parameters, piece, limit, keep=rows)
        forget_activations(self._clipping.model)
        if sample is not None:
            self._run_probe(sample, batch=Outcome(losses.detach(), found.rows, {}))
        self._ready = (piece, found.sums)

    def _run_probe(self, sample: Sample, *, batch: Outcome | None) -> ProbeReport:
        step, initial = self._progress.taken + 1, self._initial
        assert initial is not None
        if self._tape is not None:
            self._tape.close()
        try:
            with _in_one_sentence():
                report = self._probe(sample, batch=batch, initial=initial, step=step)
        except PlanMismatch as refusal:
            self._refusal = refusal
            raise
        self._watch.hold_buffers(except_for=report.changing_buffers)
        self._report, self._sample, self._tape = report, sample, None
        self._next_probe = NEXT * step
        return report

    def take(self, piece: Piece) -> list[torch.Tensor]:
        """The sums of the batch, for the optimizer's step."""
        self._check_refused()
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
        self._next_probe = 1
        forget_gradients(self._clipping.model)
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
        self._check_refused()
        self._initial = ModelState(self._module)
        return self._run_probe(self._sample, batch=None)

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


@contextmanager
def _in_one_sentence() -> Iterator[None]:
    """Errors of layers that Opacus or PyTorch cannot handle, as a refusal."""
    try:
        yield
    except (HockeystickError, MemoryError):
        raise
    except Exception as error:
        raise PlanMismatch(
            "The gradients of single examples could not be computed "
            f"({type(error).__name__}: {' '.join(str(error).split())[:200]})."
        ) from error


def _identity(gradient: torch.Tensor | None) -> tuple[int, int] | None:
    return None if gradient is None else (id(gradient), gradient._version)

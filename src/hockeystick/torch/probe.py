"""The independence probe: nothing of an example may change when others leave the batch.

Clipping bounds what an example adds to the sum. That is all of its influence only if the losses and
gradients of the *other* examples do not depend on it. Layers, functional calls, losses and hooks
that use statistics of the batch break this, and so do buffers that are updated from data. The probe
computes losses and gradients of a few examples together and in parts of the group, so that each two
of them are together once and apart once, and compares. Where random operations such as dropout take
part, an example draws the same in all passes, and there are several rounds with other numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch

from hockeystick.errors import PlanMismatch
from hockeystick.torch.clipping import Clipping, forget_activations, forget_gradients
from hockeystick.torch.mixing_layer import first_mixing_layer
from hockeystick.torch.model_state import ModelState, kept_state, same
from hockeystick.torch.outcome import Outcome, relative_change, rows_of
from hockeystick.torch.probe_report import ProbeReport
from hockeystick.torch.rowwise import CONSTANT, LAYOUTS, kept_random_states
from hockeystick.torch.sample import Sample
from hockeystick.training.gradients import halves

__all__ = ["IndependenceProbe"]

# Largest relative change that rounding explains: other batch sizes sum in another order. The clean
# networks of tests/pytorch/test_random_networks.py stay below a third of it.
TOLERANCE = {torch.float32: 1e-4, torch.float64: 1e-9}
# How far the gradients that Opacus computes may be from those of the losses, by rounding.
WRONG = 2e-3
# Where rounding is known to be larger: reduced precision, and small differences of large numbers.
ROUGHLY = 0.05
# Rounds with other random numbers, where there are any.
ROUNDS = 3


class IndependenceProbe:
    """Runs on a sample of a recorded batch: eight forward and backward passes of few examples."""

    def __init__(self, clipping: Clipping, parameters: list[torch.Tensor]) -> None:
        self._clipping, self._parameters = clipping, parameters
        self._module: torch.nn.Module = clipping.model._module
        wide = all(p.dtype == torch.float64 for p in parameters)
        self._tolerance = TOLERANCE[torch.float64 if wide else torch.float32]

    def __call__(
        self, sample: Sample, *, batch: Outcome | None, initial: ModelState, step: int
    ) -> ProbeReport:
        """`PlanMismatch` if an example influences another.

        `batch` has the losses of the batch, and the gradients of the sample as the batch gave them.
        Passes start from the `initial` state of the model, before the batch was seen.
        """
        with kept_random_states(), kept_state(self._module), torch.enable_grad():
            initial.restore()
            try:
                changes, buffers = self._changes(sample, batch)
            except PlanMismatch as refusal:
                changes, buffers = self._in_double_precision(sample, batch, refusal)
        return ProbeReport(
            step=step,
            examples=len(sample),
            largest_change=max(changes),
            inputs_as_loaded=sample.as_loaded,
            changing_buffers=buffers,
        )

    def _changes(self, sample: Sample, batch: Outcome | None) -> tuple[list[float], frozenset[str]]:
        """All that were seen, and the buffers that change without the data."""
        sample.random_operations = sample.opaque_operations = 0
        sample.layout = CONSTANT
        try:
            changes, buffers = self._round(sample)
        except PlanMismatch:
            if not sample.opaque_operations:
                raise
            changes, buffers = [], frozenset()
        random = bool(sample.random_operations)
        sample.as_in_batch(exactly=random)
        if random:
            more, buffers = self._any_layout(sample)
            changes += more
        if random or sample.in_reduced_precision:
            with kept_state(self._module):
                changes.append(self._in_whole_batch(sample))
            self._check_recorded(sample, batch)
        elif batch is not None:
            changes.append(self._of_step(sample, batch))
        return changes, buffers

    def _of_step(self, sample: Sample, batch: Outcome) -> float:
        """The change from what the step itself computed, with the whole batch."""
        whole = self._pass(sample, range(len(sample)))
        seen = Outcome(batch.losses[sample.rows], batch.gradients, whole.buffers)
        return self._change(seen, whole, sample)

    def _any_layout(self, sample: Sample) -> tuple[list[float], frozenset[str]]:
        """Random tensors may be laid out in several ways; examples that mix do so in all."""
        refusals = []
        for layout in LAYOUTS:
            sample.layout = layout
            try:
                changes: list[float] = []
                for _ in range(ROUNDS):
                    sample.new_seed()
                    more, buffers = self._round(sample)
                    changes += more
                return changes, buffers
            except PlanMismatch as refusal:
                refusals.append(refusal)
        raise refusals[0]

    def _round(self, sample: Sample) -> tuple[list[float], frozenset[str]]:
        """The sample together, in parts, and after one another."""
        whole = self._pass(sample, range(len(sample)))
        changes = [
            self._change(self._pass(sample, part), whole.select(part), sample)
            for part in halves(len(sample))
        ]
        changes.append(self._after_another(sample, whole))
        self._check_gradients(sample, whole)
        return changes, frozenset(whole.buffers)

    def _in_double_precision(
        self, sample: Sample, batch: Outcome | None, refusal: PlanMismatch
    ) -> tuple[list[float], frozenset[str]]:
        """Once more with everything in double precision, if the model can do that.

        Where a small difference of large numbers is left, rounding seems to be an influence. The
        step itself was in single precision and is compared with a wider tolerance.
        """
        if self._tolerance != TOLERANCE[torch.float32]:
            raise refusal
        try:
            with self._widened(sample):
                changes, buffers = self._changes(sample, None)
                changes.append(self._gradients_in_whole_batch(sample))
        except PlanMismatch:
            raise refusal from None
        if sample.random_operations or sample.in_reduced_precision:
            self._check_recorded(sample, batch)
        elif batch is not None:
            self._tolerance = ROUGHLY
            try:
                self._of_step(sample, batch)
            finally:
                self._tolerance = TOLERANCE[torch.float32]
        return changes, buffers

    @contextmanager
    def _widened(self, sample: Sample) -> Iterator[None]:
        """Model and sample in double precision; afterwards they are as they were, bit by bit."""
        kept = [(p, p.data) for p in self._module.parameters()]
        with kept_state(self._module):
            sample.dtype, self._tolerance = torch.float64, TOLERANCE[torch.float64]
            try:
                self._module.double()
                yield
            finally:
                sample.dtype, self._tolerance = None, TOLERANCE[torch.float32]
                for parameter, data in kept:
                    parameter.data = data

    def _after_another(self, sample: Sample, whole: Outcome) -> float:
        """The change of a part when another was there before it: nothing may be kept of that."""
        first, second = halves(len(sample))[:2]
        with kept_state(self._module):
            for part in (first, second):
                losses, gradients = self._computed(sample, part)
            now = Outcome(losses.detach(), gradients, whole.buffers)
            return self._change(now, whole.select(second), sample)

    def _in_whole_batch(self, sample: Sample) -> float:
        """Losses only, which are computed again: those of the step had other random numbers."""
        alone = sample.losses(range(len(sample))).detach()
        with torch.no_grad():
            together = Outcome(sample.losses_in_batch(), [], {})
        return self._change(together, Outcome(alone, [], {}), sample)

    def _gradients_in_whole_batch(self, sample: Sample) -> float:
        """Losses and gradients, one example after the other: no batch of gradients is held."""
        with kept_state(self._module):
            together = self._one_by_one(sample.losses_in_batch)
        with kept_state(self._module):
            alone = self._one_by_one(lambda: sample.losses(range(len(sample))))
        return self._change(together, alone, sample)

    def _check_recorded(self, sample: Sample, batch: Outcome | None) -> None:
        """What was recorded gives the losses of the step, with the step's own random numbers."""
        if batch is None:
            return
        with kept_state(self._module):
            again = sample.losses_of_step()
        tolerance = ROUGHLY if sample.in_reduced_precision else self._tolerance
        if not relative_change([again], [batch.losses]) <= tolerance:
            raise PlanMismatch(
                "The losses of the batch cannot be repeated from the model's inputs, so that it "
                "stays unknown whether examples influence each other; put everything between the "
                "model's output and the loss into the criterion."
            )

    def _pass(self, sample: Sample, part: Sequence[int]) -> Outcome:
        """These examples alone; afterwards the model's state is as it was."""
        with kept_state(self._module) as state:
            losses, gradients = self._computed(sample, part)
            return Outcome(losses.detach(), gradients, state.changed_buffers())

    def _computed(
        self, sample: Sample, part: Sequence[int]
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        # A pass that was broken off leaves activations behind.
        forget_activations(self._clipping.model)
        losses = sample.losses(part)
        return losses, self._clipping.gradients(losses, self._parameters)

    def _change(self, now: Outcome, expected: Outcome, sample: Sample) -> float:
        """The largest relative change; `PlanMismatch` if it is not rounding."""
        compared = {"loss": ([now.losses], [expected.losses])}
        if now.gradients:
            compared["gradient"] = (now.gradients, expected.gradients)
        changes = {what: relative_change(*pair) for what, pair in compared.items()}
        for what, change in changes.items():
            if not change <= self._tolerance:
                with kept_state(self._module):
                    where = first_mixing_layer(self._module, sample, self._tolerance)
                raise PlanMismatch(
                    f"Examples of a batch influence each other: the {what} of one changes by "
                    f"{change:.2g} of its size with the others that are there, first seen in "
                    f"{where}; each example's loss has to depend on that example alone."
                )
        for name in () if now.buffers is expected.buffers else {*now.buffers, *expected.buffers}:
            one, other = now.buffers.get(name), expected.buffers.get(name)
            if one is None or other is None or not same(one, other):
                raise PlanMismatch(
                    f"The buffer {name} is updated from the examples of a batch; what it keeps "
                    "would leave the run without noise."
                )
        return max(changes.values())

    def _check_gradients(self, sample: Sample, whole: Outcome) -> None:
        """The gradients that are clipped are those of the examples' losses.

        A loss that is not finite spoils the gradients of all others in PyTorch's own sum.
        """
        if not bool(torch.isfinite(whole.losses).all()):
            return
        with kept_state(self._module):
            computed = self._one_by_one(lambda: sample.losses(range(len(sample))))
        true = [rows_of(rows) for rows in computed.gradients]
        size = torch.linalg.vector_norm(torch.cat(true, dim=1).nan_to_num(), dim=1)
        size = size.clamp(min=torch.finfo(torch.float32).tiny)
        names = {id(p): name for name, p in self._module.named_parameters()}
        for parameter, rows, wanted in zip(self._parameters, whole.gradients, true, strict=True):
            error = float((torch.linalg.vector_norm(rows_of(rows) - wanted, dim=1) / size).max())
            if not error <= WRONG:
                raise PlanMismatch(
                    "The gradients of single examples that Opacus computes for "
                    f"{names[id(parameter)]} are not those of the examples' losses (wrong by "
                    f"{error:.2g} of their size); a parameter that is used outside of its own "
                    "layer, or a hook that changes gradients, is a usual cause."
                )

    def _one_by_one(self, losses_of: Callable[[], torch.Tensor]) -> Outcome:
        """Losses, and their gradients by PyTorch alone: for each parameter a row for each loss."""
        model = self._clipping.model
        each: list[list[torch.Tensor]] = []
        model.disable_hooks()
        try:
            losses = losses_of()
            for one in losses:
                forget_gradients(model)
                one.backward(retain_graph=True)
                each.append(
                    [torch.zeros_like(p) if p.grad is None else p.grad for p in self._parameters]
                )
        finally:
            forget_gradients(model)
            model.enable_hooks()
        rows = [torch.stack(gradients) for gradients in zip(*each, strict=True)]
        return Outcome(losses.detach(), rows, {})

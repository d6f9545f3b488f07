"""The independence probe: losses and gradients of an example may not change with the others.

Clipping bounds what an example adds to the sum. That is all of its influence only if the losses and
gradients of the *other* examples do not depend on it. Layers, functional calls, losses and hooks
that use statistics of the batch break this, and so do buffers that are updated from data. The probe
computes losses and gradients of a few examples together and in halves, so that each two of them are
together once and apart once, and compares. Where there are random operations such as dropout, an
example gets the same random numbers in all passes, and there are several rounds with other numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import torch

from hockeystick.errors import PlanMismatch
from hockeystick.torch.clipping import Clipping
from hockeystick.torch.example_randomness import CONSTANT, LAYOUTS, kept_random_states
from hockeystick.torch.model_state import ModelState, in_double_precision, kept_state, same
from hockeystick.torch.per_sample_module import forget_activations
from hockeystick.torch.probe_outcomes import (
    PassResult,
    ProbeReport,
    first_mixing_layer,
    length_of,
    one_by_one,
    relative_change,
)
from hockeystick.torch.replay import ProbeExamples
from hockeystick.training.gradients import halves

__all__ = ["IndependenceProbe"]

# Largest relative change that rounding explains: other batch sizes sum in another order. The clean
# networks of tests/pytorch/test_random_networks.py stay below a third of it.
TOLERANCE = {torch.float32: 1e-4, torch.float64: 1e-9}
# How far, relatively, the gradients that Opacus computes may be from those of the losses: rounding
# in single precision through all layers.
GRADIENT_ERROR = 2e-3
# Where rounding is larger: half precision has 8 to 11 bits, and differences may lose as many.
WIDE_TOLERANCE = 0.05
HALF = {torch.bfloat16, torch.float16}
# Rounds with other random numbers: that dropout hides an influence in all is geometrically rare.
ROUNDS = 3


class IndependenceProbe:
    """Runs on a few examples of a recorded batch: eight forward and backward passes."""

    def __init__(self, clipping: Clipping, parameters: list[torch.Tensor]) -> None:
        self._clipping = clipping
        self._module: torch.nn.Module = clipping.model._module
        names = {id(p): name for name, p in self._module.named_parameters()}
        self._names = [names[id(p)] for p in parameters]
        types = {p.dtype for p in parameters}
        self._tolerance = TOLERANCE[torch.float64 if types == {torch.float64} else torch.float32]
        self._half = bool(types & HALF)

    @property
    def _parameters(self) -> list[torch.Tensor]:
        """Those that the model has now: of a sharded model that is made whole, the whole ones."""
        now = dict(self._module.named_parameters())
        return [now[name] for name in self._names]

    def __call__(
        self, probed: ProbeExamples, *, batch: PassResult | None, initial: ModelState, step: int
    ) -> ProbeReport:
        """`PlanMismatch` if an example influences another.

        `batch` has the losses of the batch, and the gradients that the probed examples had in it.
        Passes start from the `initial` state of the model, before the batch.
        """
        with kept_random_states(), kept_state(self._module), torch.enable_grad():
            initial.restore()
            refusal = None
            try:
                found = None if self._half else self._changes(probed, batch)
            except PlanMismatch as error:
                found, refusal = None, error
            changes, buffers = found or self._in_double_precision(probed, batch, refusal)
        # Losses that were computed without their gradients leave activations behind.
        forget_activations(self._clipping.model)
        return ProbeReport(
            step=step,
            examples=len(probed),
            largest_change=max(changes),
            inputs_as_loaded=probed.as_loaded,
            changing_buffers=buffers,
        )

    def _changes(
        self, probed: ProbeExamples, batch: PassResult | None
    ) -> tuple[list[float], frozenset[str]]:
        """All relative changes, and the buffers that change whatever the data."""
        probed.random_operations = probed.opaque_operations = 0
        probed.layout = CONSTANT
        try:
            changes, buffers = self._round(probed)
        except PlanMismatch:
            if not probed.opaque_operations:
                raise
            changes, buffers = [], frozenset()
        random = bool(probed.random_operations)
        probed.as_in_batch(exactly=random)
        if random:
            more, buffers = self._any_layout(probed)
            changes += more
        if random or probed.in_reduced_precision:
            with kept_state(self._module):
                changes.append(self._in_whole_batch(probed))
            self._check_recorded(probed, batch)
        elif batch is not None:
            changes.append(self._of_step(probed, batch))
        return changes, buffers

    def _of_step(self, probed: ProbeExamples, batch: PassResult) -> float:
        """The change from what the step itself computed with the whole batch."""
        whole = self._pass(probed, range(len(probed)))
        seen = PassResult(batch.losses[probed.rows], batch.gradients, whole.buffers)
        return self._change(seen, whole, probed)

    def _any_layout(self, probed: ProbeExamples) -> tuple[list[float], frozenset[str]]:
        """One layout of random tensors without influence suffices; examples that mix do in all."""
        refusals = []
        for layout in LAYOUTS:
            probed.layout = layout
            try:
                changes: list[float] = []
                for _ in range(ROUNDS):
                    probed.new_seed()
                    more, buffers = self._round(probed)
                    changes += more
                return changes, buffers
            except PlanMismatch as refusal:
                refusals.append(refusal)
        raise refusals[0]

    def _round(self, probed: ProbeExamples) -> tuple[list[float], frozenset[str]]:
        """The probed examples together, in halves, and one half after the other."""
        whole = self._pass(probed, range(len(probed)))
        changes = [
            self._change(self._pass(probed, part), whole.select(part), probed)
            for part in halves(len(probed))
        ]
        changes.append(self._after_another(probed, whole))
        self._check_gradients(probed, whole)
        return changes, frozenset(whole.buffers)

    def _in_double_precision(
        self, probed: ProbeExamples, batch: PassResult | None, refusal: PlanMismatch | None
    ) -> tuple[list[float], frozenset[str]]:
        """With everything in double precision, if the model can do that.

        In half precision, and where large numbers have small differences, rounding looks like an
        influence. The step itself is compared with a wider tolerance.
        """
        if refusal is not None and self._tolerance != TOLERANCE[torch.float32]:
            raise refusal
        try:
            with in_double_precision(self._module), self._widened(probed):
                changes, buffers = self._changes(probed, None)
                changes.append(self._gradients_in_whole_batch(probed))
        except PlanMismatch as error:
            raise refusal or error from None
        if probed.random_operations or probed.in_reduced_precision:
            self._check_recorded(probed, batch)
        elif batch is not None:
            self._tolerance = WIDE_TOLERANCE
            try:
                self._of_step(probed, batch)
            finally:
                self._tolerance = TOLERANCE[torch.float32]
        return changes, buffers

    @contextmanager
    def _widened(self, probed: ProbeExamples) -> Iterator[None]:
        """Inputs and tolerance of double precision."""
        probed.dtype, self._tolerance = torch.float64, TOLERANCE[torch.float64]
        try:
            yield
        finally:
            probed.dtype, self._tolerance = None, TOLERANCE[torch.float32]

    def _after_another(self, probed: ProbeExamples, whole: PassResult) -> float:
        """The change of one half when another came before it: the model may keep nothing of it."""
        first, second = halves(len(probed))[:2]
        with kept_state(self._module):
            for part in (first, second):
                losses, gradients = self._computed(probed, part)
            now = PassResult(losses.detach(), gradients, whole.buffers)
            return self._change(now, whole.select(second), probed)

    def _in_whole_batch(self, probed: ProbeExamples) -> float:
        """Of losses only, which are computed again: the step had other random numbers."""
        alone = probed.losses(range(len(probed))).detach()
        with torch.no_grad():
            together = PassResult(probed.losses_in_batch(), [], {})
        return self._change(together, PassResult(alone, [], {}), probed)

    def _gradients_in_whole_batch(self, probed: ProbeExamples) -> float:
        """Of losses and gradients, one example after the other: no batch of gradients is held."""
        with kept_state(self._module):
            together = self._rows_one_by_one(probed.losses_in_batch)
        with kept_state(self._module):
            alone = self._rows_one_by_one(lambda: probed.losses(range(len(probed))))
        return self._change(together, alone, probed)

    def _check_recorded(self, probed: ProbeExamples, batch: PassResult | None) -> None:
        """The replay gives the losses of the step, with the step's own random numbers."""
        if batch is None:
            return
        with kept_state(self._module):
            again = probed.losses_of_step()
        tolerance = WIDE_TOLERANCE if probed.in_reduced_precision else self._tolerance
        if not relative_change([again], [batch.losses]) <= tolerance:
            raise PlanMismatch(
                "The losses of the batch cannot be repeated from the model's inputs, so that it "
                "stays unknown whether examples influence each other; put everything between the "
                "model's output and the loss into the criterion."
            )

    def _pass(self, probed: ProbeExamples, part: Sequence[int]) -> PassResult:
        """A pass of these examples alone; afterwards the model's state is as it was."""
        with kept_state(self._module) as state:
            losses, gradients = self._computed(probed, part)
            return PassResult(losses.detach(), gradients, state.changed_buffers())

    def _computed(
        self, probed: ProbeExamples, part: Sequence[int]
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        # A pass that was interrupted leaves activations behind.
        forget_activations(self._clipping.model)
        losses = probed.losses(part)
        return losses, self._clipping.gradients(losses, self._parameters)

    def _change(self, now: PassResult, expected: PassResult, probed: ProbeExamples) -> float:
        """The largest relative change; `PlanMismatch` if it is not rounding."""
        compared = {"loss": ([now.losses], [expected.losses])}
        if now.gradients:
            compared["gradient"] = (now.gradients, expected.gradients)
        changes = {what: relative_change(*pair) for what, pair in compared.items()}
        for what, change in changes.items():
            if not change <= self._tolerance:
                with kept_state(self._module):
                    where = first_mixing_layer(self._module, probed, self._tolerance)
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

    def _check_gradients(self, probed: ProbeExamples, whole: PassResult) -> None:
        """The gradients that are clipped are those of the examples' losses.

        A loss that is not finite spoils the gradients of all others in PyTorch's own sum.
        """
        if not bool(torch.isfinite(whole.losses).all()):
            return
        errors = torch.empty(len(self._names), len(probed), dtype=torch.float64)
        lengths = torch.empty_like(errors)

        def compare(row: int, gradients: list[torch.Tensor]) -> None:
            for number, (rows, true) in enumerate(zip(whole.gradients, gradients, strict=True)):
                errors[number, row] = length_of(rows[row], true)
                lengths[number, row] = length_of(true)

        with kept_state(self._module):
            whole_losses = partial(probed.losses, range(len(probed)))
            one_by_one(self._clipping.model, self._parameters, whole_losses, compare)
        size = torch.linalg.vector_norm(lengths, dim=0)
        size = size.clamp(min=torch.finfo(torch.float32).tiny)
        for name, wrong in zip(self._names, errors, strict=True):
            error = float((wrong / size).max())
            if not error <= GRADIENT_ERROR:
                raise PlanMismatch(
                    "The gradients of single examples that Opacus computes for "
                    f"{name} are not those of the examples' losses (wrong by {error:.2g} of their "
                    "size); a parameter that is used outside of its own layer, or a hook that "
                    "changes gradients, is a usual cause."
                )

    def _rows_one_by_one(self, losses_of: Callable[[], torch.Tensor]) -> PassResult:
        """Losses and gradients, a row for each loss."""
        each: list[list[torch.Tensor]] = []
        model, parameters = self._clipping.model, self._parameters
        losses = one_by_one(model, parameters, losses_of, lambda _, found: each.append(found))
        rows = [torch.stack(gradients) for gradients in zip(*each, strict=True)]
        return PassResult(losses, rows, {})

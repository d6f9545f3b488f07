"""TorchRun: model, optimizer and loader of one run, and its privacy statement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from torch import nn

from hockeystick._process import refuse_setting
from hockeystick.errors import InvalidParameter, PlanMismatch
from hockeystick.torch.adapting import Adapting
from hockeystick.torch.clipping import Clipping
from hockeystick.torch.forms import Epoch, EpochSplit, Form
from hockeystick.torch.gradient_sums import GradientSums
from hockeystick.torch.layouts import Layout
from hockeystick.torch.loader import PlanLoader
from hockeystick.torch.losses import PrivateCriterion
from hockeystick.torch.optimizer import PlanOptimizer
from hockeystick.torch.original_state import check_model_state
from hockeystick.torch.probe_outcomes import ProbeReport
from hockeystick.torch.progress import Progress
from hockeystick.torch.run_facts import RunFacts, fingerprint
from hockeystick.torch.run_group import agreed
from hockeystick.torch.saved_folders import load_folder, save_folder
from hockeystick.training.canaries import RunCanaries
from hockeystick.training.record import RunRecord, statement, versions_of
from hockeystick.training.schedules import as_lists
from hockeystick.training.statements import Statement

__all__ = ["TorchRun"]


class TorchRun(RunFacts):
    """A private run, made by `make_private`; the model's `_module` is the one that was given.

    Attributes
    ----------
    model, optimizer, loader
        What the training loop uses.
    plan, noise_multiplier, max_grad_norm, expected_batch_size
        What is run, given or chosen.
    delta, choice
        The delta that was asked for, and what was chosen and why; None if the plan was given.
    taken_steps, finished, stopped_by
        How far it is, whether another step may follow, what ended it.
    """

    what = "The private run"
    instead = "let one run follow the other by state_dict() and load_state_dict()"

    def __init__(
        self,
        *,
        clipping: Clipping,
        gradients: GradientSums,
        optimizer: PlanOptimizer,
        loader: PlanLoader,
        progress: Progress,
        filter_description: dict[str, object] | None,
        form: Form,
        layout: Layout,
        adapting: Adapting,
        canaries: RunCanaries | None = None,
    ) -> None:
        self._form, self._layout, self._adapting = form, layout, adapting
        self._canaries = canaries
        self._clipping, self._optimizer, self._loader = clipping, optimizer, loader
        self._gradients, self._progress, self._filter = gradients, progress, filter_description

    def __setattr__(self, name: str, value: Any) -> None:
        """RunSettings are fixed when the run is made."""
        if not name.startswith("_"):
            refuse_setting(self, name, value)
        object.__setattr__(self, name, value)

    @property
    def model(self) -> nn.Module:
        """The module to call in the loop."""
        return self._clipping.model

    @property
    def optimizer(self) -> PlanOptimizer:
        """The optimizer to step."""
        return self._optimizer

    @property
    def loader(self) -> PlanLoader:
        """The loader to iterate over."""
        return self._loader

    def __iter__(self) -> Iterator[Any]:
        return iter((self.model, self.optimizer, self.loader))

    def __repr__(self) -> str:
        return (
            f"TorchRun({self.plan.sampling!r}, {self.plan.strategy!r}, "
            f"noise_multiplier={self.noise_multiplier:.5g}, {self.taken_steps} of "
            f"{self.plan.steps} steps taken)"
        )

    def epochs(self) -> Iterator[Epoch]:
        """The epochs that are left: `for epoch in run.epochs(): for batch in epoch: ...`.

        Without `epochs=` passes in which as many examples are expected as there are. What a break
        left of one is taken in the next.

        Returns
        -------
        iterator of Epoch
            Each is iterated over once, like a loader, with its length and its number.
        """
        settings, split = self._progress.settings, self._progress.passes
        if self._form.epochs is None:
            split = EpochSplit.near(
                settings.plan.steps,
                examples=settings.examples,
                expected_batch_size=settings.expected_batch_size,
            )
        for number in range(split.at(self.taken_steps), split.count):
            if self.finished:
                return
            yield Epoch(number, split.length(number), split.end(number), self._loader)

    def close(self) -> None:
        """End the run for good: a further step raises `PlanMismatch`.

        Model and original optimizer are ordinary ones again; `record` and `statement` stay. A run
        whose steps are all taken closes by itself.
        """
        self._optimizer.close()

    def set(
        self,
        *,
        noise_multiplier: float | None = None,
        rate: float | None = None,
        max_grad_norm: float | None = None,
    ) -> None:
        """Other settings from the next step on, in a run with a filter; all ranks call it.

        Call it after a step and before the next batch. That batch is drawn at the new rate and
        divided by its expected size, its noise has the standard deviation noise_multiplier *
        max_grad_norm, and the filter is charged for that. What workers have loaded ahead is loaded
        again. Base the values on what was released, never on the size or the loss of a batch.

        Parameters
        ----------
        noise_multiplier, rate, max_grad_norm
            Those that change.

        Raises
        ------
        PlanMismatch
            Without a filter, while the step of a batch is not taken, and if ranks differ.
        UnsupportedPlan
            For the rate of full batches.
        """
        self.check_here()
        given = {"noise_multiplier": noise_multiplier, "rate": rate, "max_grad_norm": max_grad_norm}
        self._adapting.set(self._filter is not None, **given)

    def loss(self, criterion: Any) -> PrivateCriterion:
        """The criterion to use in the loop, with one loss for each example of the batch.

        Parameters
        ----------
        criterion
            A loss module or function with `reduction="none"`; a mean or sum over the batch is
            converted where that is exact, and refused where it is not. With "sum" the losses of an
            example's positions are added; the divisor stays the expected batch size.

        Returns
        -------
        PrivateCriterion
            Called like the criterion; its losses have `backward()` and `item()`.
        """
        return PrivateCriterion(criterion, self._gradients)

    def probe(self) -> ProbeReport:
        """Check again that no example influences another, with the present parameters.

        It runs by itself in the first backward pass of a batch with two or more examples; this
        repeats it on the same examples.

        Returns
        -------
        ProbeReport
            The largest relative change, and what was compared.

        Raises
        ------
        PlanMismatch
            If there is an influence.
        """
        return self._gradients.probe_again()

    def record(self) -> RunRecord:
        """What happened so far."""
        settings = self._progress.settings
        return RunRecord(
            plan=settings.plan,
            noise_multiplier=settings.noise_multiplier,
            max_grad_norm=settings.max_grad_norm,
            taken_steps=self._progress.taken,
            filter=self._filter,
            seeded=settings.seeded,
            probe=None if self._gradients.report is None else self._gradients.report.describe(),
            arithmetic=settings.arithmetic,
            clipping=settings.clip_facts,
            versions=versions_of("torch", "opacus"),
            examples=settings.examples,
            run_id=settings.run_id,
            taken_schedule=as_lists(self._progress.schedule),
        )

    def statement(self, *, delta: float | None = None, **options: Any) -> Statement:
        """The privacy statement of the run, with the fingerprint of the model as it is now.

        Parameters
        ----------
        delta
            In (0, 1); by default the one that `make_private` was given, or that of the filter.
        options
            Those of `training.statement`.
        """
        delta = self.delta if delta is None else delta
        if delta is None:
            given: Any = (self.record().filter or {}).get("delta")
            delta = given
        if delta is None:
            allowed = "in (0, 1), as statement(delta=1e-5): the run was made without one"
            raise InvalidParameter("delta", allowed, delta)
        options.setdefault("parameters", fingerprint(self._clipping.model))
        return statement(self.record(), delta=delta, **options)

    def state_dict(self) -> dict[str, Any]:
        """Model and optimizer with noise and batches: everything needed to continue elsewhere.

        As secret as the data. The state of a filter is not in it: give the filter a ledger.
        """
        model: nn.Module = self._clipping.model
        return {"model": model.state_dict(), "optimizer": self._optimizer.state_dict()}

    def load_state_dict(self, state: Any) -> None:
        """Continue from a saved state; see `PlanOptimizer.load_state_dict`.

        Parameters
        ----------
        state
            What `state_dict()` returned.
        """
        agreed(self._layout.group, lambda: self._check_parts(state))
        self._optimizer.load_state_dict(state["optimizer"])
        self._clipping.model.load_state_dict(state["model"])

    def _check_parts(self, state: Any) -> None:
        if not isinstance(state, Mapping) or set(state) != {"model", "optimizer"}:
            raise PlanMismatch("The state was not saved by a private run.")
        check_model_state(self._clipping.model, state["model"])

    def save(self, folder: str | Path) -> None:
        """Write the run as of its last whole step to a folder, by PyTorch's distributed checkpoint.

        As secret as the data, and its owner's alone. It appears when complete. All ranks call it.

        Parameters
        ----------
        folder
            One that does not exist yet, on a disk that all ranks share.
        """
        save_folder(folder, self.state_dict(), self._layout.group)

    def load(self, folder: str | Path) -> None:
        """Continue from a folder that `save` wrote, also with another number of ranks.

        All ranks call it. Load only folders that you saved: reading one can execute code.

        Parameters
        ----------
        folder
            What was given to `save`.

        Raises
        ------
        PlanMismatch
            As for `load_state_dict`; nothing is changed then.
        """
        numbered = [p for group in self._optimizer.param_groups for p in group["params"]]
        self.load_state_dict(load_folder(folder, self.model.state_dict(), numbered, self._layout))

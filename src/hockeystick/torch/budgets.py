"""What permits a step: the plan alone, or a filter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hockeystick.errors import BudgetExceeded, HockeystickError, PlanMismatch, shown
from hockeystick.filters import Filter, Individual, Permit
from hockeystick.torch.progress import Budget, ClipLimit
from hockeystick.torch.repeated_steps import StepEntries, Witness
from hockeystick.torch.run_group import RunGroup
from hockeystick.training.filtered import describe_filter
from hockeystick.training.schedules import StepSettings

__all__ = [
    "FilterBudget",
    "GroupBudget",
    "PlanBudget",
    "check_remembered",
    "check_same",
    "identity",
]


class PlanBudget:
    """No filter: the number of steps is the only limit."""

    noted: bool = False
    again: str | None = None
    before: Witness | None = None

    def __init__(self, clip: float) -> None:
        self._limit = ClipLimit(clip)

    def use(self, now: StepSettings) -> None:
        """The clip norm may follow released counts."""
        self._limit = ClipLimit(now.max_grad_norm)

    def permit(self, step: int) -> ClipLimit:
        """The clip norm, always."""
        return self._limit

    def done(self) -> None:
        """Nothing is charged."""

    def state(self) -> dict[str, Any]:
        """Nothing was spent."""
        return {}

    def released(self, step: int, witness: Witness) -> None:
        """Nobody asks."""

    def check(self, state: dict[str, Any], run: str) -> None:
        """A run with a filter does not continue without it."""
        if state != {}:
            raise PlanMismatch("The saved run had a filter; it cannot continue without one.")

    def restored(self) -> None:
        """Nothing was charged."""


class FilterBudget:
    """A filter's permit for each step; it is requested when the batch is loaded.

    A restored run has charged some of its next steps before: they have their permits already, and
    what they release has to be the same as before (`repeated_steps`).
    """

    noted = True
    again: str | None = None

    def __init__(
        self,
        privacy_filter: Filter,
        *,
        run: str,
        lineage: Callable[[], str],
        rate: float,
        noise_multiplier: float,
        clip: float,
    ) -> None:
        self._filter = privacy_filter
        self._rate, self._noise_multiplier, self._clip = rate, noise_multiplier, clip
        self._entries = self._restored = StepEntries(run, lineage)
        self.before: Witness | None = None
        # A batch that comes again after an interrupted pass has its permit already.
        self._held: tuple[int, Permit] | None = None
        # What was spent after the last request of this run.
        self._left_at = privacy_filter.spent

    def use(self, now: StepSettings) -> None:
        """What the next permits are requested for."""
        assert now.rate is not None
        self._rate, self._noise_multiplier = now.rate, now.noise_multiplier
        self._clip = now.max_grad_norm

    def permit(self, step: int) -> ClipLimit:
        """The clip norm, scaled down where the budget does not suffice for the whole step."""
        if self._held is None or self._held[0] != step:
            self._held = (step, self._permit(step))
        self.before = self._entries.witness(step)
        return ClipLimit(self._clip * self._held[1].clip_scale)

    def _permit(self, step: int) -> Permit:
        """That of the step's entry if there is one already, otherwise a new one."""
        if self._filter.spent != self._left_at:
            # Somebody else has spent: perhaps this run, going on elsewhere from the same state.
            self._entries.read(self._filter.history)
        entry = self._entries.entry(step)
        if entry is None:
            permit = self._filter.request(
                rate=self._rate,
                noise_multiplier=self._noise_multiplier,
                note=self._entries.note(step),
            )
            self._left_at = self._filter.spent
            return permit
        permit = self._filter.repeated(entry)
        asked = (1, self._rate, self._noise_multiplier, 1.0)
        if (permit.steps, permit.rate, permit.noise_multiplier, permit.sensitivity) != asked:
            raise PlanMismatch(
                f"The ledger has another rate or noise for step {step + 1} of this run."
            )
        return permit

    def done(self) -> None:
        """Commit the charge."""
        assert self._held is not None
        self._held[1].commit()
        self._held = None

    def state(self) -> dict[str, Any]:
        """Which filter it is, what it has spent, and what the last step released."""
        known = {"spent": self._filter.spent, "before": self._entries.latest}
        return {**identity(self._filter), **known}

    def released(self, step: int, witness: Witness) -> None:
        """Kept with the entry of the next step."""
        self._entries.released(step, witness)

    def check(self, state: dict[str, Any], run: str) -> None:
        """It is the same filter and has spent at least as much; a ledger keeps what was spent."""
        check_same(identity(self._filter), state)
        check_remembered(self._filter.spent, state.get("spent"))
        self._restored = self._entries.restored(run, self._filter.history, state.get("before"))

    def restored(self) -> None:
        """With the entries of the run that goes on."""
        self._entries, self._held = self._restored, None


class GroupBudget:
    """Permits of the first rank, for all ranks: a step is charged once.

    `own` is the budget that the first rank asks; the filters of other ranks are not charged.
    """

    def __init__(self, own: Budget, group: RunGroup) -> None:
        self._own, self._group = own, group
        self.noted = own.noted
        # Groups have no individual budgets.
        self.again: str | None = None
        self.before: Witness | None = None

    def use(self, now: StepSettings) -> None:
        """All ranks know the settings."""
        self._own.use(now)

    def permit(self, step: int) -> ClipLimit:
        """What the first rank is permitted."""
        answer: dict[str, Any] = {}
        if self._group.first:
            try:
                answer = {"clip": self._own.permit(step).clip, "before": self._own.before}
            except HockeystickError as error:
                answer = {"refusal": str(error), "over": isinstance(error, BudgetExceeded)}
            except Exception as error:
                # A disk, a server: the others would wait for ever.
                self._group.of_first({"refusal": f"Rank 0: {error}", "over": False})
                raise
        answer = self._group.of_first(answer)
        if "clip" in answer:
            self.before = answer["before"]
            return ClipLimit(answer["clip"])
        raise (BudgetExceeded if answer["over"] else HockeystickError)(answer["refusal"])

    def done(self) -> None:
        """The first rank commits."""
        if self._group.first:
            self._own.done()

    def state(self) -> dict[str, Any]:
        """That of the first rank."""
        found: dict[str, Any] = self._group.of_first(self._own.state())
        return found

    def released(self, step: int, witness: Witness) -> None:
        """Noted by the first rank."""
        self._own.released(step, witness)

    def check(self, state: dict[str, Any], run: str) -> None:
        """The first rank checks."""
        refusal = None
        if self._group.first:
            try:
                self._own.check(state, run)
            except HockeystickError as error:
                refusal = str(error)
        refusal = self._group.of_first(refusal)
        if refusal is not None:
            raise PlanMismatch(refusal)

    def restored(self) -> None:
        """On the first rank; the filters of the others have not looked for anything."""
        self._own.restored()


def identity(privacy_filter: Filter | Individual) -> dict[str, Any]:
    """What a filter guarantees, and its name in a ledger if it has one.

    Where the ledger is does not count: it may have been moved together with the run.
    """
    store = getattr(privacy_filter, "_store", None)
    return {"filter": describe_filter(privacy_filter), "name": getattr(store, "name", None)}


def check_same(mine: dict[str, Any], saved: dict[str, Any]) -> None:
    """`PlanMismatch` if the saved run had another filter."""
    if "filter" not in saved:
        raise PlanMismatch("The saved run had another kind of filter, or none.")
    for part, value in mine.items():
        if saved.get(part) != value:
            raise PlanMismatch(
                f"The saved run had another filter: its {part} was "
                f"{shown(saved.get(part))}, not {shown(value)}."
            )


def check_remembered(now: float, saved: Any) -> None:
    """`PlanMismatch` if less is spent now than when the run was saved."""
    if isinstance(saved, bool) or not isinstance(saved, (int, float)) or not saved >= 0:
        raise PlanMismatch(f"The saved run does not say what its filter spent, but {shown(saved)}.")
    # Sums of the same charges may be rounded differently.
    if not now >= saved * (1 - 1e-9):
        raise PlanMismatch(
            f"The filter has forgotten what the saved run spent ({now:.6g} instead of "
            f"{saved:.6g}); give a filter a ledger, or load the state of individual budgets."
        )

"""What all filters share: requests, charges, clipping the last step, and the audit afterwards."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Self

from hockeystick import _validate as check
from hockeystick._validate import known_names_only
from hockeystick.fdp.schedule import EqualSteps
from hockeystick.filters.audit import Audit, audit_of
from hockeystick.filters.charging import Charging, profile_of_plan
from hockeystick.filters.registry import opened, parameters_of, require_keywords, require_registered
from hockeystick.filters.request import Permit, StepRequest, as_number, checked_request, request_of
from hockeystick.guarantee import Guarantee, Kind
from hockeystick.ledger.heads import Where
from hockeystick.ledger.names import checked_text
from hockeystick.ledger.records import guarantee_of, guarantee_text
from hockeystick.ledger.spending import Spending, spending_of_entries
from hockeystick.ledger.store import Entry
from hockeystick.profile import Profile

__all__ = ["Filter"]


class Filter(Charging):
    """A budget for a run whose parameters are chosen while it runs.

    Before each step a permit is requested. Its charge is reserved at once, charges are rounded up,
    and their sum never exceeds the budget. A Gaussian step that does not fit any more is clipped so
    that it spends exactly what is left; after that `BudgetExceeded` is raised. Public attributes
    are set once, because the guarantee depends on them: a second assignment raises `PlanMismatch`.

    A filter of your own is a subclass with `kind`, `unit`, `parameters`, `guarantee`,
    `_charge_of_step` and `_largest_scale`, and a call of `filters.register`.

    Parameters
    ----------
    budget
        What may be spent in total, in the filter's unit.
    description
        Plain values that a ledger keeps; opening it again needs the same ones.
    ledger
        A path (SQLite) or a database URL makes the spending durable; without it it is lost with the
        process.
    name
        Tells several budgets in one ledger apart.
    must_exist
        True joins a budget and never makes one; False makes one even if its name is one slip away
        from another's; None, the default, makes any other. `filters.join` needs only the name.
    label
        Who spends: written to the entries of requests that have no label of their own.
    follows
        Values of the description that were computed: their names, with the name and the value of
        the parameter that they follow from.

    Examples
    --------
    >>> import hockeystick as hs
    >>> f = hs.filters.Gaussian(mu=1.0)
    >>> f.request(noise_multiplier=2.0, steps=3).commit()
    >>> round(f.spent, 9), round(f.remaining, 9)
    (0.75, 0.25)
    >>> round(f.request(noise_multiplier=1.0).clip_scale, 9)  # half the norm, a quarter of 1
    0.5
    """

    what: ClassVar[str] = "A filter"
    instead: ClassVar[str] = "give several filters the same ledger"
    kind: Kind
    # The attributes from which the filter can be built again: keywords of its constructor.
    parameters: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        *,
        budget: float,
        description: Mapping[str, object],
        ledger: Where | None,
        name: str,
        must_exist: bool | None = None,
        label: str = "",
        follows: Mapping[str, tuple[str, object]] = MappingProxyType({}),
    ) -> None:
        described = {"filter": type(self).__name__, "kind": self.kind, **description}
        self.label = checked_text("label", label) if label != "" else ""
        self._store = opened(
            ledger,
            name=name,
            budget=budget,
            description=described,
            must_exist=must_exist,
            follows=follows,
        )
        meaning = guarantee_text(guarantee_of(described))
        super().__init__(budget=budget, meaning=meaning, follows=follows)
        # Profiles have no text from which they could be built again.
        self._profiles: dict[int, Profile] = {}

    # -- the interface ----------------------------------------------------------------------------

    @known_names_only
    def request(
        self,
        *,
        rate: float = 1.0,
        noise_multiplier: float | None = None,
        sensitivity: float = 1.0,
        steps: int = 1,
        profile: Profile | None = None,
        plan: object | None = None,
        clip: bool = True,
        label: str | None = None,
        note: Mapping[str, object] | None = None,
    ) -> Permit:
        """Permission for `steps` equal steps; reserved, and counted, from now on.

        Parameters
        ----------
        rate
            Probability with which each example takes part, independently.
        noise_multiplier
            Standard deviation of the noise over the clip norm.
        sensitivity
            Largest contribution of an example, in units of the clip norm.
        steps
            How many equal steps.
        profile
            Another mechanism, in the place of rate, noise multiplier and sensitivity.
        plan
            A whole run with this noise multiplier as one mechanism, and `steps` such runs.
        clip
            Whether steps that do not fit may be clipped further, all of them to `clip_scale` of the
            clip norm; a profile never is.
        label
            Who asks, for the ledger; by default the label of the filter.
        note
            Further plain values that are kept with the entry.

        Returns
        -------
        Permit
            With its charge and its clip scale.

        Raises
        ------
        BudgetExceeded
            If the steps do not fit, even clipped; nothing is recorded then.
        """
        if plan is not None and profile is None:
            profile, noise_multiplier = profile_of_plan(plan, noise_multiplier), None
        request = checked_request(
            rate=rate,
            noise_multiplier=noise_multiplier,
            sensitivity=sensitivity,
            steps=steps,
            profile=profile,
            clip=clip,
            label=self.label if label is None else label,
            note=note,
        )
        entry = self._reserve(request)
        if request.profile is not None:
            self._profiles[entry.number] = request.profile
        return self._permit(request, entry)

    def repeated(self, entry: Entry) -> Permit:
        """The permit of an entry, for a step that releases the same again; nothing is charged."""
        return self._permit(request_of(entry.request, entry.status), entry)

    def _permit(self, request: StepRequest, entry: Entry) -> Permit:
        scale, found = as_number(entry.request["clip_scale"]), (entry.number, entry.charge)
        return Permit.of(request, self._store, *found, clip_scale=scale)

    def _reserve(self, request: StepRequest) -> Entry:
        """The entry of a request in the store, or `BudgetExceeded`."""
        charge = self._checked(self._charge(request))
        return self._store.reserve(lambda spent: self._decide(request, charge, spent))

    @property
    def budget_id(self) -> str:
        """The number of the budget: the same for all filters that share it, in any process."""
        return self._store.identity()

    @property
    def budget(self) -> float:
        """What may be spent in total, in the filter's unit."""
        return self._budget

    @property
    def spent(self) -> float:
        """What is reserved or committed; never above the budget."""
        return self._store.spent()

    @property
    def remaining(self) -> float:
        """What is left."""
        return max(self._budget - self._store.spent(), 0.0)

    @property
    def history(self) -> Sequence[Entry]:
        """All reservations in their order, the cancelled ones included."""
        return self._store.history()

    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What holds for the whole budget, however the steps are chosen.

        Not what is spent so far: stopping for a reason seen in the outputs saves nothing.
        """

    def spending(self, *, delta: float | None = None) -> Spending:
        """What is spent and what is left as epsilons: a diagnostic, the guarantee is the budget's.

        `spent` is epsilon of the steps so far, had they been fixed in advance, `left` by how much
        it would grow if the rest went into steps like the latest one.

        Parameters
        ----------
        delta
            The filter's own by default; needed where it has none.

        Returns
        -------
        Spending
            With both, the guarantee's epsilon and how many steps like the latest still fit.

        Examples
        --------
        >>> import hockeystick as hs
        >>> f = hs.filters.Gaussian(mu=1.0)
        >>> f.request(noise_multiplier=2.0).commit()
        >>> found = f.spending(delta=1e-5)
        >>> round(found.spent, 2), round(found.left, 2), found.steps_left
        (1.99, 2.38, 3)
        """
        at = check.small_probability("delta", getattr(self, "delta", delta))
        return spending_of_entries(
            self.history,
            left=self.remaining,
            epsilon=self.guarantee().epsilon(at),
            delta=at,
            kind=self.kind,
        )

    def audit(self, *, direction: str = "both") -> Audit:
        """The permitted steps, as if they had been fixed in advance: a diagnostic.

        `direction` is "add", "remove" or "both".
        """
        return audit_of(
            self.history,
            claim=self.guarantee(),
            profiles=self._profiles,
            direction=direction,
        )

    def describe(self) -> dict[str, object]:
        """The filter's name and the plain values from which `filters.from_description` builds it.

        What a statement says about it: its guarantee, and nothing about spending. A filter that is
        not registered is refused.
        """
        name = require_registered(type(self))
        require_keywords(type(self), self.parameters)
        return {"filter": name, **{one: getattr(self, one) for one in self.parameters}}

    @classmethod
    def from_description(cls, description: Mapping[str, Any], **kept: Any) -> Self:
        """The filter that `describe` described; in memory, unless `kept` names its ledger."""
        values = parameters_of(description, name=cls.__name__, parameters=cls.parameters)
        require_keywords(cls, cls.parameters)
        return cls(**values, **kept)

    @classmethod
    def for_target(
        cls,
        *,
        epsilon: float,
        delta: float,
        expected: Sequence[EqualSteps],
    ) -> Filter | None:
        """The filter that guarantees (epsilon, delta), built for what is expected.

        For comparisons (`hockeystick filters`); None, the default, leaves the filter out of them.
        """
        return None

    def rounds(self, expected: Sequence[EqualSteps]) -> int | None:
        """How many rounds of these steps a new filter permits; None if charges say it."""
        return None

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(kind={self.kind!r}, spent={self.spent:.6g}, "
            f"budget={self._budget:.6g}, unit={self.unit!r}"
            f"{f', guarantee={self._meaning!r}' if self._meaning else ''})"
        )

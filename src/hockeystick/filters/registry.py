"""Filters by name: how a statement names the filter of a run, and how it is built again.

A filter says itself from which plain values it can be built (`describe`), and builds itself from
them (`from_description`). `register` makes its name known; nothing else has a list of filters.

The spending of a filter is opened by its parameters, or joined by the name of its budget.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from inspect import isclass, signature
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from hockeystick._validate import concrete, with_known_names
from hockeystick.errors import InvalidParameter, UnknownParameter, shown
from hockeystick.ledger.heads import Where
from hockeystick.ledger.names import PAGE
from hockeystick.ledger.records import read_ledger
from hockeystick.ledger.store import MemoryStore, Store

if TYPE_CHECKING:
    from hockeystick.filters.base import Filter
    from hockeystick.guarantee import Guarantee

__all__ = [
    "Describable",
    "described_name",
    "from_description",
    "join",
    "opened",
    "parameters_of",
    "register",
    "registered",
    "registered_class",
    "require_keywords",
    "require_registered",
]


class Describable(Protocol):
    """What can be registered: a filter, or budgets of individual examples."""

    def describe(self) -> dict[str, object]:
        """Its name under "filter", and the plain values from which it can be built again."""

    @classmethod
    def from_description(cls, description: Mapping[str, Any]) -> Self:
        """The filter that `describe` described, with nothing spent."""

    def guarantee(self) -> Guarantee:
        """What holds for the whole budget."""


_REGISTERED: dict[str, type[Describable]] = {}
Class = TypeVar("Class", bound=type[Describable])


def register(filter_class: Class) -> Class:
    """Make a filter known by the name of its class; also usable as a decorator.

    Statements of runs that it governs can then be written and checked, and `hockeystick filters`
    lists it if it has `for_target`.

    Parameters
    ----------
    filter_class
        A subclass of `Filter`, or another class with its `describe`, `from_description` and
        `guarantee`. Registering the same class again changes nothing.

    Returns
    -------
    type
        The class itself.

    Raises
    ------
    InvalidParameter
        If it is no such class, or abstract, or another class has the name.

    Examples
    --------
    >>> import hockeystick as hs
    >>> hs.filters.register(hs.filters.Gaussian) is hs.filters.Gaussian
    True
    """
    _check(filter_class)
    name = filter_class.__name__
    if _REGISTERED.setdefault(name, filter_class) is not filter_class:
        raise InvalidParameter("filter_class", "one whose name is not registered yet", name)
    return with_known_names(filter_class)


def _check(filter_class: Any) -> None:
    """`InvalidParameter` unless statements can be made about objects of the class."""
    offered = ("describe", "from_description", "guarantee")
    if not isclass(filter_class) or not all(hasattr(filter_class, one) for one in offered):
        allowed = f"a class with {', '.join(offered)}, such as a subclass of Filter"
        raise InvalidParameter("filter_class", allowed, filter_class)
    concrete("filter_class", filter_class)


def registered() -> tuple[type[Describable], ...]:
    """All registered classes, in the order of their registration."""
    return tuple(_REGISTERED.values())


def registered_class(name: str) -> type[Describable] | None:
    """The class of that name; None if nobody registered one."""
    return _REGISTERED.get(name)


def require_registered(filter_class: type[Describable]) -> str:
    """The registered name of the class; `InvalidParameter` if it has none."""
    name = filter_class.__name__
    if _REGISTERED.get(name) is not filter_class:
        raise InvalidParameter("filter", f"one of {', '.join(_REGISTERED)}", name)
    return name


def from_description(description: Mapping[str, Any]) -> Describable:
    """The filter that `describe` described, with nothing spent.

    Parameters
    ----------
    description
        What the `describe` of a registered filter returned, perhaps read from a file.

    Returns
    -------
    Filter or Individual
        A filter with the same guarantee. Exactly the parameters of the description are taken: one
        that lacks some or names others is refused.

    Examples
    --------
    >>> import hockeystick as hs
    >>> described = hs.filters.Gaussian(mu=0.5).describe()
    >>> hs.filters.from_description(described)
    Gaussian(kind='proven', spent=0, budget=0.25, unit='mu^2', guarantee='mu 0.5')
    """
    # Individual budgets name their rule after a space.
    name = described_name(description).partition(" ")[0]
    if name not in _REGISTERED:
        raise _unknown(description)
    return _REGISTERED[name].from_description(description)


def parameters_of(
    description: Mapping[str, Any], *, name: str, parameters: Sequence[str]
) -> dict[str, Any]:
    """The values of a description, if they are those of this filter, all of them plain."""
    named, given = described_name(description), dict(description)
    del given["filter"]
    plain = all(isinstance(value, (int, float, str)) for value in given.values())
    if named != name or set(given) != set(parameters) or not plain:
        raise _unknown(description)
    return given


def described_name(description: object) -> str:
    """The filter that a description names; `InvalidParameter` if it is no description."""
    name = description.get("filter") if isinstance(description, Mapping) else None
    if not isinstance(name, str):
        raise _unknown(description)
    return name


def require_keywords(filter_class: type[Describable], parameters: Sequence[str]) -> None:
    """Refuse a class that its `parameters` alone do not build."""
    try:
        signature(filter_class).bind(**dict.fromkeys(parameters))
    except TypeError as error:
        allowed = f"all the keywords that {filter_class.__name__} is built from ({error})"
        raise InvalidParameter("parameters", allowed, tuple(parameters)) from None


def _unknown(description: object) -> InvalidParameter:
    allowed = "a description that the `describe` of a registered filter made"
    return InvalidParameter("filter", allowed, description)


def join(*, ledger: Where, name: str = "", label: str = "", **parameters: Any) -> Filter:
    """The filter of a budget that a ledger has, with the parameters that it was opened with.

    What every service but the first needs: kind, epsilon, delta and order are read from the ledger,
    and a mistyped name is refused with the names that are there. Cost: linear in the entries.

    Parameters
    ----------
    ledger
        A path or a database URL; it has to exist.
    name
        Of a budget in it; without one the names that are there are told.
    label
        Who spends: written to the entries of all requests that have no label of their own.
    parameters
        None: those of the filter are read from the ledger, and others are refused.

    Returns
    -------
    Filter
        It shares its spending with all others of that name.

    Raises
    ------
    InvalidParameter
        If there is no such budget, or its filter is not registered here, or is a `NaturalFDP`,
        whose profile no ledger can hold.

    Examples
    --------
    >>> import hockeystick as hs
    >>> first = hs.filters.Renyi(
    ...     epsilon=2.0, delta=1e-5, expected=[(0.01, 1.0, 1)], ledger="budget.db", name="survey"
    ... )
    >>> second = hs.filters.join(ledger="budget.db", name="survey", label="weekly report")
    >>> second.request(rate=0.01, noise_multiplier=1.0).commit()
    >>> second.order, first.spent == second.spent > 0, first.history[0].request["label"]
    (7.9, True, 'weekly report')
    """
    from hockeystick.filters.base import Filter

    for given, value in parameters.items():
        instead = (
            "the parameters of the filter are read from the ledger; a new budget is opened by a "
            "filter, such as filters.Renyi(epsilon=..., delta=..., ledger=..., name=...)"
        )
        raise UnknownParameter(given, value, caller="join", instead=instead, page=PAGE)
    (record,) = read_ledger(ledger, name=name)
    found = registered_class(str(record.description.get("filter", "")))
    if found is None or not issubclass(found, Filter):
        allowed = "a budget of a filter that is registered here"
        raise InvalidParameter("name", allowed, name, page=PAGE)
    # In a ledger a part may be a mapping; a description has it as one line of text.
    described = {
        key: json.dumps(value) if isinstance(value, Mapping) else value
        for key, value in record.description.items()
        if key != "kind"
    }
    kept = {"label": label} if label else {}
    return found.from_description(described, ledger=ledger, name=name, **kept)


def opened(
    ledger: Where | None,
    *,
    name: str,
    budget: float,
    description: Mapping[str, object],
    must_exist: bool | None,
    follows: Mapping[str, tuple[str, object]],
) -> Store:
    """The store of a filter's spending.

    `follows` says which values of the description were computed, and from which parameter: one
    that does not fit is reported by the name that the caller typed.
    """
    if not (budget > 0 and math.isfinite(budget)):
        raise InvalidParameter("budget", "a finite number > 0", budget)
    if ledger is None:
        if must_exist:
            raise InvalidParameter("must_exist", "left out without a ledger", must_exist)
        return MemoryStore(budget)
    from hockeystick.ledger import open_store

    try:
        return open_store(
            ledger, name=name, budget=budget, description=description, must_exist=must_exist
        )
    except InvalidParameter as error:
        if error.name not in follows:
            raise
        typed, value = follows[error.name]
        allowed = f"what gives {error.name} = {error.allowed}; this gives {shown(error.value)}"
        raise InvalidParameter(typed, allowed, value, page=error.page) from None

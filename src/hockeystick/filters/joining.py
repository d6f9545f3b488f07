"""The spending of a filter: opened by its parameters, or joined by the name of its budget."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hockeystick.errors import InvalidParameter, UnknownParameter, shown
from hockeystick.filters.registry import registered_class
from hockeystick.ledger.keyed import Where
from hockeystick.ledger.names import PAGE
from hockeystick.ledger.records import read_ledger
from hockeystick.ledger.store import MemoryStore, Store

if TYPE_CHECKING:
    from hockeystick.filters.base import Filter

__all__ = ["join", "opened"]


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
    from hockeystick.ledger.opening import open_store

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

"""Filters by name: how a statement names the filter of a run, and how it is built again.

A filter says itself from which plain values it can be built (`describe`), and builds itself from
them (`from_description`). `register` makes its name known; nothing else has a list of filters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import isclass, signature
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from hockeystick._validate import concrete, with_known_names
from hockeystick.errors import InvalidParameter

if TYPE_CHECKING:
    from hockeystick.guarantee import Guarantee

__all__ = [
    "Describable",
    "described_name",
    "from_description",
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

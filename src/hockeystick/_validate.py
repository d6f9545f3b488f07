"""Checks at the public boundary, written so that NaN never passes."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from hockeystick._foreign import refuse_unknown_names, refuse_unnamed
from hockeystick.errors import InvalidParameter

__all__ = [
    "at_least",
    "boolean",
    "choice",
    "concrete",
    "diagonal_entries",
    "entries",
    "function_name",
    "known_names_only",
    "noise_multiplier",
    "noise_scale",
    "positive",
    "positive_integer",
    "probability",
    "real",
    "relative_accuracy",
    "sampling_rate",
    "seed",
    "small_probability",
    "storable",
    "vector",
    "wanted_epsilon",
    "with_known_names",
]

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound=type)


# Counts beyond this are not exact as floating-point numbers, nor fit for arrays.
LARGEST_COUNT = 2**53
# Noise in units of the sensitivity: beyond these, squares of privacy losses leave floating point.
SMALLEST_NOISE, LARGEST_NOISE = 1e-50, 1e50

# A smaller delta cannot be divided among parts without leaving the normal numbers.
SMALLEST_PROBABILITY = 1e-300
# The noise for a smaller one is beyond LARGEST_NOISE.
SMALLEST_EPSILON = 1e-50
# Entries of a strategy: beyond these, squares of sums may leave floating point.
LARGEST_ENTRY, SMALLEST_DIVISOR = 1e100, 1e-100
# An array of so many numbers takes a gigabyte.
LARGEST_ARRAY = 2**27


def real(name: str, value: Any, allowed: str = "a real number") -> float:
    """The value as a float; what is no number (NaN, booleans and text included) is refused."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameter(name, allowed, value) from None
    if isinstance(value, (str, bytes, bool, np.bool_)) or math.isnan(number):
        raise InvalidParameter(name, allowed, value)
    return number


def vector(name: str, values: Any, allowed: str = "a vector of numbers") -> NDArray[np.float64]:
    """The values as a float array; NaN is refused."""
    try:
        given = np.asarray(values)
        # Text would be parsed, and imaginary parts dropped.
        if given.dtype.kind in "cSU":
            raise InvalidParameter(name, allowed, values)
        array = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameter(name, allowed, values) from None
    if np.isnan(array).any():
        raise InvalidParameter(name, allowed, values)
    return array


def positive(name: str, value: Any) -> float:
    """A finite number above zero."""
    allowed = "a finite number > 0"
    number = real(name, value, allowed)
    if not (number > 0 and math.isfinite(number)):
        raise InvalidParameter(name, allowed, value)
    return number


def noise_scale(name: str, value: Any) -> float:
    """A noise in units of the sensitivity that floating point can handle: from 1e-50 to 1e50."""
    number = positive(name, value)
    if not SMALLEST_NOISE <= number <= LARGEST_NOISE:
        raise InvalidParameter(name, f"in [{SMALLEST_NOISE:g}, {LARGEST_NOISE:g}]", value)
    return number


def noise_multiplier(name: str, value: Any) -> float:
    """A noise multiplier up to 1e50; how small it may be depends on the strategy and the method."""
    number = positive(name, value)
    if not number <= LARGEST_NOISE:
        raise InvalidParameter(name, f"at most {LARGEST_NOISE:g}", value)
    return number


def wanted_epsilon(name: str, value: Any) -> float:
    """An epsilon to calibrate to, which is divided by: at least 1e-50."""
    number = positive(name, value)
    if not number >= SMALLEST_EPSILON:
        raise InvalidParameter(name, f"at least {SMALLEST_EPSILON:g}", value)
    return number


def at_least(name: str, value: Any, bound: float) -> float:
    """A finite number not below `bound`."""
    allowed = f"a finite number >= {bound:g}"
    number = real(name, value, allowed)
    if not (number >= bound and math.isfinite(number)):
        raise InvalidParameter(name, allowed, value)
    return number


def probability(name: str, value: Any) -> float:
    """A number in [0, 1]."""
    allowed = "in [0, 1]"
    number = real(name, value, allowed)
    if not 0 <= number <= 1:
        raise InvalidParameter(name, allowed, value)
    return number


def sampling_rate(name: str, value: Any) -> float:
    """A number in (0, 1]."""
    allowed = "in (0, 1]"
    number = real(name, value, allowed)
    if not 0 < number <= 1:
        raise InvalidParameter(name, allowed, value)
    return number


def small_probability(name: str, value: Any) -> float:
    """A number in (0, 1), such as a delta; below 1e-300 floating point ends."""
    allowed = "in (0, 1)"
    number = real(name, value, allowed)
    if not 0 < number < 1:
        raise InvalidParameter(name, allowed, value)
    if not number >= SMALLEST_PROBABILITY:
        raise InvalidParameter(name, f"at least {SMALLEST_PROBABILITY:g}", value)
    return number


def relative_accuracy(name: str, value: Any) -> float:
    """A relative accuracy that the numerics can reach: between 1e-5 and 0.5."""
    allowed = "in [1e-05, 0.5]"
    number = real(name, value, allowed)
    if not 1e-5 <= number <= 0.5:
        raise InvalidParameter(name, allowed, value)
    return number


def positive_integer(name: str, value: Any, *, largest: int | None = LARGEST_COUNT) -> int:
    """An integer from 1 to 2**53, or to `largest`, NumPy's too; no booleans, no floats."""
    allowed = "an integer >= 1"
    if isinstance(value, bool):
        raise InvalidParameter(name, allowed, value)
    try:
        number = operator.index(value)
    except TypeError:
        raise InvalidParameter(name, allowed, value) from None
    if not number >= 1:
        raise InvalidParameter(name, allowed, value)
    if largest is not None and number > largest:
        raise InvalidParameter(name, f"an integer of at most {largest}", value)
    return number


def seed(name: str, value: Any) -> int | None:
    """An integer from 0, of any length, or None for one from the operating system."""
    if value is None:
        return None
    try:
        number = operator.index(value)
    except TypeError:
        raise InvalidParameter(name, "an integer >= 0 or None", value) from None
    if isinstance(value, bool) or number < 0:
        raise InvalidParameter(name, "an integer >= 0 or None", value)
    return number


def entries(name: str, values: NDArray[np.float64]) -> None:
    """The entries of a strategy's matrix: from 0 to 1e100."""
    refused = ~((values >= 0) & np.isfinite(values))
    if refused.any():
        raise InvalidParameter(name, "finite and not negative", float(values[refused][0]))
    if values.size and not values.max() <= LARGEST_ENTRY:
        raise InvalidParameter(name, f"at most {LARGEST_ENTRY:g}", float(values.max()))


def diagonal_entries(name: str, values: NDArray[np.float64], *, place: str = "") -> None:
    """Entries that are divided by: at least 1e-100. `place` says which of `name` they are."""
    smallest = float(values.min())
    if not smallest > 0:
        raise InvalidParameter(name, f"> 0{place}", smallest)
    if not smallest >= SMALLEST_DIVISOR:
        raise InvalidParameter(name, f"at least {SMALLEST_DIVISOR:g}{place}", smallest)


def storable(name: str, count: int, *, each: int = 1) -> int:
    """A count that memory has room for, at `each` numbers for one; more are refused beforehand."""
    most = LARGEST_ARRAY // each
    if count > most:
        allowed = f"at most {most} where each takes {each} numbers of memory"
        raise InvalidParameter(name, allowed, count)
    return count


def choice(name: str, value: Any, choices: Collection[str], allowed: str | None = None) -> str:
    """One of several words; `allowed` says which, if it is not a list of all of them."""
    if not isinstance(value, str) or value not in choices:
        raise InvalidParameter(name, allowed or f"one of {', '.join(choices)}", value)
    return value


def boolean(name: str, value: Any) -> bool:
    """True or False, of Python or NumPy."""
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidParameter(name, "True or False", value)
    return bool(value)


def function_name(name: str, value: Any) -> str:
    """The kebab-case name of a function; lambdas, classes and what has no name are refused."""
    found = getattr(value, "__name__", None)
    named = isinstance(found, str) and found.isidentifier()
    if not callable(value) or isinstance(value, type) or not named:
        raise InvalidParameter(name, "a function with a name", value)
    return str(found).replace("_", "-")


def concrete(name: str, value: type) -> None:
    """A class without abstract methods."""
    missing = sorted(getattr(value, "__abstractmethods__", ()))
    if missing:
        raise InvalidParameter(name, f"a class that implements {', '.join(missing)}", value)


def known_names_only(function: Callable[P, R]) -> Callable[P, R]:
    """A function that says what to write where it is given a name that it does not take.

    `UnknownParameter` is raised in the place of Python's `TypeError`, and is one. Signature, types
    and documentation are those of the function itself.
    """
    code = function.__code__
    arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    known = tuple(name for name in arguments if name not in {"self", "cls"})
    bound, is_constructor = len(known) < len(arguments), function.__name__ == "__init__"

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        if len(args) > code.co_argcount or not kwargs.keys() <= set(known):
            owner: Any = args[0] if bound and args else None
            caller = type(owner).__name__ if is_constructor else function.__name__
            refuse_unknown_names(dict(kwargs), known, caller=caller)
            unnamed = [name for name in arguments[code.co_argcount :] if name not in kwargs]
            refuse_unnamed(args[code.co_argcount :], unnamed, caller=caller)
        return function(*args, **kwargs)

    checked.__dict__["refuses_unknown_names"] = True
    return checked


def with_known_names(kind: C, *, methods: Collection[str] = ("__init__",)) -> C:
    """The class, with `known_names_only` around its own methods of these names."""
    for name in methods:
        method = vars(kind).get(name)
        inner = method.__func__ if isinstance(method, classmethod) else method
        if inner is None or "refuses_unknown_names" in vars(inner):
            continue
        checked: Any = known_names_only(inner)
        setattr(kind, name, classmethod(checked) if isinstance(method, classmethod) else checked)
    return kind

"""Every error that Hockeystick raises on purpose."""

from __future__ import annotations

from functools import partial
from typing import Any

__all__ = [
    "BudgetExceeded",
    "CalibrationError",
    "HockeystickError",
    "InvalidParameter",
    "LedgerError",
    "MissingExtra",
    "PlanMismatch",
    "PrecisionError",
    "UnknownParameter",
    "UnsupportedPlan",
    "VerificationFailed",
]


# Errors name pages by this command, which every installation has; the files only a clone has.
COMMAND = "hockeystick docs"

# Characters of a value that an error message shows: two lines of a terminal.
LONGEST = 160


def reference(page: str) -> str:
    """How a page is opened, with its section: the command that prints it."""
    return f"`{COMMAND} {page.removeprefix('docs/').replace('.md', '', 1)}`"


def see(page: str) -> str:
    """A sentence that names the page; nothing without one."""
    return f" See {reference(page)}." if page else ""


class HockeystickError(Exception):
    """Base class of all errors raised on purpose.

    Parameters
    ----------
    message
        What is wrong and what to do instead, in sentences.
    page
        The page of the documentation that says more; the message ends with how to open it.

    Examples
    --------
    >>> import hockeystick as hs
    >>> str(hs.errors.UnsupportedPlan("No method applies.", page="docs/how-to-choose.md"))
    'No method applies. See `hockeystick docs how-to-choose`.'
    """

    page: str = ""

    def __init__(self, message: str = "", *, page: str = "") -> None:
        self.page = page
        super().__init__(f"{message}{see(page)}")


class InvalidParameter(HockeystickError, ValueError):
    """A parameter is outside its allowed range.

    The message is one sentence with the parameter's name, what is allowed, and the value that was
    given; the three parts are also available as attributes.

    Parameters
    ----------
    name
        The parameter.
    allowed
        What it has to be.
    value
        What it was.
    page
        The page of the documentation that says more, if there is one.

    Examples
    --------
    >>> import hockeystick as hs
    >>> hs.Poisson(rate=2.0)
    Traceback (most recent call last):
    hockeystick.errors.InvalidParameter: rate must be in (0, 1], got 2.0.
    """

    def __init__(self, name: str, allowed: str, value: object, *, page: str = "") -> None:
        self.name = name
        self.allowed = allowed
        self.value = value
        super().__init__(f"{name} must be {allowed}, got {shown(value)}.", page=page)

    def __reduce__(self) -> tuple[Any, ...]:
        return (partial(type(self), page=self.page), (self.name, self.allowed, self.value))


class UnknownParameter(InvalidParameter, TypeError):
    """A function was given a name that it does not take; the message says what to write.

    Where Python alone would raise a `TypeError`; this is one as well.

    Parameters
    ----------
    name
        What was given.
    value
        Its value.
    caller
        The function or class.
    instead
        What to write in its place, without a full stop.
    page
        The page that says more, if there is one.

    Examples
    --------
    >>> import hockeystick as hs
    >>> hs.Poisson(sample_rate=0.01)
    Traceback (most recent call last):
    hockeystick.errors.UnknownParameter: Poisson has no parameter sample_rate: it is called rate
    here. See `hockeystick docs coming-from-opacus`.
    """

    def __init__(
        self, name: str, value: object, *, caller: str, instead: str, page: str = ""
    ) -> None:
        super().__init__(name, f"left out of {caller}: {instead}", value, page=page)
        self.caller, self.instead = caller, instead
        stop = "" if instead.endswith("?") else "."
        self.args = (f"{caller} has no parameter {name}: {instead}{stop}{see(page)}",)

    def __reduce__(self) -> tuple[Any, ...]:
        options = {"caller": self.caller, "instead": self.instead, "page": self.page}
        return (partial(type(self), **options), (self.name, self.value))


def shown(value: object) -> str:
    """The value on one line; long ones are shortened in the middle."""
    text = " ".join(repr(value).split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} ... {text[-LONGEST // 4 :]}"


class UnsupportedPlan(HockeystickError):
    """No analysis applies to this plan; the message says what would work."""


class PrecisionError(HockeystickError):
    """The requested accuracy was not reached.

    Parameters
    ----------
    message
        What was not reached.
    lower, upper
        The proven bounds that were reached; `upper` is still usable.
    """

    def __init__(self, message: str, *, lower: float, upper: float) -> None:
        self.lower = lower
        self.upper = upper
        super().__init__(message)


class CalibrationError(HockeystickError):
    """No noise multiplier in the searched range meets the target."""


class VerificationFailed(HockeystickError):
    """A claimed (epsilon, delta) was not accepted by the verifier."""


class BudgetExceeded(HockeystickError):
    """A privacy filter has no budget left for the request."""


class LedgerError(HockeystickError):
    """A ledger cannot be read or written; the message says which one and why."""


class PlanMismatch(HockeystickError):
    """A run is about to do something other than the plan that was accounted."""


class MissingExtra(HockeystickError, ImportError):
    """An optional dependency is needed; the message names the extra that installs it.

    Parameters
    ----------
    needs
        What needs which library, as a sentence without a full stop.
    extra
        The extra of this package that installs it.
    """

    def __init__(self, needs: str, *, extra: str) -> None:
        self.needs = needs
        self.extra = extra
        super().__init__(
            f"{needs}; install the extra `{extra}`, for example: "
            f"pip install 'hockeystick[{extra}]', or '.[{extra}]' in a clone."
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return (partial(type(self), extra=self.extra), (self.needs,))

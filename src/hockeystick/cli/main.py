"""The commands, put together, and the entry point: exit status and error lines.

A new one is a function whose options Typer reads from its signature, and one line: `register(...)`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import singledispatch
from typing import Annotated

import typer

from hockeystick._foreign import the_way_out
from hockeystick._text import escaped
from hockeystick._validate import function_name
from hockeystick._version import __version__
from hockeystick.cli.audit import audit, check
from hockeystick.cli.batches import batches
from hockeystick.cli.compare import compare
from hockeystick.cli.filters import filters
from hockeystick.cli.keygen import keygen
from hockeystick.cli.ledger import ledger
from hockeystick.cli.noise import calibrate, delta, epsilon
from hockeystick.cli.reproduce import reproduce
from hockeystick.cli.resources import data, docs
from hockeystick.cli.tradeoff import tradeoff
from hockeystick.cli.verify import verify
from hockeystick.errors import (
    HockeystickError,
    InvalidParameter,
    LedgerError,
    UnsupportedPlan,
    see,
    shown,
)

__all__ = [
    "app",
    "main",
    "register",
    "run",
]

# What shells expect: 2 for a wrong call, 128 + 2 after the signal of Ctrl-C.
SUCCESS, FAILURE, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
# The base class of all complaints about the command line. Typer has it from different modules in
# different versions, but always right above this one.
USAGE_ERROR: type[typer.BadParameter] = typer.BadParameter.__mro__[1]


def run() -> None:
    """Run the command line of this process and end it."""
    sys.exit(main(sys.argv[1:]))


def main(arguments: Sequence[str]) -> int:
    """Run a command line; the exit status.

    0 for success; 2 for bad input and 1 for anything else, each with one line on standard error;
    130 after Ctrl-C.
    """
    try:
        return _invoke(arguments)
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except (USAGE_ERROR, InvalidParameter, UnsupportedPlan, LedgerError) as error:
        return _complain(error, BAD_INPUT)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is told in one line
        return INTERRUPTED if _interrupted(error) else _complain(error, FAILURE)


def _invoke(arguments: Sequence[str]) -> int:
    from hockeystick.cli.main import app

    status = app(list(arguments) or ["--help"], prog_name="hockeystick", standalone_mode=False)
    return status if isinstance(status, int) else SUCCESS


def _interrupted(error: BaseException | None) -> bool:
    """Whether Ctrl-C is behind the error: compiled code turns it into a SystemError."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _complain(error: Exception, status: int) -> int:
    typer.echo(f"error: {escaped(' '.join(_message(error).split()))}", err=True)
    return status


@singledispatch
def _message(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".removesuffix(": ")


@_message.register(HockeystickError)
@_message.register(OSError)
def _(error: Exception) -> str:
    return str(error)


@_message.register
def _(error: InvalidParameter) -> str:
    """The parameter is spelled as the option it came from; it may be a part of its value."""
    part, _, whole = error.name.rpartition(" in ")
    option = f"{part} in --{whole}" if part else _as_option(whole)
    got = "" if error.value is None else f", got {shown(error.value)}"
    return f"{option} must be {error.allowed}{got}.{see(error.page)}"


@_message.register(USAGE_ERROR)
def _(error: typer.BadParameter) -> str:
    """What Typer says; an option that another tool has gets a sentence more."""
    said = error.format_message()
    option, context = getattr(error, "option_name", None), error.ctx
    if context is None:
        return said
    known = [one.name for one in context.command.params if one.name]
    refused = getattr(getattr(error, "param", None), "name", None)
    if refused == "steps" and "epochs" in known:
        return f"{said.rstrip('.')}; --epochs with --examples and --batch-size finds the steps."
    if option is None:
        return said
    instead, page = the_way_out(option.strip("-").replace("-", "_"), known, spelled=_as_option)
    # Other names have Typer's own suggestions, and other commands no names in common.
    if not page or not {"steps", "epsilon", "delta"} & set(known):
        return said
    # Typer's own suggestions only have some letters in common.
    return f"{error.message.rstrip('.')}. {instead[0].upper()}{instead[1:]}.{see(page)}"


def _as_option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


app = typer.Typer(name="hockeystick", add_completion=False, pretty_exceptions_enable=False)
# Every name on the command line, and what it stands for: a command, or a group of commands.
_KNOWN: dict[str, object] = {"ledger": ledger}


def register(command: Callable[..., None]) -> Callable[..., None]:
    """Make a function a command of its name; also usable as a decorator.

    The same function again changes nothing. Another one for a name that a command or a group has is
    refused.
    """
    name = function_name("command", command).lower()
    if name not in _KNOWN:
        app.command()(command)
    if _KNOWN.setdefault(name, command) is not command:
        raise InvalidParameter("command", f"named other than {', '.join(_KNOWN)}", name)
    return command


# In the order in which they are shown.
for _command in (
    epsilon,
    delta,
    calibrate,
    verify,
    check,
    audit,
    compare,
    batches,
    tradeoff,
    filters,
    keygen,
    data,
    reproduce,
    docs,
):
    register(_command)
app.add_typer(ledger, name="ledger")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"hockeystick {__version__}")
        raise typer.Exit


@app.callback()
def hockeystick(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """How much noise, which batches, what guarantee: accounting for private training."""

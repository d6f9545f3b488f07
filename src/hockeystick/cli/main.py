"""The commands, put together, and the entry point: exit status and error lines.

A new one is a function whose options Typer reads from its signature, and a line in `COMMANDS`; one
of another package calls `register(...)`. A call imports the file of its own command and no other.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache, singledispatch
from importlib import import_module
from typing import Annotated, Any

import typer

from hockeystick._foreign import the_way_out
from hockeystick._text import escaped
from hockeystick._validate import function_name
from hockeystick._version import __version__
from hockeystick.errors import (
    HockeystickError,
    InvalidParameter,
    LedgerError,
    UnsupportedPlan,
    see,
    shown,
)

__all__ = [
    "main",
    "register",
    "run",
]

# What shells expect: 2 for a wrong call, 128 + 2 after the signal of Ctrl-C.
SUCCESS, FAILURE, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
# The base class of all complaints about the command line. Typer has it from different modules in
# different versions, but always right above this one.
USAGE_ERROR: type[typer.BadParameter] = typer.BadParameter.__mro__[1]
# Every command with its file in this package, in the order in which they are shown.
COMMANDS = {
    "epsilon": "noise",
    "delta": "noise",
    "calibrate": "noise",
    "verify": "verify",
    "check": "audit",
    "audit": "audit",
    "compare": "compare",
    "batches": "batches",
    "tradeoff": "tradeoff",
    "filters": "filters",
    "keygen": "keygen",
    "data": "resources",
    "reproduce": "reproduce",
    "docs": "resources",
}
# Groups of commands.
GROUPS = {"ledger": "ledger"}


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
    words = list(arguments) or ["--help"]
    # One known command alone: what it says and does is the same, and the others stay unread.
    chosen = _application(words[0]) if words[0] in COMMANDS else _all_commands()
    status = chosen(words, prog_name="hockeystick", standalone_mode=False)
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


# What `register` was given for each name.
_FURTHER: dict[str, Callable[..., None]] = {}


def register(command: Callable[..., None]) -> Callable[..., None]:
    """Make a function a command of its name; also usable as a decorator.

    The same function again changes nothing. Another one for a name that a command or a group has is
    refused.
    """
    name = function_name("command", command).lower()
    known = _loaded(name) if name in {**COMMANDS, **GROUPS} else _FURTHER.get(name)
    if known is None:
        _FURTHER[name] = command
        _all_commands().command()(command)
    elif known is not command:
        names = ", ".join((*COMMANDS, *GROUPS, *_FURTHER))
        raise InvalidParameter("command", f"named other than {names}", name)
    return command


def __getattr__(name: str) -> Any:
    """`app`, Typer's application with all commands."""
    if name == "app":
        return _all_commands()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _loaded(name: str) -> Any:
    """The function of a command, or the application of a group."""
    file = {**COMMANDS, **GROUPS}[name]
    return getattr(import_module(f"hockeystick.cli.{file}"), name)


@cache
def _application(*names: str) -> typer.Typer:
    """Typer's application with these commands."""
    made = typer.Typer(name="hockeystick", add_completion=False, pretty_exceptions_enable=False)
    made.callback()(hockeystick)
    for name in names:
        made.command()(_loaded(name))
    return made


@cache
def _all_commands() -> typer.Typer:
    """The application with every command and group; `register` adds to it."""
    made = _application(*COMMANDS)
    for name in GROUPS:
        made.add_typer(_loaded(name), name=name)
    return made


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"hockeystick {__version__}")
        raise typer.Exit


def hockeystick(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """How much noise, which batches, what guarantee: accounting for private training."""

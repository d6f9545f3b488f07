"""The commands, put together.

A new one is a function whose options Typer reads from its signature, and one line: `register(...)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from hockeystick._validate import function_name
from hockeystick._version import __version__
from hockeystick.cli.audit import audit, check
from hockeystick.cli.batches import batches
from hockeystick.cli.compare import compare
from hockeystick.cli.data import data
from hockeystick.cli.docs import docs
from hockeystick.cli.filters import filters
from hockeystick.cli.keygen import keygen
from hockeystick.cli.known_noise import calibrate, delta, epsilon
from hockeystick.cli.ledger import ledger
from hockeystick.cli.reproduce import reproduce
from hockeystick.cli.tradeoff import tradeoff
from hockeystick.cli.verify import verify
from hockeystick.errors import InvalidParameter

__all__ = ["app", "register"]

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

"""The commands, put together.

A new one is a function whose options Typer reads from its signature, and one line: `register(...)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from hockeystick._version import __version__
from hockeystick.cli.batches import batches
from hockeystick.cli.calibrate import calibrate
from hockeystick.cli.compare import compare
from hockeystick.cli.filters import filters
from hockeystick.cli.known_noise import delta, epsilon
from hockeystick.cli.ledger import ledger
from hockeystick.cli.reproduce import reproduce
from hockeystick.cli.tradeoff import tradeoff
from hockeystick.cli.verify import verify

__all__ = ["app", "register"]

app = typer.Typer(name="hockeystick", add_completion=False, pretty_exceptions_enable=False)


def register(command: Callable[..., None]) -> Callable[..., None]:
    """Make a function a command of its name; also usable as a decorator."""
    return app.command()(command)


# In the order in which they are shown.
for _command in (
    epsilon,
    delta,
    calibrate,
    verify,
    compare,
    batches,
    tradeoff,
    filters,
    reproduce,
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

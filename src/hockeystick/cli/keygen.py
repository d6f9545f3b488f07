"""`hockeystick keygen`: keys that sign statements, and keys that authenticate ledgers."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Annotated

import typer

from hockeystick._files import KEY_BYTES, check_target, write_private
from hockeystick.errors import InvalidParameter
from hockeystick.training.signatures import new_key_files

__all__ = ["keygen"]


def keygen(
    file: Annotated[
        Path,
        typer.Argument(
            help="Where the secret key is written, for its owner alone; nothing is replaced.",
            metavar="FILE",
            show_default=False,
        ),
    ],
    *,
    ledger: Annotated[
        bool, typer.Option("--ledger", help="A key for ledgers in the place of a pair to sign.")
    ] = False,
) -> None:
    """Make a key: a pair that signs privacy statements, or one that authenticates a ledger.

    A pair is FILE, secret, and FILE.pub for everybody who runs `hockeystick verify --key FILE.pub`.
    """
    check_target("file", file)
    if not ledger:
        public = new_key_files(file)
        typer.echo(f"{file} signs statements, keep it secret; {public} is for whoever verifies")
        return
    try:
        write_private(file, secrets.token_hex(KEY_BYTES).encode("ascii"))
    except OSError as error:
        raise InvalidParameter("file", "a path without a file", error) from None
    typer.echo(f"{file} authenticates ledgers; keep it secret, and apart from them")

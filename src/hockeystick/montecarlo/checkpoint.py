"""What was drawn so far, in a file that survives an interruption.

The file belongs to one request and holds its seed: repeated with the same file, the request takes
the same draws, of which those in the file need not be made again. It is authenticated with a
key that is kept elsewhere: a claim is never accepted on sums that somebody
else may have written.

Acceptance of a claim rests on the tallies in a checkpoint, and numbers in a file prove nothing by
themselves. They are authenticated (HMAC-SHA256) with a key that is kept apart from the file: of the
caller, or of the user, made once and readable by nobody else.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from hockeystick._files import KEY_BYTES, check_target, read_secret, replacing, write_private
from hockeystick._text import strict_json
from hockeystick._version import __version__
from hockeystick.errors import InvalidParameter
from hockeystick.montecarlo.draws import Job, Piece, Sums

__all__ = [
    "KEY_BYTES",
    "Checkpoint",
    "authentic",
    "fresh_seed",
    "tag",
    "user_key",
]

FILE = "checkpoint.key"


def tag(key: bytes, content: bytes) -> str:
    """What only an owner of the key can compute."""
    return hmac.new(key, content, hashlib.sha256).hexdigest()


def authentic(key: bytes, content: bytes, given: str) -> bool:
    """Whether the tag is that of the content."""
    return hmac.compare_digest(tag(key, content).encode(), given.encode("utf-8", "replace"))


def user_key() -> bytes:
    """The user's key, which is made if there is none.

    It is in the folder for a user's state, $XDG_STATE_HOME/hockeystick or
    ~/.local/state/hockeystick. `InvalidParameter` if it cannot be read or made there, or if others
    may read or replace it.
    """
    path = None
    try:
        path = _folder() / FILE
        if not path.exists():
            _make(path)
        key = read_secret(path, in_own_folder=True)
        if len(key) != KEY_BYTES:
            raise ValueError(f"{len(key)} bytes")
    except (OSError, RuntimeError, ValueError) as error:
        allowed = (
            f"{KEY_BYTES} bytes or more, given by Execution, or a file {path or FILE} that this "
            "user alone can read"
        )
        raise InvalidParameter("checkpoint_key", allowed, str(error)) from None
    return key


def _folder() -> Path:
    known = os.environ.get("XDG_STATE_HOME")
    base = Path(known) if known and Path(known).is_absolute() else Path.home() / ".local" / "state"
    return base / "hockeystick"


def _make(path: Path) -> None:
    """Complete or not at all; of two processes that make it at once, one does."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(FileExistsError):
        write_private(path, secrets.token_hex(KEY_BYTES).encode("ascii"))


FORMAT = "hockeystick draws 2"
# Seconds between two writes: so much work is lost at most if the process is killed.
INTERVAL = 10.0
# How far sums of the same payoffs may be off, relatively: rounding of up to 1e10 additions.
ROUNDING = 1e-6


def fresh_seed() -> int:
    """128 bits from the operating system's cryptographic source."""
    return secrets.randbits(128)


class Checkpoint:
    """Sums of pieces, by job and number, and the seed of the question they belong to."""

    def __init__(
        self,
        path: Path | None,
        question: dict[str, Any],
        seed: int | None,
        *,
        rescuable: bool = False,
        key: bytes | None = None,
    ) -> None:
        self._path = path
        self._key = key
        self._keeps = rescuable or path is not None
        described = repr((__version__, sorted(question.items())))
        self._question = hashlib.sha256(described.encode()).hexdigest()
        self._kept: dict[str, Sums] = {}
        self._written = time.monotonic()
        self.seed = fresh_seed() if seed is None else seed
        if path is not None:
            check_target("checkpoint", path)
            self._key = user_key() if key is None else key
            if path.exists():
                self._read(path, seed, self._key)

    def find(self, piece: Piece) -> Sums | None:
        """What the piece came to, if that is known."""
        return self._kept.get(_key(piece)) if self._keeps else None

    def keep(self, piece: Piece, sums: Sums) -> None:
        """Remember, and write from time to time; nothing without a file to come.

        Infinite sums and NaN pass no trial; they are drawn again.
        """
        if not (self._keeps and _consistent(sums)):
            return
        self._kept[_key(piece)] = sums
        if time.monotonic() - self._written > INTERVAL:
            self.write()

    def rescue(self, directory: Path) -> Path | None:
        """Write to a new file in the directory, if there is no file of this question yet.

        None if there is nothing to write, or no key to write it with.
        """
        if self._path is not None or not self._kept:
            return None
        try:
            self._key = user_key() if self._key is None else self._key
        except InvalidParameter:
            return None
        self._path = directory / f"hockeystick-{self._question[:12]}.json"
        self.write()
        return self._path

    def write(self) -> None:
        """Replace the file in one step, so that it is never half-written."""
        if self._path is None or self._key is None:
            return
        content: dict[str, Any] = {
            "format": FORMAT,
            "question": self._question,
            "seed": str(self.seed),
            "pieces": {key: _listed(sums) for key, sums in self._kept.items()},
        }
        marked = {**content, "tag": tag(self._key, _canonical(content))}
        with replacing(self._path) as file:
            file.write(json.dumps(marked).encode())
        self._written = time.monotonic()

    def _read(self, path: Path, seed: int | None, key: bytes) -> None:
        """Take over what the file holds; nothing in it is used unless its tag is right."""
        try:
            content = strict_json(path.read_text(encoding="utf-8"))
            given = content.pop("tag")
            own = authentic(key, _canonical(content), given)
            if not (content["format"] == FORMAT and content["question"] == self._question):
                raise _refused("one of the same question", path)
            if not own:
                raise _refused("one that was written with the same checkpoint key", path)
            stored = int(content["seed"])
            kept = {piece: _sums(*parts) for piece, parts in content["pieces"].items()}
        except InvalidParameter:
            raise
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, OSError):
            raise _refused("one of the same question", path) from None
        if seed not in (None, stored):
            raise _refused("one of the same question and seed", path)
        if not all(map(_consistent, kept.values())):
            raise _refused("one with sums of payoffs that are possible", path)
        self.seed, self._kept = stored, kept


def _refused(instead: str, path: Path) -> InvalidParameter:
    return InvalidParameter("checkpoint", f"a new file, or {instead}", str(path))


def _key(piece: Piece) -> str:
    """The piece's place, and what is drawn there, so that nothing else is taken for it."""
    place = ".".join(map(str, piece.job.stream))
    return f"{place}:{_digest(piece.job)}:{piece.number}:{piece.draws}"


def _digest(job: Job) -> str:
    run = job.simulation
    drawn = (
        run.noise_multipliers,
        run.present,
        run.held,
        run.proposal,
        run.reference,
        run.replicas,
    )
    return hashlib.sha256(repr((drawn, job.payoffs, job.draws)).encode()).hexdigest()[:16]


def _listed(sums: Sums) -> list[Any]:
    return [sums.draws, sums.totals.tolist(), sums.squares.tolist(), sums.largest.tolist()]


def _sums(draws: int, totals: Any, squares: Any, largest: Any) -> Sums:
    return Sums(draws, *(np.array(one, dtype=np.float64) for one in (totals, squares, largest)))


def _consistent(sums: Sums) -> bool:
    """Whether sums of finite payoffs that are not negative can be like this, up to rounding."""
    totals, squares, largest = sums.totals, sums.squares, sums.largest
    most = largest * (1 + ROUNDING)
    return (
        type(sums.draws) is int
        and sums.draws > 0
        and totals.shape == squares.shape == largest.shape
        and bool(np.all(np.isfinite(totals) & np.isfinite(squares) & (largest >= 0)))
        and bool(np.all((totals >= 0) & (totals <= sums.draws * most)))
        and bool(np.all((squares >= 0) & (squares <= totals * most)))
    )


def _canonical(content: dict[str, Any]) -> bytes:
    """The same bytes for the same content, whatever the order and the spaces in the file."""
    return json.dumps(content, sort_keys=True, allow_nan=False).encode()

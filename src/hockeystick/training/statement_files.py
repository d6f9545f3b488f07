"""StatementFile: what statements about one run and about several have in common as files."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from hockeystick._files import check_target, replacing
from hockeystick.errors import InvalidParameter
from hockeystick.guarantee import Kind
from hockeystick.training.signatures import signature_of, signature_problem
from hockeystick.training.statement_fields import plain, read_object

__all__ = ["StatementFile", "read_text"]


@dataclass(frozen=True, kw_only=True)
class StatementFile(ABC):
    """A claim with what it is about, saved as a JSON object with a line for each field."""

    epsilon: float
    delta: float
    adjacency: str
    unit: str
    kind: Kind
    method: str
    accuracy: float

    @abstractmethod
    def to_object(self) -> dict[str, Any]:
        """The fields as plain values, the mark of the format first."""

    @classmethod
    @abstractmethod
    def from_object(cls, facts: Mapping[str, Any]) -> Self:
        """The statement of these fields, each of them checked; `InvalidParameter` otherwise."""

    @property
    @abstractmethod
    def signature(self) -> Mapping[str, str] | None:
        """Made by `sign`, or None; each kind of statement has it as its last field."""

    def sign(self, key: Any) -> Self:
        """The same statement, signed: no field can be changed without the secret key.

        An earlier signature is replaced. It binds every field, and says nothing about whether they
        are true: whoever signs has to know that.

        Parameters
        ----------
        key
            The PEM file of a secret Ed25519 key (`hockeystick keygen FILE`), which its owner alone
            may read, or an `Ed25519PrivateKey` of `cryptography`.

        Returns
        -------
        Statement or JointStatement
            With a `signature`.

        Raises
        ------
        MissingExtra
            Without the library `cryptography` (extra `sign`).
        """
        signed = signature_of(self._signed_facts(), key)
        return replace(self, signature=signed)  # type: ignore[call-arg]

    def signature_problem(self, key: Any) -> str | None:
        """What is wrong with the signature, in a part of a sentence; None if it is `key`'s.

        Parameters
        ----------
        key
            The PEM file of the signer's public key, or an `Ed25519PublicKey`.
        """
        return signature_problem(self._signed_facts(), self.signature, key)

    def _signed_facts(self) -> dict[str, Any]:
        """All fields as they are read from a file, but for the signature itself."""
        return {k: v for k, v in plain(self.to_object()).items() if k != "signature"}

    @abstractmethod
    def paragraph(self) -> str:
        """The statement in words, for a model card; invisible characters are escaped."""

    def to_json(self) -> str:
        """One JSON object, with a line for each field."""
        values = self.to_object()
        lines = (f"  {json.dumps(k)}: {json.dumps(v, allow_nan=False)}" for k, v in values.items())
        return "{\n" + ",\n".join(lines) + "\n}\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The statement in the text.

        Every field has its type and range; whether they are consistent and whether the number is
        right is the question of `check_statement`.

        Parameters
        ----------
        text
            What `to_json` returned.

        Returns
        -------
        Statement or JointStatement
            The statement in the text.

        Raises
        ------
        InvalidParameter
            If the text is no statement, a field is missing or occurs twice, or a text has control
            characters.
        """
        return cls.from_object(read_object(text))

    def save(self, path: str | Path) -> Path:
        """Write the JSON; the file appears complete or not at all.

        Parameters
        ----------
        path
            The file; one that exists is replaced.

        Returns
        -------
        pathlib.Path
            The path.
        """
        target = check_target("path", Path(path))
        with replacing(target) as file:
            file.write(self.to_json().encode())
        return target

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a file that `save` wrote.

        Parameters
        ----------
        path
            The file.

        Raises
        ------
        InvalidParameter
            If it cannot be read or is no statement, see `from_json`.
        """
        return cls.from_json(read_text(path))

    def __str__(self) -> str:
        return self.paragraph()


def read_text(path: str | Path) -> str:
    """The text in the file; `InvalidParameter` if it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidParameter("path", "a file that can be read", str(error)) from None

"""Ed25519 signatures of statements, by the `cryptography` library (extra `sign`).

What is signed are the canonical bytes of all fields: one JSON object with sorted names and no
spaces, after a line that says what it is, so that a signature of anything else is none of a
statement. Whoever has the public key can check them; only the owner of the secret key can make one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hockeystick._files import check_target, read_private, write_private
from hockeystick.errors import InvalidParameter, MissingExtra

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

__all__ = [
    "ALGORITHM",
    "canonical",
    "checked_signature",
    "new_key_files",
    "signature_of",
    "signature_problem",
]

ALGORITHM = "Ed25519"
# What the signed bytes begin with; another version of the canonical form has another line.
PURPOSE = b"hockeystick privacy statement, signed, 1\n"
# Bytes of a public key and of a signature, of Ed25519.
PUBLIC_BYTES, SIGNATURE_BYTES = 32, 64


def canonical(facts: Mapping[str, Any]) -> bytes:
    """The same bytes for the same facts, whatever the order and the spaces in a file."""
    text = json.dumps(
        facts, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )
    return PURPOSE + text.encode("ascii")


def new_key_files(path: str | Path) -> Path:
    """Make a pair of keys: the secret one at `path`, for its owner alone, beside it the public one.

    Nothing is replaced. Both are PEM files, the secret one PKCS 8 without a password.

    Parameters
    ----------
    path
        Of the secret key; ".pub" is appended for the public one.

    Returns
    -------
    pathlib.Path
        Of the public key.

    Examples
    --------
    >>> import hockeystick as hs
    >>> hs.training.new_key_files("me.pem")
    PosixPath('me.pem.pub')
    """
    _require_library()
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    secret, public = Path(path), Path(f"{path}.pub")
    check_target("path", secret)
    if public.exists():
        raise InvalidParameter("path", "one without a public key beside it", str(public))
    key = Ed25519PrivateKey.generate()
    content = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    try:
        write_private(secret, content)
        public.write_bytes(
            key.public_key().public_bytes(
                serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
            )
        )
    except OSError as error:
        raise InvalidParameter("path", "one without a file, in a folder", str(error)) from None
    return public


def signature_of(facts: Mapping[str, Any], key: object) -> dict[str, str]:
    """The signature of the facts, as plain values."""
    secret = _secret_key(key)
    return {
        "algorithm": ALGORITHM,
        "public_key": secret.public_key().public_bytes_raw().hex(),
        "signature": secret.sign(canonical(facts)).hex(),
    }


def signature_problem(
    facts: Mapping[str, Any], signature: Mapping[str, str] | None, key: object
) -> str | None:
    """What is wrong with a signature, as a part of a sentence; None if the owner of `key` made it.

    The public key inside the signature says nothing: whoever writes a file can put one there.
    """
    public = _public_key(key)
    from cryptography.exceptions import InvalidSignature

    if signature is None:
        return "it is not signed"
    if signature["public_key"] != public.public_bytes_raw().hex():
        return "it is signed with another key"
    try:
        public.verify(bytes.fromhex(signature["signature"]), canonical(facts))
    except InvalidSignature:
        return "the signature is not that of these fields"
    return None


def checked_signature(name: str, value: Any) -> dict[str, str]:
    """The parts of a signature, of their lengths; whether it is right is another question."""
    lengths = {"public_key": PUBLIC_BYTES, "signature": SIGNATURE_BYTES}
    if not isinstance(value, dict) or set(value) != {"algorithm", *lengths}:
        raise InvalidParameter(name, "made of algorithm, public_key and signature", value)
    if value["algorithm"] != ALGORITHM:
        raise InvalidParameter(name, f"of the algorithm {ALGORITHM}", value["algorithm"])
    for part, length in lengths.items():
        text = value[part]
        digits = isinstance(text, str) and set(text) <= set("0123456789abcdef")
        if not digits or len(text) != 2 * length:
            raise InvalidParameter(part, f"{2 * length} hexadecimal digits", text)
    return dict(value)


def _secret_key(key: object) -> Ed25519PrivateKey:
    _require_library()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    if isinstance(key, Ed25519PrivateKey):
        return key
    allowed = f"a secret {ALGORITHM} key, or its PEM file that its owner alone can read"
    if not isinstance(key, (str, Path)):
        raise InvalidParameter("key", allowed, type(key).__name__)
    try:
        found = load_pem_private_key(read_private(Path(key)), password=None)
    except (OSError, TypeError, ValueError) as error:
        raise InvalidParameter("key", allowed, f"{key}: {_first_line(error)}") from None
    if not isinstance(found, Ed25519PrivateKey):
        raise InvalidParameter("key", allowed, f"{key}, of another kind")
    return found


def _public_key(key: object) -> Ed25519PublicKey:
    _require_library()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    if isinstance(key, Ed25519PublicKey):
        return key
    allowed = f"a public {ALGORITHM} key, or its PEM file"
    if not isinstance(key, (str, Path)):
        raise InvalidParameter("key", allowed, type(key).__name__)
    try:
        found = load_pem_public_key(Path(key).read_bytes())
    except (OSError, ValueError) as error:
        raise InvalidParameter("key", allowed, f"{key}: {_first_line(error)}") from None
    if not isinstance(found, Ed25519PublicKey):
        raise InvalidParameter("key", allowed, f"{key}, of another kind")
    return found


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _require_library() -> None:
    try:
        import cryptography  # noqa: F401 - whether it is there
    except ImportError:
        raise MissingExtra("Signatures need cryptography", extra="sign") from None

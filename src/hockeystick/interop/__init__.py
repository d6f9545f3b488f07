"""A second opinion: what other libraries describe, or write to files, accounted here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, Literal

from hockeystick import _validate as check
from hockeystick.accounting import account
from hockeystick.errors import InvalidParameter, MissingExtra
from hockeystick.guarantee import Guarantee
from hockeystick.interop.events import from_dp_event
from hockeystick.interop.jax_privacy import (
    from_jax_privacy,
    is_jax_privacy,
    jax_privacy_cautions,
)
from hockeystick.plan import Plan
from hockeystick.schemes import FullBatch, Poisson

__all__ = ["SecondOpinion", "check_file", "from_dp_event", "from_jax_privacy", "from_opacus"]


def from_opacus(accountant: Any) -> Guarantee:
    """What the steps that Opacus recorded guarantee, if its batches were Poisson samples.

    Opacus accounts every run as Poisson sampling. That is so for the loader that it makes with
    `poisson_sampling=True`; with shuffled batches the number is not a guarantee, and nothing in
    the record tells.

    Parameters
    ----------
    accountant
        An accountant of Opacus, its `state_dict()`, or its history: triples (noise multiplier,
        sample rate, steps).

    Returns
    -------
    Guarantee
        Of all steps together; proven and tight for Poisson batches.

    Examples
    --------
    >>> import hockeystick as hs
    >>> found = hs.interop.from_opacus([(1.0, 0.01, 500), (2.0, 0.01, 500)])
    >>> round(found.epsilon(1e-6), 2)
    1.65
    """
    steps = _history(accountant)
    return reduce(Guarantee.compose, (_phase(*one) for one in steps))


def _history(accountant: Any) -> list[tuple[float, float, int]]:
    """The triples, wherever they stand."""
    if isinstance(accountant, Mapping):
        found = accountant.get("history", ())
    else:
        found = getattr(accountant, "history", accountant)
    try:
        triples = [(float(noise), float(rate), int(steps)) for noise, rate, steps in found]
    except (TypeError, ValueError):
        triples = []
    if not triples:
        allowed = "an accountant of Opacus with at least one step, or its history"
        raise InvalidParameter("accountant", allowed, accountant)
    return triples


def _phase(noise: float, rate: float, steps: int) -> Guarantee:
    sampling = FullBatch() if rate == 1 else Poisson(rate=rate)
    return account(Plan(sampling=sampling, steps=steps), noise_multiplier=noise)


# Where Opacus' checkpoints keep the state of the accountant.
OPACUS_STATE = "privacy_accountant_state_dict"
NO_CAUTION = "Bounds hold for Poisson batches."
Verdict = Literal["too small", "right", "larger than needed"]


@dataclass(frozen=True)
class SecondOpinion:
    """A claim of another library beside the bounds that are proven here.

    Attributes
    ----------
    library
        Who wrote the file.
    delta
        The delta of all numbers.
    lower, upper
        Proven bounds on epsilon.
    claimed
        The epsilon that the file or the caller claims, or None.
    verdict
        "too small" if the claim is below the lower bound, and so wrong; "larger than needed" if it
        is above the upper bound; "right" between; None without a claim.
    caution
        What the file cannot tell.
    """

    library: str
    delta: float
    lower: float
    upper: float
    claimed: float | None
    caution: str

    @property
    def verdict(self) -> Verdict | None:
        """The claim against the bounds."""
        if self.claimed is None:
            return None
        if self.claimed < self.lower:
            return "too small"
        return "right" if self.claimed <= self.upper else "larger than needed"


def check_file(
    path: Path | str, *, delta: float | None = None, epsilon: float | None = None
) -> SecondOpinion:
    """Accounts a run as another library recorded it, and judges the epsilon that was claimed.

    Parameters
    ----------
    path
        A JSON file with `history`, triples (noise multiplier, sample rate, steps), or with the
        fields of a configuration of jax-privacy, and perhaps `epsilon` and `delta`; or a checkpoint
        of Opacus (extra `torch`).
    delta, epsilon
        In the place of what the file has.

    Returns
    -------
    SecondOpinion
        With the bounds, the claim and the verdict.

    Raises
    ------
    InvalidParameter
        If the file has neither, or nothing says what delta is.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import hockeystick as hs
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "history.json"
    >>> _ = path.write_text('{"history": [[1.0, 0.01, 1000]], "delta": 1e-6}')
    >>> hs.interop.check_file(path, epsilon=1.9).verdict
    'too small'
    """
    content = _content(Path(path))
    delta = content.get("delta") if delta is None else delta
    if delta is None:
        raise InvalidParameter("delta", "given, or in the file", delta)
    delta = check.small_probability("delta", delta)
    claimed = content.get("epsilon") if epsilon is None else epsilon
    if claimed is not None:
        claimed = check.at_least("epsilon", claimed, 0.0)
    library, guarantee, caution = _described(content)
    answer = guarantee.answer(delta=delta)
    lower = 0.0 if answer.lower is None else answer.lower
    return SecondOpinion(library, delta, lower, answer.value, claimed, caution)


def _described(content: Mapping[str, Any]) -> tuple[str, Guarantee, str]:
    """Who wrote it, what it guarantees, and what it does not say."""
    if is_jax_privacy(content):
        caution = " ".join(jax_privacy_cautions(content))
        return "jax-privacy", from_jax_privacy(content), caution or NO_CAUTION
    found = from_opacus(content.get(OPACUS_STATE, content))
    return "Opacus", found, f"{NO_CAUTION[:-1]}; the record does not say how batches were drawn."


def _content(path: Path) -> dict[str, Any]:
    """The object in a JSON file, or in a file of PyTorch."""
    allowed = (
        "a JSON object with `history` or the fields of a configuration of jax-privacy, or a "
        "checkpoint of Opacus"
    )
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InvalidParameter("file", "a file that can be read", error) from None
    try:
        found = json.loads(data) if data.lstrip()[:1] in {b"{", b"["} else _from_torch(path)
    except ValueError:
        raise InvalidParameter("file", allowed, path.name) from None
    if isinstance(found, list):
        found = {"history": found}
    if not isinstance(found, dict):
        raise InvalidParameter("file", allowed, path.name)
    if not ({"history", OPACUS_STATE} & set(found) or is_jax_privacy(found)):
        raise InvalidParameter("file", allowed, path.name)
    return found


def _from_torch(path: Path) -> Any:
    """A checkpoint, without running anything that is in it."""
    try:
        import torch
    except ImportError:
        raise MissingExtra("A checkpoint of Opacus needs PyTorch", extra="torch") from None
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # noqa: BLE001  # whatever the file's content makes PyTorch raise
        raise ValueError(str(error)) from None

"""Where the randomness of the batches comes from."""

from __future__ import annotations

import operator
import secrets
from functools import singledispatch
from typing import Any, TypeAlias

import numpy as np

from hockeystick.errors import InvalidParameter

__all__ = ["RandomSource", "generator"]

RandomSource: TypeAlias = (
    int | np.random.Generator | np.random.BitGenerator | np.random.SeedSequence | None
)

_SEED_BITS = 256


def generator(rng: RandomSource = None) -> np.random.Generator:
    """A NumPy generator from whatever describes one.

    `None` gives a fresh generator seeded with 256 bits from the operating system's cryptographic
    source, which is what a private run should use: the guarantee assumes that the adversary does
    not know which batches were drawn. The stream itself is PCG64-DXSM, a fast statistical
    generator; only its seed is cryptographic. A non-negative integer or a `SeedSequence` gives a
    reproducible generator, a `BitGenerator` is wrapped, and a `Generator` is returned as it is (its
    state advances as batches are drawn). Anything else raises `InvalidParameter`.
    """
    return _resolve(rng)


@singledispatch
def _resolve(rng: Any) -> np.random.Generator:
    """Integers of any kind; everything that is not registered below ends here."""
    try:
        seed = operator.index(rng)
    except TypeError:
        raise _refusal(rng) from None
    if not seed >= 0:
        raise _refusal(rng)
    return np.random.Generator(np.random.PCG64DXSM(seed))


@_resolve.register
def _(rng: None) -> np.random.Generator:
    # The default pool of a SeedSequence holds 128 bits; eight words keep all of the 256.
    seed = np.random.SeedSequence(secrets.randbits(_SEED_BITS), pool_size=_SEED_BITS // 32)
    return np.random.Generator(np.random.PCG64DXSM(seed))


@_resolve.register
def _(rng: bool) -> np.random.Generator:
    raise _refusal(rng)


@_resolve.register
def _(rng: np.random.Generator) -> np.random.Generator:
    return rng


@_resolve.register
def _(rng: np.random.BitGenerator) -> np.random.Generator:
    return np.random.Generator(rng)


@_resolve.register
def _(rng: np.random.SeedSequence) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64DXSM(rng))


def _refusal(rng: object) -> InvalidParameter:
    allowed = "None, an integer seed >= 0, or a NumPy Generator, BitGenerator or SeedSequence"
    return InvalidParameter("rng", allowed, rng)

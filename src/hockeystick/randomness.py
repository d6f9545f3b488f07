"""Where the randomness of batches and noise comes from."""

from __future__ import annotations

import operator
import secrets
from copy import deepcopy
from functools import singledispatch
from typing import Any, TypeAlias

import numpy as np

from hockeystick.errors import InvalidParameter, MissingExtra

__all__ = ["RandomSource", "child", "generator", "generators", "is_secret", "same_again"]

RandomSource: TypeAlias = (
    int | str | np.random.Generator | np.random.BitGenerator | np.random.SeedSequence | None
)
"""Whatever `generator` makes a generator of; None is a fresh one with a secret seed."""

_SEED_BITS = 256
CRYPTOGRAPHIC = "chacha"
# Marks the seeds of generators beside a first one; spawned children are numbered from 0 and do not
# reach it.
_BESIDE = 2**31


def generator(rng: RandomSource = None) -> np.random.Generator:
    """A NumPy generator from whatever describes one.

    A private run should use `None` or `"chacha"`: the guarantee assumes that the adversary does not
    know which batches and which noise were drawn.

    Parameters
    ----------
    rng
        `None` gives a fresh generator seeded with 256 bits from the operating system's
        cryptographic source. The stream itself is PCG64-DXSM, a fast statistical generator; only
        its seed is cryptographic. `"chacha"` gives a cryptographic stream as well: ChaCha with 20
        rounds and a secret 256-bit key (extra `crypto`). A non-negative integer or a `SeedSequence`
        gives a reproducible generator, a `BitGenerator` is wrapped, and a `Generator` is returned
        as it is (its state advances as it is used).

    Returns
    -------
    numpy.random.Generator
        The generator.

    Raises
    ------
    InvalidParameter
        If `rng` is anything else.

    Examples
    --------
    >>> import hockeystick as hs
    >>> first, second = hs.schemes.generator(7), hs.schemes.generator(7)
    >>> bool(first.random() == second.random())
    True
    """
    return _resolve(rng)


def is_secret(rng: RandomSource) -> bool:
    """Whether `generator` seeds from the operating system; otherwise the caller knows the seed."""
    return rng is None or isinstance(rng, str)


def generators(rng: RandomSource, count: int) -> list[np.random.Generator]:
    """The generator that describes `rng`, and independent ones beside it if they can be had.

    They are fresh for a secret source and derived from a seed; of a generator that is already
    there no others are made, because it might be drawn from elsewhere.
    """
    return _several(rng, count)


def child(rng: np.random.Generator) -> np.random.Generator:
    """A generator that nothing else draws from, seeded with 256 bits from this one.

    A cryptographic generator has a cryptographic child.
    """
    words = rng.integers(2**32, size=_SEED_BITS // 32, dtype=np.uint64).tolist()
    kind = type(rng.bit_generator)
    if kind.__name__ == "ChaCha":
        key = sum(word << 32 * place for place, word in enumerate(words))
        return np.random.Generator(kind(key=key, rounds=20))  # type: ignore[call-arg]
    return generator(np.random.SeedSequence(words, pool_size=_SEED_BITS // 32))


def same_again(rng: np.random.Generator) -> np.random.Generator:
    """Another generator that draws what this one draws next."""
    source = type(rng.bit_generator)()
    source.state = deepcopy(rng.bit_generator.state)
    return np.random.Generator(source)


@singledispatch
def _several(rng: Any, count: int) -> list[np.random.Generator]:
    """Integers, and everything that `generator` refuses."""
    first = generator(rng)
    return [first, *_derived(np.random.SeedSequence(operator.index(rng)), count - 1)]


@_several.register(type(None))
@_several.register(str)
def _(rng: str | None, count: int) -> list[np.random.Generator]:
    return [generator(rng) for _ in range(count)]


@_several.register(np.random.Generator)
@_several.register(np.random.BitGenerator)
def _(rng: np.random.Generator | np.random.BitGenerator, count: int) -> list[np.random.Generator]:
    return [generator(rng)]


@_several.register
def _(rng: np.random.SeedSequence, count: int) -> list[np.random.Generator]:
    return [generator(rng), *_derived(rng, count - 1)]


def _derived(seed: np.random.SeedSequence, count: int) -> list[np.random.Generator]:
    """Generators that depend on the seed alone, and are not those of children spawned from it."""
    keys = [(*seed.spawn_key, _BESIDE, i) for i in range(count)]
    return [
        generator(np.random.SeedSequence(seed.entropy, spawn_key=key, pool_size=seed.pool_size))
        for key in keys
    ]


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
def _(rng: str) -> np.random.Generator:
    if rng != CRYPTOGRAPHIC:
        raise _refusal(rng)
    try:
        from randomgen import ChaCha
    except ImportError:
        raise MissingExtra(
            "A cryptographic generator needs randomgen; install it with the extra `crypto`: "
            "hockeystick[crypto]."
        ) from None
    return np.random.Generator(ChaCha(key=secrets.randbits(_SEED_BITS), rounds=20))


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
    allowed = (
        "None, an integer seed >= 0, 'chacha', or a NumPy Generator, BitGenerator or SeedSequence"
    )
    return InvalidParameter("rng", allowed, rng)

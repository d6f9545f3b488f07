"""Where the randomness of batches and noise comes from."""

from __future__ import annotations

import hashlib
import importlib.util
import operator
import secrets
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from hockeystick.errors import InvalidParameter, MissingExtra

__all__ = [
    "CRYPTOGRAPHIC",
    "Key",
    "RandomSource",
    "cryptographic_if_secret",
    "generator",
    "generators",
    "is_secret",
]

RandomSource: TypeAlias = (
    int | str | np.random.Generator | np.random.BitGenerator | np.random.SeedSequence | None
)
"""Whatever `generator` makes a generator of; None is a fresh one with a secret seed."""

# As many as the keys of the cipher below: no seed can be found by trying.
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


def cryptographic_if_secret(rng: RandomSource) -> RandomSource:
    """In the place of None: "chacha" where the extra `crypto` is installed."""
    if rng is None and importlib.util.find_spec("randomgen") is not None:
        return CRYPTOGRAPHIC
    return rng


def generators(rng: RandomSource, count: int) -> list[np.random.Generator]:
    """The generator that describes `rng`, and independent ones beside it if they can be had.

    They are fresh for a secret source and derived from a seed; of a generator that is already
    there no others are made, because it might be drawn from elsewhere.
    """
    return _several(rng, count)


@dataclass(frozen=True, repr=False)
class Key:
    """256 bits from which secrets for any purpose, and any number of generators, follow.

    What belongs to a place does not depend on which other places are asked for, or when. Who knows
    the key knows everything that is drawn.

    Attributes
    ----------
    words
        Four words of 64 bits.
    cryptographic
        Whether generators are cryptographic: ChaCha with 20 rounds. Otherwise PCG64-DXSM. Noise is
        drawn by ChaCha in any case, with 20 rounds or with 8.
    seeded
        Whether the caller knows where it comes from.
    """

    words: tuple[int, int, int, int]
    cryptographic: bool = False
    seeded: bool = True

    @classmethod
    def of(cls, rng: RandomSource) -> Key:
        """A fresh key of a secret source; from a seed always the same; of a generator the next."""
        if isinstance(rng, (np.random.Generator, np.random.BitGenerator)):
            source = generator(rng)
            words = source.integers(2**64, size=4, dtype=np.uint64)
            return cls(_four(words), type(source.bit_generator).__name__ == "ChaCha")
        # Refuses what is no source, and asks for ChaCha where it is missing.
        generator(rng)
        if is_secret(rng):
            secret = np.frombuffer(secrets.token_bytes(_SEED_BITS // 8), dtype=np.uint64)
            return cls(_four(secret), cryptographic=rng == CRYPTOGRAPHIC, seeded=False)
        seed = (
            rng if isinstance(rng, np.random.SeedSequence) else np.random.SeedSequence(_index(rng))
        )
        beside = (*seed.spawn_key, _BESIDE)
        derived = np.random.SeedSequence(
            seed.entropy, spawn_key=beside, pool_size=max(seed.pool_size, _SEED_BITS // 32)
        )
        return cls(_four(derived.generate_state(4, np.uint64).astype(np.uint64)))

    @property
    def rounds(self) -> int:
        """Of ChaCha, for noise."""
        return 20 if self.cryptographic else 8

    @property
    def kind(self) -> str:
        """What draws noise."""
        return f"ChaCha{self.rounds}"

    def secret(self, purpose: bytes) -> bytes:
        """32 bytes for one purpose; those of other purposes say nothing about them."""
        whole = np.array(self.words, dtype="<u8").tobytes()
        return hashlib.blake2b(whole, digest_size=_SEED_BITS // 8, person=purpose).digest()

    def after(self, change: str) -> Key:
        """The key after a change: another for every text, and none says anything about another."""
        whole = np.array(self.words, dtype="<u8").tobytes()
        made = hashlib.blake2b(
            change.encode(), key=whole, digest_size=_SEED_BITS // 8, person=b"after a change"
        )
        words = np.frombuffer(made.digest(), dtype="<u8").astype(np.uint64)
        return Key(_four(words), self.cryptographic, self.seeded)

    @classmethod
    def restored(cls, words: Any, *, like: Key) -> Key:
        """A key of the same kind with saved words; `InvalidParameter` for anything but four."""
        saved = np.asarray(words)
        if saved.shape != (4,) or saved.dtype != np.uint64 or not saved.all():
            # The words themselves are secret; one of 64 bits is zero with probability 2^-64.
            raise InvalidParameter("state", "with a key of four words", (saved.shape, saved.dtype))
        return cls(_four(saved), like.cryptographic, like.seeded)

    def generator(self, first: int = 0, second: int = 0) -> np.random.Generator:
        """The generator at a place: two numbers below 2^32 and 2^64."""
        whole = sum(word << 64 * i for i, word in enumerate(self.words))
        if not self.cryptographic:
            place = np.random.SeedSequence(
                whole, spawn_key=(first, second), pool_size=_SEED_BITS // 32
            )
            return np.random.Generator(np.random.PCG64DXSM(place))
        from randomgen import ChaCha

        # The counter is of words of 32 bits: each place has 2^32 of the stream that the key has.
        counter = second << 64 | first << 32
        return np.random.Generator(ChaCha(key=whole, counter=counter, rounds=20))


def _index(seed: Any) -> int:
    return operator.index(seed)


def _four(words: npt.NDArray[np.uint64]) -> tuple[int, int, int, int]:
    a, b, c, d = (int(word) for word in words)
    return a, b, c, d


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
        raise MissingExtra("A cryptographic generator needs randomgen", extra="crypto") from None
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

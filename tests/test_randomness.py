"""The generator behind the batches."""

from __future__ import annotations

import math
import secrets
from typing import Any

import numpy as np
import pytest

from hockeystick.errors import InvalidParameter
from hockeystick.schemes import generator
from in_one_test import in_one_test


def first_words(rng: Any) -> list[int]:
    """The start of the stream."""
    return [int(word) for word in generator(rng).integers(2**63, size=4)]


def test_a_generator_is_returned_as_it_is() -> None:
    """The caller's generator is used, so that its state advances."""
    rng = np.random.default_rng(3)
    assert generator(rng) is rng


def test_a_bit_generator_is_wrapped() -> None:
    """The caller's bit generator drives the stream."""
    bits = np.random.Philox(3)
    assert generator(bits).bit_generator is bits


@pytest.mark.parametrize("seed", [0, 7, 2**200, np.int32(7), np.uint64(2**63)])
def test_an_integer_seed_is_reproducible(seed: Any) -> None:
    """Integers of any kind and size seed the same stream every time, and differ from others."""
    assert first_words(seed) == first_words(int(seed))
    assert first_words(seed) != first_words(int(seed) + 1)


def test_a_seed_sequence_is_reproducible() -> None:
    """A SeedSequence gives the stream of its entropy; its children differ."""
    sequence = np.random.SeedSequence(7)
    assert first_words(sequence) == first_words(7)
    assert first_words(sequence.spawn(1)[0]) != first_words(7)


def test_default_generators_differ() -> None:
    """A hundred default generators give a hundred streams."""
    assert len({tuple(first_words(None)) for _ in range(100)}) == 100


def test_the_default_seed_is_cryptographic(monkeypatch: pytest.MonkeyPatch) -> None:
    """The default stream is a function of 256 bits from `secrets` and of nothing else."""
    asked = []

    def fixed(bits: int) -> int:
        asked.append(bits)
        return 12345

    monkeypatch.setattr(secrets, "randbits", fixed)
    assert first_words(None) == first_words(None)
    assert asked == [256, 256]


def test_the_default_seed_keeps_all_its_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The entropy pool is as wide as the seed."""
    monkeypatch.setattr(secrets, "randbits", lambda bits: 2**bits - 1)
    sequence: Any = generator(None).bit_generator.seed_seq
    assert 32 * sequence.pool_size >= int(sequence.entropy).bit_length() == 256


@in_one_test
@pytest.mark.parametrize(
    "bad",
    [-1, 1.0, math.nan, True, np.True_, "7", b"7", [1, 2], np.random.RandomState(1), object()],
)
def test_anything_else_is_refused(bad: Any) -> None:
    """The error names `rng` and carries the value."""
    with pytest.raises(InvalidParameter, match=r"^rng must be None, an integer seed") as caught:
        generator(bad)
    assert caught.value.value is bad

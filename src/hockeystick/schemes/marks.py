"""Marks: a set of examples as one bit for each of them, and uniform draws of those without one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hockeystick.schemes.batches import SORTED_UP_TO, Indices

__all__ = ["Marks", "Participations", "Unmarked"]

# Below this share of unmarked examples they are listed once instead of being found by rejection:
# the list is at most half as large as the marks themselves (64 bits for each 1/128), and on the
# way there at most 128 numbers are drawn for each one that is found.
LISTED_FROM = 1 / 128
# Numbers drawn beyond those that are needed on average, so that one round nearly always suffices.
SPARE, FEW = 1.1, 16
# Bytes of marks that are unpacked at a time, each into eight.
BLOCK = 2**20


class Marks:
    """Which of `size` examples are marked: size / 8 bytes; O(k log k) to ask or change k of them.

    Parameters
    ----------
    size
        The number of examples; none is marked at first.

    Examples
    --------
    >>> import numpy as np
    >>> marks = Marks(20)
    >>> marks.add(np.array([3, 17]))
    >>> marks.has(np.array([2, 3, 17])).tolist()
    [False, True, True]
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._bytes = np.zeros(-(-size // 8), dtype=np.uint8)

    def has(self, indices: Indices) -> npt.NDArray[np.bool_]:
        """Whether each of them is marked."""
        bits = self._bytes[indices >> 3] >> (indices & 7).astype(np.uint8)
        result: npt.NDArray[np.bool_] = (bits & 1).astype(np.bool_)
        return result

    def add(self, indices: Indices) -> None:
        """Mark them; they are sorted and distinct."""
        if indices.size:
            places, bits = _by_byte(indices)
            self._bytes[places] |= bits

    def remove(self, indices: Indices) -> None:
        """Take their marks away; they are sorted and distinct."""
        if indices.size:
            places, bits = _by_byte(indices)
            self._bytes[places] &= ~bits

    def unmarked(self) -> Indices:
        """All examples without a mark, in order."""
        parts = []
        for start in range(0, self._bytes.size, BLOCK):
            bits = np.unpackbits(self._bytes[start : start + BLOCK], bitorder="little")
            parts.append(np.flatnonzero(bits[: self.size - 8 * start] == 0) + 8 * start)
        return np.concatenate(parts).astype(np.int64, copy=False)


def _by_byte(indices: Indices) -> tuple[Indices, npt.NDArray[np.uint8]]:
    """The bytes in which sorted indices lie, each once, and their bits in each of them."""
    where = indices >> 3
    starts = np.flatnonzero(np.diff(where, prepend=-1))
    bits = np.left_shift(np.uint8(1), (indices & 7).astype(np.uint8))
    return where[starts], np.bitwise_or.reduceat(bits, starts)


class Unmarked:
    """Draws uniform sets of examples that no earlier draw has taken.

    Numbers are drawn from all examples and those that were taken before are left out. Once few are
    left they are listed in a random order, of which further draws take the next ones. Both are
    uniform without replacement. Memory is a bit for each example and what a draw returns; a draw of
    k examples costs O(k log k) as long as a fixed share is left.

    Parameters
    ----------
    size
        The number of examples.
    rng
        Where the draws come from.
    """

    def __init__(self, size: int, rng: np.random.Generator) -> None:
        self.left = size
        self._marks = Marks(size)
        self._rng = rng
        self._listed: Indices | None = None

    def take(self, count: int) -> Indices:
        """A uniform set of `count` of those that are left, sorted."""
        if count == 0:
            return np.empty(0, dtype=np.int64)
        left, self.left = self.left, self.left - count
        if self._listed is None and count == left:
            return self._marks.unmarked()
        if self._listed is None and self.left < LISTED_FROM * self._marks.size:
            self._listed = self._rng.permutation(self._marks.unmarked())
        if self._listed is None:
            return self._by_rejection(count, share=left / self._marks.size)
        return np.sort(self._listed[self.left : left])

    def _by_rejection(self, count: int, *, share: float) -> Indices:
        """By draws from all examples, of which about this share is left."""
        found: list[Indices] = [np.empty(0, dtype=np.int64)]
        missing = count
        while missing:
            tries = int(SPARE * missing / share) + FEW
            drawn = self._rng.integers(self._marks.size, size=tries, dtype=np.int64)
            # In the order in which they were drawn, each once: as if drawn one after the other.
            new, first = np.unique(drawn, return_index=True)
            fresh = ~self._marks.has(new)
            new, first = new[fresh], first[fresh]
            if new.size > missing:
                new = np.sort(new[np.argsort(first)[:missing]])
            self._marks.add(new)
            found.append(new)
            missing -= new.size
        return np.sort(np.concatenate(found))


class Participations:
    """How often each example has taken part, up to `most` times.

    A number for each of up to 4 million examples. With more, binary digits, each as a set: a bit
    for each example and digit, of which only what is written takes memory.

    Parameters
    ----------
    examples
        Their number.
    most
        The largest count that occurs.
    """

    def __init__(self, examples: int, *, most: int) -> None:
        few = examples <= SORTED_UP_TO
        self._counts = np.zeros(examples if few else 0, np.min_scalar_type(most))
        self._digits = [] if few else [Marks(examples) for _ in range(most.bit_length())]

    def __getitem__(self, indices: Indices) -> Indices:
        """The counts of these examples."""
        if self._counts.size:
            return self._counts[indices].astype(np.int64)
        counts = np.zeros(indices.size, dtype=np.int64)
        for place, digit in enumerate(self._digits):
            counts += digit.has(indices).astype(np.int64) << place
        return counts

    def add(self, batch: Indices) -> None:
        """One more for each of them; they are sorted and distinct."""
        if self._counts.size:
            self._counts[batch] += 1
        for digit in self._digits:
            carried = digit.has(batch)
            digit.add(batch[~carried])
            batch = batch[carried]
            digit.remove(batch)

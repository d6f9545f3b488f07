"""Parts of a row of a noise stream: drawn, and correlated with what is remembered of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hockeystick._numerics.law import FloatArray
from hockeystick.randomness import Key
from hockeystick.strategies.pieces import Stretch
from hockeystick.strategies.recurrence import Recurrence

__all__ = ["Cipher", "NoiseRow"]

# The purpose of the secret that noise follows from; no other is derived with this name.
PURPOSE = b"noise"


class Cipher(NamedTuple):
    """A key, and what the blocks of all its rows begin with."""

    key: Key
    head: npt.NDArray[np.uint32]

    @classmethod
    def of(cls, key: Key) -> Cipher:
        """The head follows from the key."""
        from hockeystick._numerics.chacha import cipher_head

        return cls(key, cipher_head(key.secret(PURPOSE)))


@dataclass(frozen=True, eq=False)
class NoiseRow:
    """Row `step` of scale C^-1 Z, of which threads fill parts.

    Attributes
    ----------
    row
        The local vector.
    head, rounds
        Of the cipher.
    extremes
        The smallest and the largest entry of every stretch.
    """

    row: npt.NDArray[Any]
    head: npt.NDArray[np.uint32]
    rounds: int
    scale: float
    step: int
    extremes: list[float] = field(default_factory=list)

    @classmethod
    def empty(cls, size: int, dtype: Any, cipher: Cipher, *, scale: float, step: int) -> NoiseRow:
        """Nothing is drawn yet."""
        return cls(np.empty(size, dtype), cipher.head, cipher.key.rounds, scale, step)

    def advance(
        self, share: list[Stretch], memory: npt.NDArray[Any], recurrence: Recurrence
    ) -> None:
        """Draw the stretches and correlate them with the rows in `memory`, which advance."""
        from hockeystick.strategies.normals import fill_normal

        for start, where in share:
            mine = self.row[where]
            fill_normal(mine, start, self.head, step=self.step, rounds=self.rounds)
            recurrence.advance(
                mine, memory, scale=self.scale, step=self.step, first=int(where.start)
            )
            self._measure(mine)

    def replay(self, share: list[Stretch], factors: FloatArray) -> None:
        """The stretches of the sum over j of factor_j times row step - j of Z.

        Earlier rows are drawn again. The sums are those of a stream that remembers them, in the
        same order.
        """
        from hockeystick.strategies.normals import fill_combination

        for start, where in share:
            mine = self.row[where]
            fill_combination(
                mine,
                start,
                self.head,
                step=self.step,
                rounds=self.rounds,
                factors=factors,
                scale=self.scale,
            )
            self._measure(mine)

    def _measure(self, mine: npt.NDArray[Any]) -> None:
        """While it is in the cache."""
        self.extremes.extend((float(mine.min()), float(mine.max())))

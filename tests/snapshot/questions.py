"""What a question of the snapshot is, and the adapters for interfaces that are about to change.

Everything goes through the public interface. The questions themselves are in the other modules
of this folder, a list `QUESTIONS` in each; `catalogue` has all of them.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

import hockeystick as hs

Number = float | int | str | bool
Numbers = dict[str, Number]
Policy = Literal["exact", "search", "lower"]

# Relative differences that count as none: of rounding, and of a search among valid bounds. Other
# kernels of OpenBLAS (OPENBLAS_CORETYPE of Haswell and Nehalem), NumPy without AVX and FMA, and
# several threads move no number, also none of iterative optimisations, by more than 3e-13.
ROUNDING, SEARCHED = 1e-12, 1e-3


# -- adapters: the only places that know how these arguments are spelled ---------------------------


def by_draws(*, draws: int | None, seed: int, epsilon: float | None = None) -> dict[str, Any]:
    """The arguments of `account` (with epsilon) and `calibrate` (without) for Monte Carlo."""
    return {"method": hs.MonteCarlo(draws=draws, epsilon=epsilon, seed=seed)}


# -- questions -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Question:
    """A name, a function that gives named numbers, and what may become of them.

    The policy "exact" allows for rounding. "search" is for a search among valid bounds: a number
    may become smaller, and larger by 0.1 %; those whose names start with "lower" are bounds from
    below, and the other way round. Questions that are `long` are left to the long test run.
    """

    name: str
    ask: Callable[[], Numbers]
    policy: Policy = "exact"
    long: bool = False

    def policy_of(self, number: str) -> Policy:
        """The policy of one of the numbers."""
        below = self.policy == "search" and number.startswith("lower")
        return "lower" if below else self.policy

    def differences(self, recorded: Mapping[str, Number], found: Numbers) -> list[str]:
        """What is wrong with the numbers that are found now; numbers may be added."""
        wrong = []
        for name, before in recorded.items():
            if name not in found:
                wrong.append(f"{name}: {before!r} is gone")
            elif not agrees(before, found[name], self.policy_of(name)):
                wrong.append(f"{name}: {before!r} became {found[name]!r}")
        return wrong


def agrees(before: Number, now: Number, policy: Policy) -> bool:
    """Whether a number may have become the other one."""
    if isinstance(before, str | bool | int):
        return type(before) is type(now) and before == now
    if not isinstance(now, float):
        return False
    if policy == "search":
        return now <= before + SEARCHED * abs(before)
    if policy == "lower":
        return now >= before - SEARCHED * abs(before)
    return before == now or abs(now - before) <= ROUNDING * abs(before)


# -- arrays as a few numbers -----------------------------------------------------------------------


def summary(name: str, values: Any) -> Numbers:
    """An array of real numbers as its shape and some sums; weights tell orders apart."""
    flat = np.asarray(values, dtype=np.float64).ravel()
    weights = 1.0 + np.arange(flat.size) % 7
    return {
        f"{name} size": int(flat.size),
        f"{name} first": float(flat[0]),
        f"{name} last": float(flat[-1]),
        f"{name} sum of squares": float(np.sum(flat * flat)),
        f"{name} weighted sum": float(np.sum(weights * np.abs(flat))),
    }


def index_summary(batches: Iterable[Any]) -> Numbers:
    """Index arrays as counts, a sum, and a checksum of all of them in their order."""
    arrays = [np.asarray(batch, dtype="<i8") for batch in batches]
    checksum = 0
    for array in arrays:
        checksum = zlib.crc32(array.size.to_bytes(8, "little") + array.tobytes(), checksum)
    return {
        "batches": len(arrays),
        "indices": int(sum(array.size for array in arrays)),
        "sum": int(sum(int(array.sum()) for array in arrays)),
        "checksum": checksum,
    }

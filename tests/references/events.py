"""What one event shows about a run: P(S) - e^epsilon Q(S) is never above delta(epsilon).

Events here are half-lines of the outputs projected on one direction, whose probabilities are
mixtures of normal tails, and any precision is cheap for those.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import mpmath

__all__ = ["Mixture", "epsilon_shown", "poisson_patterns", "projected"]

Mixture = list[tuple[Any, Any]]

exact = mpmath.mp.clone()
exact.dps = 60


def poisson_patterns(rate: float, steps: int) -> Iterable[tuple[tuple[int, ...], Any]]:
    """All participations with their probabilities."""
    digits = exact.mpf(rate)
    for code in range(2**steps):
        pattern = tuple(code >> i & 1 for i in range(steps))
        heads = sum(pattern)
        yield pattern, digits**heads * (1 - digits) ** (steps - heads)


def projected(
    patterns: Iterable[tuple[Sequence[int], Any]], matrix: Any, noise: float, column: int
) -> Mixture:
    """Shifts and weights of the output along one column of the strategy, in units of the noise."""
    direction = [exact.mpf(float(row[column])) for row in matrix]
    length = exact.sqrt(exact.fsum(entry**2 for entry in direction))
    mixture = []
    for pattern, weight in patterns:
        shift = exact.fsum(
            entry * exact.fsum(exact.mpf(float(c)) * x for c, x in zip(row, pattern, strict=True))
            for entry, row in zip(direction, matrix, strict=True)
        )
        mixture.append((shift / length / exact.mpf(noise), weight))
    return mixture


def epsilon_shown(mixture: Mixture, delta: float, *, add: bool) -> float:
    """The largest epsilon that an event proves to be needed at delta; 0 if none does."""
    largest = float(max(shift for shift, _ in mixture))
    best = 0.0
    for part in range(-40, 121, 8):
        level = exact.mpf(largest * part / 40) + exact.mpf(part) / 20
        with_it = exact.fsum(w * exact.ncdf(s - level) for s, w in mixture)
        without = exact.ncdf(-level)
        if add:
            with_it = exact.fsum(w * exact.ncdf(level - s) for s, w in mixture)
            without = exact.ncdf(level)
            with_it, without = without, with_it
        if with_it - exact.mpf(delta) > without > 0:
            best = max(best, float(exact.log((with_it - exact.mpf(delta)) / without)))
    return best

"""The schedule of the steps that were taken, equal ones counted together."""

from __future__ import annotations

__all__ = ["Schedule", "with_step"]

# Of steps in a row: how many, their noise multiplier and their clip norm.
Schedule = tuple[tuple[int, float, float], ...]


def with_step(schedule: Schedule, noise_multiplier: float, clip: float) -> Schedule:
    """The schedule with one step more."""
    if schedule and schedule[-1][1:] == (noise_multiplier, clip):
        return (*schedule[:-1], (schedule[-1][0] + 1, noise_multiplier, clip))
    return (*schedule, (1, noise_multiplier, clip))

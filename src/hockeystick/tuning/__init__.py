"""Hyperparameter search: what the best of a random number of private runs guarantees."""

from __future__ import annotations

from hockeystick.tuning.random_runs import Best, RandomRuns

__all__ = ["Best", "RandomRuns"]

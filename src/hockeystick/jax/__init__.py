"""JAX runs whose batches and noise are those of a plan (extra `jax`: JAX and Optax)."""

from __future__ import annotations

from hockeystick.errors import MissingExtra

try:
    import jax  # noqa: F401 - only whether it is there
    import optax  # noqa: F401
except ImportError as error:
    raise MissingExtra("Training in JAX needs jax and optax", extra="jax") from error

from hockeystick.jax.draws import PaddedBatch, PlanNoiseState, plan_noise
from hockeystick.jax.run import JaxRun

__all__ = ["JaxRun", "PaddedBatch", "PlanNoiseState", "plan_noise"]

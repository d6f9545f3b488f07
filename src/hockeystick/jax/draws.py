"""The plan's noise and batches for JAX.

The noise is an Optax gradient transformation: C^-1 Z, row by row, on the device. With b bands in C
a row is x_t = (z_t - sum of C[t, t-k] x_{t-k} over k < b) / C[t, t], and the state has the last b -
1 rows. Where C^-1 has fewer bands, a row is the sum of C^-1[t, t-k] z_{t-k}, and the state has the
last z. Both are pytrees like the parameters, with the rows first.

The batch of a step is padded, so that few sizes are compiled.
"""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import NamedSharding, PartitionSpec

from hockeystick import _validate as check
from hockeystick._numerics.law import FloatArray
from hockeystick.errors import InvalidParameter
from hockeystick.plan import Plan
from hockeystick.schemes import Indices
from hockeystick.training.plan_object import require_gaussian

__all__ = ["PaddedBatch", "PlanNoiseState", "plan_noise", "row_bound"]

# Rows of a dense inverse, where neither C nor C^-1 has few bands: 3.2 GB in double precision.
LARGEST_DENSE = 20_000
# Rows whose weighted sum is unrolled when it is compiled.
FEW = 64


class PlanNoiseState(NamedTuple):
    """Where the noise is: a pytree, to be kept and saved like the optimizer's state.

    Attributes
    ----------
    key
        The key of all noise; as secret as the data.
    step
        How many rows were drawn.
    rows
        Earlier rows, for each parameter an array with the rows in the first dimension.
    """

    key: Any
    step: Any
    rows: Any


def plan_noise(
    plan: Plan, *, noise_multiplier: float, max_grad_norm: float, key: Any = None
) -> optax.GradientTransformation:
    """Adds the plan's noise to sums of clipped gradients, one row in each update.

    Row t of C^-1 Z, where Z has standard deviation noise_multiplier * max_grad_norm. It works under
    `jit`, and its state is sharded like the parameters. Clipping, the plan's batches and the
    division by the expected batch size are the caller's; `JaxRun` does all of it. After the plan's
    last row the noise is not a number.

    Parameters
    ----------
    plan
        Steps and strategy, with Gaussian noise.
    noise_multiplier, max_grad_norm
        The standard deviation of Z over the clip norm, and the clip norm.
    key
        A key of `jax.random`; by default a secret one of 64 bits.

    Returns
    -------
    optax.GradientTransformation
        Its state is a `PlanNoiseState`.
    """
    if not isinstance(plan, Plan):
        raise InvalidParameter("plan", "a Plan", plan)
    require_gaussian(plan)
    if key is None and jax.process_count() > 1:
        allowed = "given where JAX has several processes: all of them need the same one"
        raise InvalidParameter("key", allowed, None)
    scale = check.positive("noise_multiplier", noise_multiplier) * check.positive(
        "max_grad_norm", max_grad_norm
    )
    table, recursive = _weights(plan)
    weights = jnp.asarray(table, dtype=jnp.float32)
    kept = table.shape[1] - 1

    def init(params: Any) -> PlanNoiseState:
        own = jax.random.wrap_key_data(_secret_words()) if key is None else key
        rows = jax.tree.map(lambda leaf: _rows_like(leaf, kept), params)
        return PlanNoiseState(own, jnp.zeros((), jnp.int32), rows)

    def update(updates: Any, state: PlanNoiseState, params: Any = None) -> Any:  # noqa: ARG001
        leaves, structure = jax.tree.flatten(updates)
        keys = jax.random.split(jax.random.fold_in(state.key, state.step), len(leaves))
        row = weights[jnp.minimum(state.step, len(table) - 1)]
        # Beyond the table its last row would be taken.
        row = jnp.where(state.step < plan.steps, row, jnp.nan)
        noise, rows = [], []
        earlier = structure.flatten_up_to(state.rows)
        for own, leaf, before in zip(keys, leaves, earlier, strict=True):
            z = scale * _normals(own, leaf.shape)
            past = _weighted(row[1:], before) if kept else 0.0
            x = row[0] * (z - past) if recursive else row[0] * z + past
            noise.append(x)
            newest = (x if recursive else z)[None]
            rows.append(jnp.concatenate([newest, before[:-1]]) if kept else before)
        added = [u + n.astype(u.dtype) for u, n in zip(leaves, noise, strict=True)]
        following = PlanNoiseState(state.key, state.step + 1, structure.unflatten(rows))
        return structure.unflatten(added), following

    return optax.GradientTransformation(init, update)


def row_bound(plan: Plan) -> float:
    """The largest standard deviation of a coordinate of C^-1 Z over that of Z."""
    inverse = plan.strategy.inverse_coefficients
    if inverse is not None:
        return float(np.linalg.norm(inverse))
    return float(np.linalg.norm(_dense(plan), axis=1).max())


def _weights(plan: Plan) -> tuple[FloatArray, bool]:
    """What multiplies the new row and the earlier ones; whether those are of x.

    For each step, or one row for all of them.
    """
    strategy, steps = plan.strategy, plan.steps
    recursive = strategy.bands <= strategy.inverse_bands
    width = min(strategy.bands, strategy.inverse_bands)
    toeplitz = strategy.coefficients if recursive else strategy.inverse_coefficients
    if toeplitz is not None:
        table = np.zeros((1, width))
        table[0, : toeplitz.size] = toeplitz[:width]
    else:
        matrix = strategy.to_matrix() if recursive else _dense(plan)
        table = np.zeros((steps, width))
        for lag in range(width):
            table[lag:, lag] = np.diagonal(matrix, -lag)
    if recursive:
        table[:, 0] = 1.0 / table[:, 0]
    return table, recursive


def _dense(plan: Plan) -> FloatArray:
    if plan.steps > LARGEST_DENSE:
        allowed = f"at most {LARGEST_DENSE} for a strategy that is not Toeplitz"
        raise InvalidParameter("steps", allowed, plan.steps)
    return plan.strategy.inverse_matrix()


def _rows_like(leaf: Any, kept: int) -> Any:
    """Zeros of earlier rows, sharded like the parameter."""
    zeros = jnp.zeros((kept, *leaf.shape), jnp.float32)
    sharding = getattr(leaf, "sharding", None)
    if isinstance(sharding, NamedSharding):
        spec = PartitionSpec(None, *sharding.spec)
        return jax.device_put(zeros, NamedSharding(sharding.mesh, spec))
    return zeros


def _weighted(weights: Any, rows: Any) -> Any:
    """Their weighted sum; of few rows term by term, which is compiled into one pass over memory."""
    if len(rows) > FEW:
        return jnp.tensordot(weights, rows, axes=1)
    return sum(weight * own for weight, own in zip(weights, rows, strict=True))


def _normals(key: Any, shape: tuple[int, ...]) -> Any:
    """Standard normal numbers by the Box-Muller transform, each two from 96 bits.

    `jax.random.normal` has 23 bits in single precision: none of its numbers is beyond 5.5. Here the
    smallest uniform number is 2^-65, which gives 9.4.
    """
    count = math.prod(shape)
    high, low, turn = jax.random.bits(key, (3, -(-count // 2)), jnp.uint32)
    small = (low.astype(jnp.float32) + 0.5) * 2.0**-64
    uniform = high.astype(jnp.float32) * 2.0**-32 + small
    radius = jnp.sqrt(-2.0 * jnp.log(jnp.minimum(uniform, 1.0)))
    angle = turn.astype(jnp.float32) * (2.0 * np.pi * 2.0**-32)
    both = jnp.concatenate([radius * jnp.cos(angle), radius * jnp.sin(angle)])
    return both[:count].reshape(shape)


def _secret_words() -> Any:
    return np.array([secrets.randbits(32) for _ in range(2)], dtype=np.uint32)


@dataclass(frozen=True, eq=False)
class PaddedBatch:
    """The batch of a step: indices of examples, filled up with example 0.

    Attributes
    ----------
    indices
        Of examples; as many as a multiple of `pad_to`.
    counted
        Which of them are in the batch; the others contribute nothing.
    step
        Counted from 0.
    """

    indices: Indices
    counted: Any
    step: int

    @property
    def size(self) -> int:
        """How many examples the plan has drawn."""
        return int(self.counted.sum())

    @classmethod
    def of(cls, batch: Indices, step: int, *, pad_to: int) -> PaddedBatch:
        """Filled up to a multiple of `pad_to`, an empty batch too."""
        length = max(-(-batch.size // pad_to), 1) * pad_to
        indices = np.zeros(length, dtype=np.int64)
        indices[: batch.size] = batch
        return cls(indices, np.arange(length) < batch.size, step)

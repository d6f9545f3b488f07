"""Steps in JAX: what they refuse, and sums of clipped gradients that are exact on any device.

JAX computes in single precision, in which a sum over many examples is wrong by more than an
example's share can bear. So every clipped gradient is rounded to a lattice and the sums are
integers of 32 bits: their order does not matter, and one example changes them by exactly what it
adds. Rounding d coordinates moves a gradient by at most half the spacing times sqrt(d); gradients
are clipped to less than the clip norm by that, and by what single precision can do to a norm.

Refused are several processes, some parameters and data, and steps inside compiled functions.
`JaxFacts` is what a run says about itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from hockeystick._process import SingleUse
from hockeystick.errors import InvalidParameter, PlanMismatch
from hockeystick.plan import Plan
from hockeystick.training.canaries import AuditedRun, RunCanaries
from hockeystick.training.clip_rules import ClipParts

__all__ = [
    "IntegerLattice",
    "JaxFacts",
    "check_gamma",
    "check_parameters",
    "check_step",
    "clipped_sums",
    "layers_of_tree",
    "noisy_means",
    "shapes_of",
    "smallest_norm",
]

# Sums and noise together stay below 2^30: half of what 32 bits hold.
MOST = 2.0**30
# Standard deviations that noise may have, more than any number of `_normals`.
FARTHEST = 10.0
# Unit roundoff of single precision, and numbers that are added at a time.
UNIT, BLOCK = 2.0**-24, 256
# The clip norm that rounding may take, at most.
LARGEST_SHARE = 0.05
# The smallest normal number of single precision; squares below it may count as 0.
TINY = 2.0**-126


@dataclass(frozen=True)
class IntegerLattice:
    """The lattice of a run.

    Attributes
    ----------
    spacing
        The distance of neighbouring points, a power of two times the clip norm.
    rounding
        What rounding to it moves a gradient by, at most.
    relative
        What single precision leaves of a norm, at least.
    """

    spacing: float
    rounding: float
    relative: float

    @classmethod
    def of(
        cls, *, max_grad_norm: float, sizes: Sequence[int], examples: int, noise: float
    ) -> IntegerLattice:
        """For arrays of these sizes, at most so many examples in a batch, and noise of this size.

        A computed norm is at least the true one times `relative`, if squares that underflow are
        negligible beside the clip norm.
        """
        dimension = sum(sizes)
        least = smallest_norm(dimension)
        if not least <= max_grad_norm <= 1.0 / least:
            allowed = f"in [{least:.2g}, {1.0 / least:.2g}] in single precision: scale the loss"
            raise InvalidParameter("max_grad_norm", allowed, max_grad_norm)
        most = examples + FARTHEST * noise / max_grad_norm
        spacing = max_grad_norm * 2.0 ** math.ceil(math.log2(most / MOST))
        rounding = spacing * math.sqrt(dimension) / 2.0 * (1.0 + 2.0**-20)
        levels = max(math.ceil(math.log(max(dimension, 2), BLOCK)), 1)
        relative = 1.0 - (BLOCK * levels + len(sizes) + 16) * UNIT
        if not rounding <= LARGEST_SHARE * max_grad_norm:
            allowed = (
                f"fewer: with {dimension:,} parameters and noise {noise:g} rounding to integers of "
                f"32 bits would take more than {LARGEST_SHARE:.0%} of the clip norm"
            )
            raise InvalidParameter("examples", allowed, examples)
        return cls(spacing, rounding, relative)


def smallest_norm(dimension: int) -> float:
    """Of gradients longer than this, squares that underflow are less than a unit of rounding."""
    return math.sqrt(dimension * TINY / UNIT)


def clipped_sums(
    loss: Callable[..., Any], parts: ClipParts, lattice: IntegerLattice
) -> Callable[..., Any]:
    """A function from parameters, a batch, who counts and the clip norm to integer sums."""

    def sums(params: Any, batch: Any, counted: Any, clip: Any) -> Any:
        gradients = jax.vmap(jax.grad(loss), in_axes=(None, 0))(params, batch)
        leaves, structure = jax.tree.flatten(gradients)
        rows = [leaf.astype(jnp.float32).reshape(len(counted), -1) for leaf in leaves]
        squares = [jnp.zeros(len(counted)) for _ in parts.shares]
        for group, own in zip(parts.groups, rows, strict=True):
            squares[group] = squares[group] + _sums(jnp.square(own))
        norms = [jnp.sqrt(square) for square in squares]
        usable = jnp.isfinite(jnp.stack(norms)).all(axis=0) & counted
        longest = jnp.maximum(clip - lattice.rounding, 0.0) * lattice.relative
        found = []
        for leaf, own, group in zip(leaves, rows, parts.groups, strict=True):
            length, norm = longest * parts.shares[group], norms[group]
            if parts.gamma is None:
                factor = jnp.minimum(length / jnp.maximum(norm, jnp.finfo(jnp.float32).tiny), 1.0)
            else:
                factor = length / (norm + parts.gamma)
            scaled = jnp.where(usable[:, None], own * (factor / lattice.spacing)[:, None], 0.0)
            whole = jnp.rint(scaled).astype(jnp.int32)
            found.append(whole.sum(axis=0, dtype=jnp.int32).reshape(leaf.shape[1:]))
        return structure.unflatten(found)

    return sums


def _sums(values: Any) -> Any:
    """Of each row, a few numbers at a time: rounding grows with their number and the levels."""
    while values.shape[1] > 1:
        missing = -values.shape[1] % BLOCK
        values = jnp.pad(values, ((0, 0), (0, missing)))
        values = values.reshape(values.shape[0], -1, BLOCK).sum(axis=2)
    return values[:, 0]


def layers_of_tree(params: Any) -> tuple[Sequence[str], Sequence[int]]:
    """For each leaf the name of what it belongs to, its path without the last key, and its size."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(params)
    names = [
        "/".join(str(getattr(k, "key", getattr(k, "idx", k))) for k in (path[:-1] or path))
        for path, _ in leaves
    ]
    return names, [int(leaf.size) for _, leaf in leaves]


def noisy_means(noise: Any, spacing: float, expected: float) -> Callable[..., Any]:
    """From integer sums to noisy means: sum and noise are added on the lattice, exactly."""

    def noisy(sums: Any, state: Any) -> Any:
        zeros = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, jnp.float32), sums)
        drawn, following = noise.update(zeros, state)
        found = jax.tree.map(
            lambda total, own: (
                (total + jnp.rint(own / spacing).astype(jnp.int32)).astype(jnp.float32)
                * (spacing / expected)
            ),
            sums,
            drawn,
        )
        return found, following

    return noisy


def shapes_of(params: Any) -> Any:
    """Of each array its shape and the type of its numbers."""
    return jax.tree.map(lambda leaf: (tuple(leaf.shape), str(leaf.dtype)), params)


def check_parameters(params: Any) -> None:
    """`InvalidParameter` for arrays of other than real numbers, and for several processes."""
    if jax.process_count() > 1:
        # Each would draw batches and noise of its own.
        allowed = "made in one process of JAX, with as many devices as it has"
        raise InvalidParameter("run", allowed, f"{jax.process_count()} processes")
    leaves = jax.tree.leaves(params)
    if not leaves or not all(jnp.issubdtype(leaf.dtype, jnp.floating) for leaf in leaves):
        raise InvalidParameter("params", "arrays of real numbers", shapes_of(params))


def check_gamma(gamma: float | None, dimension: int) -> None:
    """`InvalidParameter` if gradients near a gamma of automatic clipping have squares of 0.

    They would have the norm 0, and be stretched by clip norm over gamma.
    """
    least = smallest_norm(dimension)
    if gamma is not None and not gamma >= least:
        raise InvalidParameter("gamma", f"at least {least:.2g} in single precision", gamma)


def check_step(params: Any, data: Any, *, shapes: Any, size: int) -> None:
    """`PlanMismatch` for parameters or data of another run or batch, and while JAX traces.

    In a function that is compiled or transformed a step would be carried out once, and its batch
    and noise be constants of the compiled function.
    """
    # Under `jit` even a constant is traced; under `vmap` and `grad` what depends on arguments.
    leaves = jax.tree.leaves((params, data, jnp.zeros(())))
    if any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
        raise PlanMismatch(
            "run.gradient was called in a function that JAX compiles or transforms, in which batch "
            "and noise of this step would be constants; it compiles itself: call it outside, and "
            "give its result to compiled updates."
        )
    if shapes_of(params) != shapes:
        raise PlanMismatch("The parameters are not those with which the run began.")
    lengths = {len(leaf) for leaf in jax.tree.leaves(data)}
    if lengths != {size}:
        raise PlanMismatch(
            f"The data has {sorted(lengths)} rows, but the padded batch has {size}: give "
            "data[batch.indices]."
        )


class JaxFacts(SingleUse, AuditedRun):
    """The part of a `JaxRun` that only reads."""

    _canaries: RunCanaries | None
    _plan: Plan
    _parts: ClipParts
    _taken: int
    _noise_multiplier: float
    _expected: float
    _exhausted: bool

    @property
    def canaries(self) -> RunCanaries | None:
        """Those of the run."""
        return self._canaries

    @property
    def plan(self) -> Plan:
        """What is run."""
        return self._plan

    @property
    def taken_steps(self) -> int:
        """How many steps have been taken."""
        return self._taken

    @property
    def max_grad_norm(self) -> float:
        """The clip norm."""
        return self._parts.max_grad_norm

    @property
    def noise_multiplier(self) -> float:
        """Standard deviation of Z over the clip norm."""
        return self._noise_multiplier

    @property
    def expected_batch_size(self) -> float:
        """What sums of gradients are divided by."""
        return self._expected

    @property
    def finished(self) -> bool:
        """Whether no step may follow."""
        return self._exhausted or self._taken >= self._plan.steps

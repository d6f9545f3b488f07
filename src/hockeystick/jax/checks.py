"""What a run in JAX refuses: processes, parameters, data, and steps inside compiled functions."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from hockeystick.errors import InvalidParameter, PlanMismatch
from hockeystick.jax.sums import smallest_norm

__all__ = ["check_gamma", "check_parameters", "check_step", "shapes_of"]


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

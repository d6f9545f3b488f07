"""jax-privacy: banded Toeplitz strategies at its defaults, noise from its streaming inverse."""

from __future__ import annotations

from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import settings as s  # beside harness.py
from jax_privacy.matrix_factorization import toeplitz


def _mean_squared_error(c, steps):
    """Of prefix sums at column norm 1, in double precision: the answer is rounded to single."""
    c = np.asarray(c, dtype=np.float64)
    b = np.zeros(steps)
    for t in range(steps):
        lags = min(t, c.size - 1)
        b[t] = (1.0 - c[1 : lags + 1] @ b[t - lags : t][::-1]) / c[0]
    return (np.arange(steps, 0, -1) / steps) @ b**2 * (c @ c)


def banded(bands):
    """The best banded strategy."""
    steps = s.BANDED["steps"]
    return None, _mean_squared_error(toeplitz.optimize_banded_toeplitz(steps, bands), steps)


@cache
def _opened():
    """A compiled step, its first state and its memory as planned over what it has to remember."""
    c = s.NOISE
    inverse = toeplitz.inverse_as_streaming_matrix(
        toeplitz.optimal_max_error_strategy_coefs(c["bands"])
    )
    row = jnp.zeros(c["parameters"], jnp.float32)

    # Donating the state takes longer and hardly any less memory.
    @jax.jit
    def step(key, past):
        key, fresh = jax.random.split(key)
        noise, past = inverse.multiply_next(jax.random.normal(fresh, row.shape, row.dtype), past)
        return noise, key, past

    state = jax.random.key(0), inverse.init_multiply(row)
    compiled = step.lower(*state).compile()
    plan = compiled.memory_analysis()
    planned = plan.argument_size_in_bytes + plan.output_size_in_bytes + plan.temp_size_in_bytes
    return compiled, state, planned / (c["bands"] * row.nbytes)


def noise_stream():
    """Rows of correlated noise, each step begun without waiting for the one before it."""
    step, state, memory = _opened()
    for _ in range(s.NOISE["rows"]):
        row, *state = step(*state)
    jax.block_until_ready((row, state))
    return None, memory


CASES = {
    **{f"banded {bands} bands": partial(banded, bands) for bands in s.BANDED["bands"]},
    "noise stream": noise_stream,
}

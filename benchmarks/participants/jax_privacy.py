"""jax-privacy: banded Toeplitz strategies at its defaults, noise from its streaming inverse."""

from __future__ import annotations

from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
from jax_privacy.matrix_factorization import toeplitz

import settings as s  # beside harness.py
from starting import importing


def _mean_squared_error(c, steps):
    """Of prefix sums at column norm 1, in double precision: the answer is rounded to single."""
    c = np.asarray(c, dtype=np.float64)
    b = np.zeros(steps)
    for t in range(steps):
        lags = min(t, c.size - 1)
        b[t] = (1.0 - c[1 : lags + 1] @ b[t - lags : t][::-1]) / c[0]
    return (np.arange(steps, 0, -1) / steps) @ b**2 * (c @ c)


def banded(steps, bands):
    """The best banded strategy."""
    return None, _mean_squared_error(toeplitz.optimize_banded_toeplitz(steps, bands), steps)


@cache
def _opened(parameters, bands):
    """A compiled step, its first state and its memory as planned over what it has to remember."""
    inverse = toeplitz.inverse_as_streaming_matrix(toeplitz.optimal_max_error_strategy_coefs(bands))
    row = jnp.zeros(parameters, jnp.float32)

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
    return compiled, state, planned / (bands * row.nbytes)


def noise_rows(parameters, bands, rows):
    """Rows of correlated noise, each step begun without waiting for the one before it."""
    step, state, memory = _opened(parameters, bands)
    for _ in range(rows):
        row, *state = step(*state)
    jax.block_until_ready((row, state))
    return None, memory


def noise_bands(bands):
    """Rows that remember more and more rows before them."""
    c = s.SWEEPS["noise-bands"]
    return noise_rows(c["parameters"], bands, c["rows"])


def noise_parameters(parameters):
    """A few rows for more and more parameters."""
    c = s.SWEEPS["noise-parameters"]
    return noise_rows(parameters, c["bands"], c["rows"])


CASES = {
    **{f"bands-{n}": partial(banded, s.BANDED["steps"], n) for n in s.BANDED["bands"]},
    "noise-stream": partial(noise_rows, s.NOISE["parameters"], s.NOISE["bands"], s.NOISE["rows"]),
    "import": importing("jax_privacy"),
}
SWEEPS = {
    "bands": partial(banded, s.SWEEPS["bands"]["steps"]),
    "noise-bands": noise_bands,
    "noise-parameters": noise_parameters,
}

"""jax-privacy: its Monte Carlo accounting, all draws in one call."""

from __future__ import annotations

import numpy as np
import settings as s  # beside harness.py
from jax_privacy import batch_selection
from jax_privacy.experimental.monte_carlo import delta_calculation, sample_generation
from jax_privacy.matrix_factorization import toeplitz


def _estimated(scheme, noise):
    """delta from draws of a run with the example."""
    c = s.DRAWS
    coefficients = np.asarray(toeplitz.optimal_max_error_strategy_coefs(c["bands"]), np.float64)
    losses, _ = sample_generation.get_privacy_loss_sample(
        scheme, noise, coefficients, seed=0, num_samples=c["draws"]
    )
    delta = delta_calculation.delta_from_epsilon_and_samples(c["epsilon"], losses)
    return None, delta, [delta]


def min_sep():
    """From a warm start."""
    c = s.DRAWS
    scheme = batch_selection.BMinSepSampling(
        sampling_prob=c["min sep"]["rate"], iterations=c["steps"], min_sep=c["bands"]
    )
    return _estimated(scheme, c["min sep"]["noise"])


def balls_in_bins():
    """A bin for the whole run."""
    c = s.DRAWS
    scheme = batch_selection.BallsInBinsSampling(
        iterations=c["steps"], cycle_length=c["balls-in-bins"]["bins"]
    )
    return _estimated(scheme, c["balls-in-bins"]["noise"])


CASES = {"b-min-sep draws": min_sep, "balls-in-bins draws": balls_in_bins}

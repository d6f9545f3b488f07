"""jax-privacy: its Monte Carlo accounting, all draws in one call."""

from __future__ import annotations

import numpy as np
from jax_privacy import batch_selection
from jax_privacy.experimental.monte_carlo import delta_calculation, sample_generation
from jax_privacy.matrix_factorization import toeplitz

import settings as s  # beside harness.py


def _estimated(scheme, *, noise, bands, epsilon, draws):
    """delta from draws of a run with the example: an estimate."""
    coefficients = np.asarray(toeplitz.optimal_max_error_strategy_coefs(bands), np.float64)
    losses, _ = sample_generation.get_privacy_loss_sample(
        scheme, noise, coefficients, seed=0, num_samples=draws
    )
    delta = delta_calculation.delta_from_epsilon_and_samples(epsilon, losses)
    return None, delta, [delta]


def _min_sep(c, draws):
    """From a warm start."""
    scheme = batch_selection.BMinSepSampling(
        sampling_prob=c["rate"], iterations=c["steps"], min_sep=c["bands"]
    )
    return _estimated(scheme, noise=c["noise"], bands=c["bands"], epsilon=c["epsilon"], draws=draws)


def _balls_in_bins(c, steps, bins):
    """A bin for the whole run."""
    scheme = batch_selection.BallsInBinsSampling(iterations=steps, cycle_length=bins)
    return _estimated(
        scheme, noise=c["noise"], bands=c["bands"], epsilon=c["epsilon"], draws=c["draws"]
    )


def min_sep():
    """b-min-sep."""
    return _min_sep({**s.DRAWS, **s.DRAWS["min sep"]}, s.DRAWS["draws"])


def balls_in_bins():
    """Balls-in-bins."""
    c = {**s.DRAWS, **s.DRAWS["balls-in-bins"]}
    return _balls_in_bins(c, c["steps"], c["bins"])


def bins(number):
    """More and more bins."""
    c = s.SWEEPS["bins"]
    return _balls_in_bins(c, c["epochs"] * number, number)


CASES = {"b-min-sep-draws": min_sep, "balls-in-bins-draws": balls_in_bins}
SWEEPS = {"bins": bins, "draws": lambda draws: _min_sep(s.SWEEPS["draws"], draws)}

"""A loss on private validation data, with noise and a charge."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hockeystick import _validate as check
from hockeystick.errors import InvalidParameter
from hockeystick.filters import Filter
from hockeystick.randomness import Key, RandomSource, is_secret
from hockeystick.strategies import identity

__all__ = ["private_loss"]


def private_loss(
    budget: Filter,
    losses: npt.ArrayLike,
    *,
    largest: float,
    noise_multiplier: float,
    rng: RandomSource = None,
) -> float:
    """The mean of private losses with noise, charged to the budget like a step at rate 1.

    Losses are cut to [0, largest] and added up; noise of the standard deviation noise_multiplier *
    largest makes the sum a Gaussian mechanism. Divided by their number, which is public like that
    of the training examples, it is an estimate of their mean.

    Parameters
    ----------
    budget
        The filter of the run.
    losses
        One for each example of a private validation set.
    largest
        What longer losses are cut to.
    noise_multiplier
        The standard deviation of the noise over `largest`.
    rng
        A generator, by default one with a secret seed; a seed is refused, because a second call
        would have the noise of the first.

    Returns
    -------
    float
        The noisy mean; `BudgetExceeded` if it is not affordable.

    Examples
    --------
    >>> import numpy as np
    >>> import hockeystick as hs
    >>> budget = hs.filters.Gaussian(mu=1.0)
    >>> losses = np.full(1000, 0.5)
    >>> hs.training.policies.private_loss(budget, losses, largest=2.0, noise_multiplier=10.0) < 1.0
    True
    >>> round(budget.spent, 4)
    0.01
    """
    if not (is_secret(rng) or isinstance(rng, (np.random.Generator, np.random.BitGenerator))):
        raise InvalidParameter("rng", "None, 'chacha' or a generator", rng)
    values = np.asarray(losses, dtype=np.float64)
    largest = check.positive("largest", largest)
    if values.ndim != 1 or not values.size:
        raise InvalidParameter("losses", "a number for each example", values.shape)
    permit = budget.request(rate=1.0, noise_multiplier=noise_multiplier)
    permit.commit()
    # What is no number counts as the largest loss.
    cut = np.clip(np.nan_to_num(values, nan=largest, posinf=largest), 0.0, largest)
    total = permit.clip_scale * float(cut.sum())
    scale = noise_multiplier * largest
    noise = identity(1).noise(1, scale=scale, dtype=np.float64, rng=Key.of(rng))
    return (total + float(next(noise)[0])) / permit.clip_scale / values.size

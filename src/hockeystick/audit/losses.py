"""Black-box canaries: a score for each, and nothing else about the run."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hockeystick import _validate as check_
from hockeystick.audit.lower_bounds import epsilon_of_scores
from hockeystick.errors import InvalidParameter

__all__ = ["epsilon_of_losses"]


def epsilon_of_losses(
    losses: npt.ArrayLike,
    members: npt.ArrayLike,
    *,
    delta: float,
    confidence: float = 0.95,
) -> float:
    """A lower confidence bound on epsilon from the losses of canaries under the final model.

    The fallback where gradients cannot be seen. Canaries with the smallest losses are guessed to
    have been in the data, those with the largest not to [SteinkeNasrJagielski23]. Each canary must
    have been in the data with probability 1/2, independently of the others; nothing is assumed
    about the run. Usually far below the epsilon of the run.

    Parameters
    ----------
    losses
        One number for each canary; a difference to its loss before training is better.
    members
        For each canary whether it was in the data.
    delta
        In [0, 1).
    confidence
        The probability with which the bound holds.

    Returns
    -------
    float
        0 if the losses show nothing.

    Examples
    --------
    >>> import numpy as np
    >>> import hockeystick as hs
    >>> rng = np.random.default_rng(0)
    >>> members = rng.random(1000) < 0.5
    >>> losses = rng.normal(size=1000) - 3 * members
    >>> round(hs.audit.epsilon_of_losses(losses, members, delta=1e-5), 1)
    4.3
    """
    found = np.asarray(losses, dtype=np.float64)
    inside = np.asarray(members)
    if found.ndim != 1 or found.size < 2 or not np.isfinite(found).all():
        raise InvalidParameter("losses", "at least two finite numbers", found.shape)
    if inside.shape != found.shape or inside.dtype != np.bool_:
        raise InvalidParameter("members", f"{found.size} booleans", inside.shape)
    delta = check_.small_probability("delta", delta)
    confidence = check_.small_probability("confidence", confidence)
    return epsilon_of_scores(-found, inside, delta=delta, confidence=confidence)

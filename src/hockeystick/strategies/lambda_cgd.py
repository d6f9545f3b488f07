"""The strategy that takes back a share of the noise of the step before."""

from __future__ import annotations

import numpy as np

from hockeystick._validate import positive_integer, real, storable
from hockeystick.errors import InvalidParameter
from hockeystick.strategies.toeplitz import Toeplitz

__all__ = ["lambda_cgd"]


def lambda_cgd(steps: int, *, decay: float) -> Toeplitz:
    """Noise Z_t - decay * Z_(t-1): C^-1 has the two coefficients 1 and -decay [Kalinin26].

    C has the coefficients decay^k, c_0 = 1. With `noise_memory="replay"` the noise of the step
    before is drawn again, so correlated noise costs no memory.

    Parameters
    ----------
    steps
        The number of updates, the size of C.
    decay
        The share that is taken back, in [0, 1); 0 is independent noise.

    Returns
    -------
    Toeplitz
        A strategy with ones on the diagonal.

    Examples
    --------
    >>> import hockeystick as hs
    >>> strategy = hs.strategies.lambda_cgd(100, decay=0.5)
    >>> strategy.inverse_coefficients
    array([ 1. , -0.5])
    >>> strategy.coefficients[:3]
    array([1.  , 0.5 , 0.25])
    """
    allowed = "in [0, 1)"
    number = real("decay", decay, allowed)
    if not 0 <= number < 1:
        raise InvalidParameter("decay", allowed, decay)
    count = storable("steps", positive_integer("steps", steps))
    return Toeplitz(
        "lambda-cgd",
        steps=count,
        coefficients=np.power(number, np.arange(count, dtype=np.float64)),
        inverse=np.array([1.0, -number])[: min(2, count)],
        parameters={"decay": number},
    )

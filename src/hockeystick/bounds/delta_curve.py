"""One profile from bounds on delta in both directions."""

from __future__ import annotations

import numpy as np

from hockeystick._numerics.envelope import law_of_deltas
from hockeystick._numerics.law import FloatArray
from hockeystick.profile import Profile
from hockeystick.profile.expressions.discrete import Atoms

__all__ = ["DeltaCurve", "profile_of_deltas"]

# Losses from 0 up, and a bound on delta at each of them.
DeltaCurve = tuple[FloatArray, FloatArray]


def profile_of_deltas(remove: DeltaCurve, add: DeltaCurve) -> Profile:
    """The pair with the largest convex profile below all bounds; that of the run lies below it."""
    loss = np.concatenate((-add[0][:0:-1], remove[0]))
    centre = min(remove[1][0], add[1][0])
    delta = np.concatenate((add[1][:0:-1], [centre], remove[1][1:]))
    return Profile(Atoms(law_of_deltas(loss, np.minimum(delta, 1.0))))

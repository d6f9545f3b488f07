"""The average of independent copies of a sum, bounded in convex order.

E F of the average is, in each copy with the others fixed, the expectation of a convex function that
increases (remove) or decreases (add) like F: a law that bounds those of one copy may take its
place, one copy after the other, and roundings of averages keep means. When adding, the charge of
one copy is for the mass that its law lacks, which goes to 0, where F is largest. When removing, the
mass that it lacks goes to 0 as well; the charge is for what that, and other roundings, take from
the mean, F(x + y) <= F(x) + y: an atom at infinity, of which the average keeps all. Masses of more
than 1, from sampled densities, are a factor for each copy.
"""

from __future__ import annotations

import math

import numpy as np

from hockeystick._numerics.law import Law, Resolution, Side
from hockeystick.analyses.gram.law.reading import SumLaw
from hockeystick.profile.convolution.products import average_of_copies

__all__ = ["averaged_copies"]

# Of a total mass, relatively.
ROUNDING = 1e-14


def averaged_copies(law: SumLaw, copies: int, resolution: Resolution, *, remove: bool) -> SumLaw:
    """The upper bound for the average of so many copies; O(atoms^2 log copies)."""
    if copies == 1:
        return law
    some = (law.s > 0) & (law.q > 0)
    s, q = law.s[some], law.q[some]
    missing = max(1.0 - float(q.sum()), 0.0)
    if not remove:
        missing = float(law.q[~some].sum()) + law.charge
    # Masses of more than 1 are that many times a law.
    total = max(float(q.sum()) + missing, 1.0)
    q, missing, charge = q / total, missing / total, law.charge / total
    one = Law(np.log(s), q * s, q, charge if remove else 0.0, missing)
    many = average_of_copies(one, copies, resolution, Side.UPPER)
    more = math.exp(copies * math.log(total)) * (1 + copies * ROUNDING)
    return SumLaw(
        np.append(np.exp(many.loss), 0.0),
        more * np.append(many.q, many.q_zero),
        more * many.p_infinite if remove else 0.0,
    )

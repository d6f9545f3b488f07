"""Compiled loops of profiles against plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hockeystick._numerics import kernels
from hypothesis_strategies import increasing, masses, quick
from references import kernels as slow
from references.outcomes import exact, number


@quick
@given(loss=increasing(-30.0, 30.0), data=st.data())
def test_suffix_sums(loss, data):
    """The two running sums equal the sums over all atoms above."""
    p = data.draw(masses(loss.size))
    calls, slopes = kernels.suffix_sums(loss, p)
    plain_calls, plain_slopes = slow.suffix_sums(loss, p)
    assert calls == pytest.approx(np.array(plain_calls), rel=1e-11)
    assert slopes == pytest.approx(np.array(plain_slopes), rel=1e-12)


@quick
@given(loss=increasing(-3.0, 3.0, min_size=3, max_size=9), data=st.data())
def test_lower_hull(loss, data):
    """The kept corners are those of the largest convex function below the profile."""
    # Any function between (1 - x)+ and 1 will do; deltas are those of the small direction.
    x = [exact.exp(number(at)) for at in loss]
    floor = [max(1 - value, 0) for value in x]
    lift = data.draw(st.lists(st.floats(0.01, 1), min_size=loss.size, max_size=loss.size))
    calls = [f + number(u) * (1 - f) for f, u in zip(floor, lift, strict=True)]
    delta = [
        float(c if at >= 0 else (c - 1 + v) / v) for c, at, v in zip(calls, loss, x, strict=True)
    ]
    kept = kernels.lower_hull(loss, np.array(delta))
    hull = np.interp(
        [float(v) for v in x], [float(x[k]) for k in kept], [float(calls[k]) for k in kept]
    )
    assert hull == pytest.approx(np.array(slow.convex_minorant(x, calls), dtype=float), rel=1e-9)

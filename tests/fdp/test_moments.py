from __future__ import annotations

import math

import mpmath
import pytest

from hockeystick.errors import InvalidParameter
from hockeystick.fdp.moments import approximate_moments, loss_moments

THIRD = math.sqrt(8 / math.pi)


def reference(rate: float, mu: float) -> list[float]:
    """Means, variances and third absolute moments, P then Q, by adaptive quadrature."""
    with mpmath.workdps(20):
        q, m = mpmath.mpf(rate), mpmath.mpf(mu)

        def loss(y: mpmath.mpf) -> mpmath.mpf:
            return mpmath.log(1 - q + q * mpmath.exp(m * y - m**2 / 2))

        def given(y: mpmath.mpf) -> mpmath.mpf:
            return (1 - q) * mpmath.npdf(y) + q * mpmath.npdf(y, m)

        found = []
        for density in (given, mpmath.npdf):
            ends = [-12, -4, 0, m, 4 + m, 12 + m]
            mean = mpmath.quad(lambda y, f=density: f(y) * loss(y), ends)
            root = mpmath.findroot(lambda y, at=mean: loss(y) - at, m / 2)
            ends = sorted([*ends, root])
            found.append(mean)
            found += [
                mpmath.quad(lambda y, f=density, at=mean, k=k: f(y) * abs(loss(y) - at) ** k, ends)
                for k in (2, 3)
            ]
        return [float(value) for value in found]


@pytest.mark.parametrize(("rate", "mu"), [(0.01, 1.0), (0.3, 0.5), (0.9, 2.0)])
def test_quadrature(rate: float, mu: float) -> None:
    """All six moments against adaptive quadrature with twenty digits."""
    found = loss_moments(rate=rate, noise_multiplier=1 / mu)
    assert [*found.p, *found.q] == pytest.approx(reference(rate, mu), rel=1e-8)


def test_full_batch() -> None:
    """The Gaussian mechanism in closed form."""
    found = loss_moments(rate=1.0, noise_multiplier=2.0, sensitivity=3.0)
    mu = 1.5
    assert [*found.p] == pytest.approx([mu**2 / 2, mu**2, THIRD * mu**3], rel=1e-9)
    assert [*found.q] == pytest.approx([-(mu**2) / 2, mu**2, THIRD * mu**3], rel=1e-9)


@pytest.mark.parametrize("mu", [0.5, 1.0])
def test_small_rates(mu: float) -> None:
    """The error of the leading terms falls with the rate, and the third moment is a bound."""
    errors = []
    for rate in (0.01, 0.001):
        exact = loss_moments(rate=rate, noise_multiplier=1 / mu)
        near = approximate_moments(rate=rate, noise_multiplier=1 / mu)
        worst = 0.0
        for side in ("p", "q"):
            a, b = getattr(exact, side), getattr(near, side)
            worst = max(worst, abs(b.mean / a.mean - 1), abs(b.variance / a.variance - 1))
            assert a.third <= b.third
        errors.append(worst)
    assert 5 < errors[0] / errors[1] < 20
    assert errors[1] < 0.02


def test_large_rates() -> None:
    """Near rate 1 with much noise the leading terms are close."""
    exact = loss_moments(rate=0.95, noise_multiplier=5.0)
    near = approximate_moments(rate=0.95, noise_multiplier=5.0, regime="large")
    for a, b in ((exact.p, near.p), (exact.q, near.q)):
        assert b.mean == pytest.approx(a.mean, rel=0.01)
        assert b.variance == pytest.approx(a.variance, rel=0.01)
        assert a.third <= b.third


def test_far_apart() -> None:
    """No overflow where the two Gaussians hardly meet."""
    found = loss_moments(rate=0.5, noise_multiplier=0.02)
    assert found.p.mean == pytest.approx(0.5 * (50**2 / 2 + math.log(0.5)) + 0.5 * math.log(0.5))
    assert found.q.mean == pytest.approx(math.log(0.5), rel=1e-9)


def test_wrong_parameters() -> None:
    """NaN included."""
    for wrong in (
        {"rate": 0.0, "noise_multiplier": 1.0},
        {"rate": 0.5, "noise_multiplier": math.nan},
        {"rate": 0.5, "noise_multiplier": 1e-9},
        {"rate": 0.5, "noise_multiplier": 1.0, "sensitivity": 0.0},
    ):
        with pytest.raises(InvalidParameter):
            loss_moments(**wrong)
    with pytest.raises(InvalidParameter, match="regime"):
        approximate_moments(rate=0.1, noise_multiplier=1.0, regime="middle")  # type: ignore[arg-type]

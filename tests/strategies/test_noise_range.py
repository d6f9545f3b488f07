"""Noise that its type cannot hold is refused, by range and row by row."""

from __future__ import annotations

import numpy as np
import pytest

from hockeystick import strategies
from hockeystick.errors import InvalidParameter, PlanMismatch, PrecisionError
from in_one_test import in_one_test

N, D = 8, 2000
TYPES = [np.float16, np.float32, np.float64]


@in_one_test
@pytest.mark.parametrize(
    ("scale", "dtype"),
    [
        (1e-46, np.float32),
        (1e-38, np.float32),
        (1e38, np.float32),
        (1e5, np.float16),
        (1e-5, np.float16),
        (6e4, np.float16),
        (1e-310, np.float64),
        (1e308, np.float64),
    ],
)
def test_a_scale_out_of_range_is_refused(scale, dtype):
    """Zeros, subnormal and infinite numbers are no Gaussian noise; the range is in the sentence."""
    for strategy in (strategies.identity(N), strategies.bsr(N, bands=3)):
        with pytest.raises(InvalidParameter, match=r"^scale must be in \[") as caught:
            strategy.noise(D, scale=scale, dtype=dtype, rng=1)
        assert np.dtype(dtype).name in caught.value.allowed


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("end", [0, 1])
def test_noise_at_the_ends_of_the_range_is_gaussian(dtype, end):
    """Normal numbers with the right deviation, hardly any zero among them."""
    scale = ends(strategies.identity(N), dtype)[end]
    rows = np.stack(list(strategies.identity(N).noise(D, scale=scale, dtype=dtype, rng=3)))
    units = rows.astype(np.float64) / scale
    assert np.isfinite(rows).all()
    assert units.std() == pytest.approx(1.0, abs=5 / np.sqrt(2 * rows.size))
    # 5% of the noise is below 1/16 of its deviation, where resolution still is 2^-14 of it.
    assert np.count_nonzero(rows == 0) <= 5
    assert np.unique(rows).size > rows.size / 20


def ends(strategy, dtype):
    """The allowed range, from the refusal itself."""
    limits = np.finfo(dtype)
    with pytest.raises(InvalidParameter) as caught:
        strategy.noise(1, scale=float(limits.tiny) / 1e3, dtype=dtype)
    inside = caught.value.allowed.split("[")[1].split("]")[0]
    low, high = (float(one) for one in inside.split(", "))
    return low * 1.01, high * 0.99


@pytest.mark.parametrize(
    "strategy",
    [
        strategies.from_coefficients([1e40, 0.0], N),
        strategies.from_coefficients([1e40, 1e39], N),
        strategies.from_coefficients([1e-40, 1e-41], N),
        strategies.from_matrix(np.diag([1.0] * (N - 1) + [1e40])),
        strategies.from_matrix(np.diag([1.0] * (N - 1) + [1e-40])),
    ],
    ids=["large", "large and banded", "small", "one large entry", "one small entry"],
)
def test_the_inverse_of_the_strategy_counts(strategy):
    """Noise is C^-1 Z: a scale of 1 does not help where C^-1 leaves single precision."""
    with pytest.raises(InvalidParameter, match=r"^scale must be in .* float32"):
        strategy.noise(D, scale=1.0, dtype=np.float32, rng=1)
    assert np.isfinite(next(strategy.noise(D, scale=1.0, dtype=np.float64, rng=1))).all()


def collect(stream, rows):
    """Rows up to an error."""
    for row in stream:
        rows.append(row)


@pytest.mark.parametrize("dtype", TYPES)
def test_a_row_without_anything_new_is_refused(dtype):
    """Where C^-1 grows, rounding takes the new part of a row long before it is infinite.

    Two neighbouring numbers at the largest entry that a stream returns are closer than 1/10 of the
    deviation of the new part, and than 1/500 of it in the wider types.
    """
    stream = strategies.from_coefficients([1.0, 2.0], 400).noise(D, dtype=dtype, rng=2)
    rows = []
    with pytest.raises(PrecisionError, match="cannot be held"):
        collect(stream, rows)
    assert 1 <= len(rows) < 60
    spacing = float(np.abs(rows[-1]).max()) * float(np.finfo(dtype).eps)
    assert spacing < (1 / 10 if dtype == np.float16 else 1 / 500)


def test_usual_noise_is_as_before():
    """Half precision at scales around 1, and all strategies of the papers."""
    for strategy in (
        strategies.identity(N),
        strategies.bsr(N, bands=4),
        strategies.bisr(N, bands=3),
        strategies.blt(N, buffers=2),
        strategies.band_mf(N, bands=3),
    ):
        for dtype in TYPES:
            for scale in (0.01, 1.0, 300.0):
                rows = np.stack(list(strategy.noise(50, scale=scale, dtype=dtype, rng=4)))
                assert rows.shape == (N, 50)
                assert np.isfinite(rows).all()


@pytest.mark.parametrize("name", ["scale", "steps", "step", "shape", "dtype", "seeded"])
def test_a_stream_stays_what_it_was_made_as(name):
    """Another scale in the middle of a run would be other noise than was accounted."""
    stream = strategies.bsr(N, bands=2).noise(4, scale=2.0, rng=1)
    same = strategies.bsr(N, bands=2).noise(4, scale=2.0, rng=1)
    with pytest.raises(PlanMismatch, match=f"^{name} of the noise stream cannot change"):
        setattr(stream, name, 1e-3)
    assert np.array_equal(np.stack(list(stream)), np.stack(list(same)))

"""Arguments that are refused, with the parameter's name, what is allowed and the value."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hockeystick import strategies
from hockeystick.errors import InvalidParameter
from in_one_test import in_one_test

BANDED = [strategies.bsr, strategies.bisr, strategies.band_mf, strategies.band_inv_mf]
every_banded = pytest.mark.parametrize("factorization", BANDED, ids=lambda f: f.__name__)
NOT_COUNTS = [0, -1, 2.0, 2.5, math.nan, math.inf, True, "3", None, [2]]
not_a_count = pytest.mark.parametrize("bad", NOT_COUNTS, ids=repr)


def assert_refused(name, call, value=...):
    """`InvalidParameter` that names the parameter and says what is allowed."""
    with pytest.raises(InvalidParameter) as caught:
        call()
    error = caught.value
    assert error.name == name
    assert error.allowed
    assert isinstance(error, ValueError)
    assert str(error) == f"{name} must be {error.allowed}, got {error.value!r}."
    if value is not ...:
        assert error.value is value or error.value == value


@in_one_test
@every_banded
@not_a_count
def test_bad_bands(factorization, bad):
    """Bands are integers of at least one; booleans and floats are none."""
    assert_refused("bands", lambda: factorization(10, bad), bad)


@in_one_test
@pytest.mark.parametrize("factorization", [*BANDED, strategies.blt], ids=lambda f: f.__name__)
@not_a_count
def test_bad_steps(factorization, bad):
    """The same for steps, everywhere."""
    assert_refused("steps", lambda: factorization(bad, 1), bad)
    assert_refused("steps", lambda: strategies.identity(bad), bad)
    assert_refused("steps", lambda: strategies.prefix_sums(bad), bad)


@every_banded
def test_more_bands_than_steps(factorization):
    """The range is part of the message."""
    assert_refused("bands", lambda: factorization(10, 11), 11)
    with pytest.raises(InvalidParameter, match=r"in \[1, steps=10\], got 11"):
        factorization(10, 11)


@in_one_test
@not_a_count
def test_bad_buffers(bad):
    """Buffers are called buffers."""
    assert_refused("buffers", lambda: strategies.blt(10, bad), bad)
    assert_refused("buffers", lambda: strategies.blt(10, 11), 11)


@in_one_test
@pytest.mark.parametrize(
    "factorization", [strategies.band_mf, strategies.band_inv_mf, strategies.blt]
)
@pytest.mark.parametrize("bad", ["rms", None, 1, ["mean"]], ids=repr)
def test_bad_error(factorization, bad):
    """The mean or the maximum."""
    assert_refused("error", lambda: factorization(10, 2, error=bad), bad)


@in_one_test
@pytest.mark.parametrize("factorization", [strategies.band_inv_mf, strategies.blt])
@pytest.mark.parametrize("name", ["separation", "participations"])
@pytest.mark.parametrize("bad", [0, -1, 2.0, math.nan, True, "3"], ids=repr)
def test_bad_participations(factorization, name, bad):
    """Of an optimised strategy, and of the sensitivity."""
    assert_refused(name, lambda: factorization(10, 2, **{name: bad}), bad)
    assert_refused(name, lambda: strategies.bsr(10, 2).sensitivity(**{name: bad}), bad)


COEFFICIENTS = {
    "negative": [1.0, -0.1],
    "tiny negative": [1.0, -1e-300],
    "NaN": [1.0, math.nan],
    "infinite": [1.0, math.inf],
    "empty": [],
    "two dimensions": [[1.0, 0.5]],
    "number": 1.0,
    "text": ["a"],
    "digits": ["1", "0.5"],
    "complex": np.array([1.0 + 1.0j]),
    "ragged": [[1.0], [1.0, 2.0]],
    "objects": [object()],
    "none": None,
}


@in_one_test
@pytest.mark.parametrize("bad", COEFFICIENTS.values(), ids=COEFFICIENTS)
def test_bad_coefficients(bad):
    """Negative, infinite or NaN, of the wrong shape or type."""
    assert_refused("coefficients", lambda: strategies.from_coefficients(bad, 10))


@pytest.mark.parametrize("first", [0.0, -0.0])
def test_zero_diagonal(first):
    """The first coefficient has to be positive."""
    assert_refused("coefficients[0]", lambda: strategies.from_coefficients([first, 1.0]), 0.0)


def test_more_coefficients_than_steps():
    """They are not cut off in silence."""
    assert_refused("coefficients", lambda: strategies.from_coefficients([1.0, 0.5], 1), 2)
    assert_refused("steps", lambda: strategies.from_coefficients([1.0], 1.0), 1.0)


MATRICES = {
    "negative": [[1.0, 0.0], [-0.1, 1.0]],
    "NaN": [[1.0, 0.0], [math.nan, 1.0]],
    "infinite": [[1.0, 0.0], [math.inf, 1.0]],
    "zero diagonal": [[1.0, 0.0], [1.0, 0.0]],
    "upper": [[1.0, 0.1], [0.0, 1.0]],
    "tiny upper": [[1.0, 1e-300], [0.0, 1.0]],
    "not square": [[1.0, 0.0]],
    "vector": [1.0],
    "number": 1.0,
    "three dimensions": np.ones((1, 1, 1)),
    "empty": np.ones((0, 0)),
    "text": [["a"]],
    "complex": np.array([[1.0 + 1.0j]]),
    "ragged": [[1.0], [1.0, 2.0]],
    "none": None,
}


@in_one_test
@pytest.mark.parametrize("bad", MATRICES.values(), ids=MATRICES)
def test_bad_matrices(bad):
    """Non-negativity and triangularity are checked, not assumed."""
    assert_refused("matrix", lambda: strategies.from_matrix(bad))


def test_the_offending_entry_is_named():
    """Where it is not clear from the parameter itself."""
    assert_refused("matrix", lambda: strategies.from_matrix([[1, 0], [-2, 1]]), -2.0)
    assert_refused("matrix", lambda: strategies.from_matrix([[1, 3], [0, 1]]), 3.0)
    assert_refused("matrix", lambda: strategies.from_matrix([[1, 0], [math.inf, 1]]), math.inf)


WORKLOADS = {
    "longer than the run": np.ones(6),
    "empty": [],
    "matrix": np.eye(5),
    "NaN": [1.0, math.nan],
    "infinite": [math.inf],
    "number": 1.0,
    "text": "ones",
}


@pytest.mark.parametrize("bad", WORKLOADS.values(), ids=WORKLOADS)
def test_bad_workloads(bad):
    """Of the errors and of the optimised strategies."""
    for strategy in (strategies.bsr(5, 2), strategies.from_matrix(np.eye(5))):
        for error in (strategy.mean_squared_error, strategy.max_squared_error):
            assert_refused("workload", lambda error=error: error(bad))
    for factorization in (strategies.band_mf, strategies.band_inv_mf, strategies.blt):
        assert_refused("workload", lambda f=factorization: f(5, 2, workload=bad))


@pytest.mark.parametrize(
    "factorization", [strategies.band_mf, strategies.band_inv_mf, strategies.blt]
)
def test_a_workload_of_nothing(factorization):
    """There is nothing to optimise."""
    assert_refused("workload", lambda: factorization(5, 2, workload=[0.0, 0.0]))


@pytest.mark.parametrize("bad", [-0.1, 1.0, 2, math.nan, math.inf, "0.5", None])
def test_bad_decay(bad):
    """Momentum below one."""
    assert_refused("decay", lambda: strategies.momentum(5, decay=bad), bad)


@in_one_test
@pytest.mark.parametrize("bad", [0, -1, 2.0, True, "3", None, (2, 0), (2, 1.5), [3]], ids=repr)
def test_bad_dimension(bad):
    """Of the noise."""
    assert_refused("dimension", lambda: strategies.bsr(5, 2).noise(bad))


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf, "1", None], ids=repr)
def test_bad_scale(bad):
    """Noise without a scale is none."""
    assert_refused("scale", lambda: strategies.bsr(5, 2).noise(3, scale=bad), bad)


@pytest.mark.parametrize("bad", [np.int32, np.complex128, np.longdouble, "nonsense", 3])
def test_bad_dtype(bad):
    """Half, single and double precision only."""
    assert_refused("dtype", lambda: strategies.bsr(5, 2).noise(3, dtype=bad), bad)


@pytest.mark.parametrize("bad", [-1, 1.5, True, "seed"], ids=repr)
def test_bad_source(bad):
    """The same sources as for batches."""
    assert_refused("rng", lambda: strategies.bsr(5, 2).noise(3, rng=bad), bad)

"""Exact noise where the inverse of C has few bands: the rounding of a sum of real numbers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.errors import InvalidParameter
from hockeystick.strategies.exact_moving import ROOM, ExactMovingStream, MovingIntegers
from hockeystick.strategies.pieces import PIECE
from hockeystick.strategies.rounded_normals import fill_rounded, initial_words
from hockeystick.strategies.toeplitz import Toeplitz
from hockeystick.strategies.undecided import VALUE_BITS, exact_draw, exact_value

S = hs.strategies
STRATEGIES = {
    "bisr": S.bisr(9, bands=4),
    "optimised": S.band_inv_mf(9, bands=3),
    "decaying": S.lambda_cgd(9, decay=0.9),
}


def stream(strategy, dimension=50, **options):
    """Of scale 1, with a seed."""
    return strategy.noise(dimension, arithmetic="exact", **{"scale": 1.0, "rng": 5, **options})


def test_further_digits_are_those_of_the_same_number():
    """Rounding all digits of X gives what was drawn with few of them."""
    row = np.empty(300, np.int64)
    fill_rounded(row, (1, 2, 3, 4), 3, 7, bits=44)
    state = initial_words((1, 2, 3, 4), 3, 7)
    values = [exact_value(state, i, 3) for i in range(300)]
    assert row.tolist() == [exact_draw(state, i, 44, 3) for i in range(300)]
    for drawn, value in zip(row, values, strict=True):
        # Rounded away from the middle, to either side.
        assert abs(Fraction(int(drawn)) - Fraction(value, 2 ** (VALUE_BITS - 44))) <= Fraction(1, 2)
    # The digits that are added are another number each time, and use all their bits.
    low = [abs(value) % 2**512 for value in values]
    assert len(set(low)) == 300
    assert abs(sum(one.bit_count() for one in low) / (300 * 512) - 0.5) < 0.01


@pytest.mark.parametrize("name", STRATEGIES)
def test_noise_is_the_rounding_of_the_real_sum(name):
    """From 711 digits of every X, in fractions; so G + N is R of B (C G + Z)."""
    strategy, dimension = STRATEGIES[name], 60
    found = stream(strategy, dimension)
    assert isinstance(found, ExactMovingStream)
    noise = np.array([next(found) for _ in range(9)])
    factors = [Fraction(float(b)) * ROOM for b in strategy.inverse_coefficients]
    x = [
        [
            Fraction(exact_value(initial_words(found._key.words, 0, t), k, 3), 2**VALUE_BITS)
            for k in range(dimension)
        ]
        for t in range(9)
    ]
    for k in range(dimension):
        for t in range(9):
            total = sum(b * x[t - j][k] for j, b in enumerate(factors) if j <= t)
            wanted = (total * 2**found.resolution + Fraction(1, 2)).__floor__()
            assert noise[t, k] == wanted


@pytest.mark.parametrize("name", STRATEGIES)
def test_short_sums_decide_what_long_ones_would(name, monkeypatch):
    """With nothing decided by double precision all numbers are the same; few are left to it."""
    strategy, dimension = STRATEGIES[name], 400
    quick = stream(strategy, dimension)
    rows = [next(quick) for _ in range(6)]
    assert 2 * quick._margin < 2e-5
    monkeypatch.setattr(MovingIntegers, "margin", lambda self, resolution: 0.5)
    monkeypatch.setattr(MovingIntegers, "bounds", lambda self, resolution: quick._bounds)
    slow = stream(strategy, dimension)
    for row in rows:
        np.testing.assert_array_equal(next(slow), row)


def test_sums_near_the_middle_are_decided_by_further_digits():
    """A margin that is too small gives other numbers: the test above can fail."""
    found = stream(STRATEGIES["bisr"], 10**6)
    wrong = stream(STRATEGIES["bisr"], 10**6)
    wrong._margin = 0.0
    moving, decided, different = found._moving, 0, 0
    original = ExactMovingStream._decided

    def counted(self, group, here):
        nonlocal decided
        decided += 1
        return original(self, group, here)

    ExactMovingStream._decided = counted
    try:
        for _ in range(9):
            different += int((next(found) != next(wrong)).sum())
    finally:
        ExactMovingStream._decided = original
    expected = 2 * moving.margin(24) * 9 * 10**6
    assert 0.2 * expected < decided < 3 * expected
    assert 0 < different < decided


@pytest.mark.parametrize("name", STRATEGIES)
def test_noise_is_that_of_the_strategy(name):
    """C N is white with the scale as deviation, up to sampling."""
    strategy = STRATEGIES[name]
    found = stream(strategy, 20_000, scale=3.0)
    noise = np.array([next(found) for _ in range(9)]) * found.lattice
    covariance = np.cov(strategy.to_matrix() @ noise) / 9.0
    np.testing.assert_allclose(covariance, np.eye(9), atol=6 * np.sqrt(2 / 20_000))


@pytest.mark.parametrize(
    "strategy",
    [S.bisr(60, bands=4), S.band_inv_mf(60, bands=3), S.lambda_cgd(60, decay=0.9)],
)
def test_coefficients_are_not_smaller_than_accounted(strategy):
    """The exact inverse of B, over what B is multiplied by, is below C entry by entry."""
    factors = [Fraction(float(b)) for b in strategy.inverse_coefficients]
    exact: list[Fraction] = []
    for k in range(60):
        rest = sum(b * exact[k - j] for j, b in enumerate(factors) if 0 < j <= k)
        exact.append(((1 if k == 0 else 0) - rest) / factors[0])
    accounted = strategy.coefficients
    assert all(c / ROOM <= Fraction(float(a)) for c, a in zip(exact, accounted, strict=True))


def test_memory_and_replay():
    """Rows of integers, or none and the same numbers; parts are those of the whole."""
    strategy = S.bisr(9, bands=4)
    held = [(100, 1100), (PIECE - 10, PIECE + 400)]
    whole, again = (stream(strategy, PIECE + 500, noise_memory=m) for m in ("rows", "replay"))
    part = stream(strategy, PIECE + 500, coordinates=held)
    assert (whole.memory.shape, again.memory.shape) == ((3, PIECE + 500), (0, PIECE + 500))
    assert whole.memory.dtype == np.float64
    for _ in range(6):
        row = next(whole)
        assert (whole.memory == np.rint(whole.memory)).all()
        np.testing.assert_array_equal(next(again), row)
        np.testing.assert_array_equal(
            next(part), np.concatenate([row[start:stop] for start, stop in held])
        )


def test_open_sums_are_decided_where_they_are(monkeypatch):
    """The further digits are those of the coordinate, also of one that is held as a part."""
    strategy = S.bisr(9, bands=4)
    held = [(100, 160), (PIECE - 10, PIECE + 40)]
    whole = stream(strategy, PIECE + 500)
    monkeypatch.setattr(MovingIntegers, "margin", lambda self, resolution: 0.5)
    monkeypatch.setattr(MovingIntegers, "bounds", lambda self, resolution: whole._bounds)
    parts = [
        stream(strategy, PIECE + 500, coordinates=held, noise_memory=memory)
        for memory in ("rows", "replay")
    ]
    for _ in range(5):
        row = next(whole)
        wanted = np.concatenate([row[start:stop] for start, stop in held])
        for part in parts:
            np.testing.assert_array_equal(next(part), wanted)


def test_a_state_continues():
    """Bit for bit; not in a stream of another strategy."""
    first, second = stream(S.bisr(9, bands=4), 70), stream(S.bisr(9, bands=4), 70, rng=None)
    for _ in range(4):
        next(first)
    second.restore(first.state())
    for _ in range(5):
        np.testing.assert_array_equal(next(first), next(second))
    with pytest.raises(InvalidParameter):
        stream(S.lambda_cgd(9, decay=0.5), 70).restore(first.state())


def test_what_is_not_covered_is_refused():
    """Finer lattices, inverses of mixed signs, and so many steps that C is not known well.

    Where C is given, its inverse is the one that is computed, and rounded.
    """
    with pytest.raises(InvalidParameter, match="as many rows of noise as C or its inverse"):
        S.from_coefficients(np.ones(9)).exact()
    with pytest.raises(InvalidParameter, match="resolution"):
        stream(S.bisr(9, bands=4), resolution=29)
    mixed = Toeplitz(
        "mixed",
        steps=9,
        coefficients=np.array([1.0, 0.5, 0.0, 0.125, 0.1875, 0.0, 0.0, 0.0, 0.5]),
        inverse=np.array([1.0, -0.5, 0.25]),
    )
    with pytest.raises(InvalidParameter, match="as many rows of noise as C or its inverse"):
        mixed.exact()
    assert S.bisr(2**16, bands=4).exact() is not None
    with pytest.raises(InvalidParameter, match="as many rows of noise as C or its inverse"):
        S.bisr(2**19, bands=4).exact()


@pytest.mark.parametrize("name", STRATEGIES)
def test_runs(name):
    """Accounted, drawn and stated as the plan that was given; another name is noticed."""
    plan = hs.Plan(sampling=hs.FullBatch(), steps=9, strategy=STRATEGIES[name])
    assert plan.exact() is plan
    data = np.random.default_rng(0).normal(size=(40, 5))
    run = hs.training.PrivateRun(
        plan,
        examples=40,
        dimension=5,
        noise_multiplier=8.0,
        max_grad_norm=1.0,
        arithmetic="exact",
        rng=1,
    )
    for _ in range(9):
        run.step(lambda batch: data[batch])
    stated = run.statement(delta=1e-5)
    assert stated.arithmetic == "exact"
    read = hs.training.Statement.from_json(stated.to_json())
    assert hs.training.check_statement(read).holds
    for other in ({"factorization": "coefficients", "bands": 9}, {"bands": 1}):
        edited = replace(read, strategy={**read.strategy, **other})
        assert not hs.training.check_statement(edited).holds

"""Normal numbers: where they come from, their law, their tails."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from hockeystick._numerics.chacha import LANES, WORDS, cipher_head, random_words
from hockeystick.strategies import normals
from hockeystick.strategies.normals import TILE, fill_combination, fill_normal
from in_one_test import in_one_test
from references import box_muller

SECRET = bytes(range(32))
HEAD = cipher_head(SECRET)
COUNT = 2**22


def row_of(size, dtype=np.float32, *, start=0, step=0, rounds=8, head=HEAD):
    """Numbers at some coordinates."""
    row = np.empty(size, dtype)
    fill_normal(row, start, head, step=step, rounds=rounds)
    return row


def words_of(place=0, row=0, rounds=8, head=HEAD):
    """The words of a tile: a column for each block."""
    out = np.empty((WORDS, LANES), np.uint32)
    random_words(out, head, place, row, rounds)
    return out


@pytest.fixture(scope="module")
def numbers():
    """Some millions of numbers."""
    return row_of(COUNT, step=5).astype(np.float64)


def test_published_blocks():
    """ChaCha with 20 rounds (RFC 8439, 2.3.2), and the keystreams of a key of zeros."""
    published = words_of((0x09000000 << 32) // LANES, 0x4A000000, rounds=20)[:, 1]
    assert [hex(word) for word in published[:4]] == [
        "0xe4e7f110",
        "0x15593bd1",
        "0x1fdd0f50",
        "0xc47120a3",
    ]
    zeros = cipher_head(bytes(32))
    for rounds, start in (
        (8, "3e00ef2f895f40d67f5bb8e81f09a5a1"),
        (20, "76b8e0ada0f13d90405d6ae5"),
    ):
        stream = words_of(head=zeros, rounds=rounds)[:, 0].astype("<u4").tobytes().hex()
        assert stream.startswith(start)


@in_one_test
@pytest.mark.parametrize("rounds", [8, 20])
@pytest.mark.parametrize(("place", "row"), [(0, 0), (3, 2**40 + 7), (2**30 - 1, 2**62), (2**50, 1)])
def test_blocks_are_those_of_their_place(place, row, rounds):
    """Also where halves of the two numbers overflow."""
    found = words_of(place, row, rounds)
    for lane in (0, 1, LANES - 1):
        assert found[:, lane].tolist() == box_muller.block(
            SECRET, place * LANES + lane, row, rounds
        )


@pytest.mark.parametrize(("dtype", "error"), [(np.float32, 3e-7), (np.float64, 1e-15)])
@pytest.mark.parametrize("rounds", [8, 20])
def test_numbers_are_those_of_their_coordinates(dtype, error, rounds):
    """Box-Muller in forty digits, coordinates far out and in the middle of tiles included."""
    wide = dtype == np.float64
    for start, step in ((0, 0), (1000, 3), (2**40 + 511, 2**33)):
        row = row_of(60, dtype, start=start, step=step, rounds=rounds)
        for i in range(0, 60, 7):
            wanted = box_muller.normal(SECRET, start + i, step, rounds=rounds, wide=wide)
            assert row[i] == pytest.approx(wanted, abs=8 * error)


def pairs_of(radii, angles):
    """What the transform makes of words: single precision."""
    cosines, sines = np.empty(radii.size, np.float32), np.empty(radii.size, np.float32)
    normals._single_pairs(cosines, sines, radii.astype(np.uint32), angles.astype(np.uint32))
    return cosines.astype(np.longdouble), sines.astype(np.longdouble)


@pytest.mark.parametrize("near", [2**16, 2**31, 3 * 2**30, round(2**31.5), 2**32 - 2000])
def test_single_precision_at_every_border(near):
    """Around the words at which the computation changes, within 3e-7 of the length of a pair."""
    radii = np.arange(near - 1000, near + 1000) % 2**32
    turns = np.arange(2000) % 8 * 2**29 + np.arange(2000) - 1000
    angles = turns % 2**32
    cosines, sines = pairs_of(radii, angles)
    length = np.sqrt(-2 * np.log((radii + np.longdouble(0.5)) / 2**32))
    turn = angles / np.longdouble(2**32) * 2 * np.arccos(np.longdouble(-1))
    assert np.abs(cosines / length - np.cos(turn)).max() < 3e-7
    assert np.abs(sines / length - np.sin(turn)).max() < 3e-7


def test_rounding_has_no_direction():
    """The mean square over even words is that of exact logarithms within 1e-8."""
    radii = np.arange(2**20, dtype=np.int64) * 2**12 + 2**11
    cosines, sines = pairs_of(radii, np.zeros_like(radii))
    exact = -2 * np.log((radii + np.longdouble(0.5)) / 2**32)
    assert np.abs((cosines**2 + sines**2 - exact).mean()) < 1e-8


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_far_tail_is_refined(dtype):
    """Small words get 64 further bits: every pair of a tile, as if it were one."""
    size = TILE * 4 // np.dtype(dtype).itemsize
    half, wide = size // 2, dtype == np.float64
    words = words_of()
    if wide:
        words.reshape(4, half)[1] = 0
    else:
        words.reshape(2, half)[0] &= 0xFFFF
    further, found = words_of(row=2**62), np.empty(size, dtype)
    normals._refine(found, words.reshape(TILE), further)
    flat = words.reshape(-1, half).astype(np.longdouble)
    more = further.reshape(8, 2, LANES)[: half // LANES].astype(np.longdouble)
    low = ((more[:, 1] * 2**32 + more[:, 0] + 0.5) / np.longdouble(2) ** 64).ravel()
    length = np.sqrt(-2 * np.log((flat[0] + low) / np.longdouble(2) ** (64 if wide else 32)))
    angle = flat[2] / np.longdouble(2) ** 64 + flat[3] / 2**32 if wide else flat[1] / 2**32
    turn = angle * 2 * np.arccos(np.longdouble(-1))
    near = 1e-14 if wide else 2e-7
    np.testing.assert_allclose(found[:half], length * np.cos(turn), rtol=near, atol=10 * near)
    np.testing.assert_allclose(found[half:], length * np.sin(turn), rtol=near, atol=10 * near)


def test_refined_pairs_are_drawn():
    """In a row with some of them, and nothing else is changed by it."""
    radii = np.concatenate([words_of(tile, 9).reshape(2, -1)[0] for tile in range(4000)])
    (rare,) = np.nonzero(radii < normals.RARE_SINGLE)
    assert rare.size > 5
    row = row_of(4000 * TILE, step=9)
    for i in rare:
        tile, inside = divmod(int(i), TILE // 2)
        for coordinate in (tile * TILE + inside, tile * TILE + inside + TILE // 2):
            wanted = box_muller.normal(SECRET, coordinate, 9, rounds=8, wide=False)
            assert row[coordinate] == pytest.approx(wanted, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("power", "mean"), [(1, 0), (2, 1), (3, 0), (4, 3), (6, 15), (8, 105)])
def test_moments(numbers, power, mean):
    """Within four standard errors of the normal moments."""
    variance = stats.norm.moment(2 * power) - mean**2
    assert abs((numbers**power).mean() - mean) < 4 * np.sqrt(variance / COUNT)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_law(dtype):
    """Chi-square on a million numbers in 4,000 cells of equal probability."""
    found = row_of(10**6, dtype, step=2)
    counts = np.histogram(found, stats.norm.ppf(np.linspace(0.0, 1.0, 4001)))[0]
    assert stats.chisquare(counts).pvalue > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("beyond", [3.0, 3.7, 4.0, 4.5])
def test_tails(numbers, beyond):
    """As many numbers far out as there should be, on each side."""
    expected = stats.norm.sf(beyond) * COUNT
    for side in (numbers, -numbers):
        assert abs((side > beyond).sum() - expected) < 4 * np.sqrt(expected)


@pytest.mark.long
def test_far_tails():
    """Four thousand million numbers: as many beyond 5, 5.5, 6 and 6.3 as there should be."""
    edges = np.array([5.0, 5.5, 6.0, 6.3])
    counts, rows, size = np.zeros(4), 1000, 2**22
    row = np.empty(size, np.float32)
    for step in range(rows):
        fill_normal(row, 0, HEAD, step=step, rounds=8)
        far = np.abs(row[np.abs(row) > 5.0])
        counts += (far[:, None] > edges).sum(axis=0)
    expected = 2 * stats.norm.sf(edges) * rows * size
    assert (np.abs(counts - expected) < 4.5 * np.sqrt(expected)).all(), (counts, expected)


@pytest.mark.slow
def test_neighbours_are_independent(numbers):
    """Those of a pair too, which are half a tile apart, and their sizes."""
    for lag in (1, 2, 3, LANES, TILE // 2, TILE):
        for left, right in ((numbers, numbers), (np.abs(numbers), np.abs(numbers))):
            found = np.corrcoef(left[:-lag], right[lag:])[0, 1]
            assert abs(found) < 4.5 / np.sqrt(COUNT)


@pytest.mark.slow
def test_pairs_have_every_direction(numbers):
    """Chi-square of angles and of squared lengths, which are exponential, together."""
    cosines, sines = numbers.reshape(-1, 2, TILE // 2).transpose(1, 0, 2).reshape(2, -1)
    angle = np.arctan2(sines, cosines) / (2 * np.pi) + 0.5
    length = np.exp(-(cosines**2 + sines**2) / 2)
    counts = np.histogram2d(angle, length, bins=64, range=[[0, 1], [0, 1]])[0]
    assert stats.chisquare(counts.ravel()).pvalue > 1e-4


@in_one_test
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("start", "size"), [(0, 1), (5, 2), (1000, 30), (511, 2049), (1024, 1024)])
def test_any_range(dtype, start, size):
    """The same numbers as in a longer row; whatever lies beside the range is not touched."""
    whole, row = row_of(4096, dtype, step=4), np.full(size + 2, 99.0, dtype)
    fill_normal(row[1:-1], start, HEAD, step=4, rounds=8)
    assert row[0] == row[-1] == 99.0
    np.testing.assert_array_equal(row[1:-1], whole[start : start + size])


@pytest.mark.parametrize("lags", [1, 2, 3, 4, 5, 9])
def test_combinations(lags):
    """Of as many rows as there are, from the latest back."""
    factors = np.linspace(1.0, -0.5, lags)
    for step in (0, 2, 20):
        row = np.empty(1500, np.float64)
        fill_combination(row, 700, HEAD, step=step, rounds=8, factors=factors, scale=2.0)
        wanted = sum(
            2.0 * factor * row_of(1500, np.float64, start=700, step=step - lag)
            for lag, factor in enumerate(factors[: step + 1])
        )
        np.testing.assert_allclose(row, wanted, rtol=0, atol=1e-14)

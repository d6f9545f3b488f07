"""Rounded normal integers: the law, the tables and the digits that decide."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from hockeystick.strategies import rounded_normals, undecided
from hockeystick.strategies.noise import TOTAL_VARIATION
from hockeystick.strategies.rounded_normals import NARROW, fill_rounded, initial_words

KEY = (11, 22, 33, 44)
# Coarse, as wide as 32 digits allow, and what correlated noise needs.
SCALES = (12, 24, 44)


def drawn(count, bits, **options):
    """Numbers of several pieces and steps."""
    rows = []
    for step in range(-(-count // 2**18)):
        row = np.empty(min(2**18, count - step * 2**18), np.int64)
        fill_rounded(row, KEY, step % 3, step, bits=bits, **options)
        rows.append(row)
    return np.concatenate(rows)


def chi_square(numbers, bits):
    """The tail probability of chi-square for cells of a 64th of the standard deviation."""
    cell = bits - 6
    place = np.clip(numbers >> cell, -512, 512)
    found = np.bincount(place + 512, minlength=1025).astype(float)
    # Cell k are the numbers n with k 2^cell <= n < (k + 1) 2^cell: |X| from n - 1/2 on.
    edges = (np.arange(-511, 513) * 2.0**cell - 0.5) / 2.0**bits
    below, above = stats.norm.cdf(edges), stats.norm.sf(edges)
    mass = np.where(
        np.arange(1025) < 512,
        np.diff(np.concatenate(([0.0], below, [1.0]))),
        -np.diff(np.concatenate(([1.0], above, [0.0]))),
    )
    expected = numbers.size * mass
    kept = expected >= 10
    rest = found[~kept].sum(), expected[~kept].sum()
    found, expected = np.append(found[kept], rest[0]), np.append(expected[kept], rest[1])
    return stats.chisquare(found, expected * found.sum() / expected.sum()).pvalue


@pytest.mark.parametrize("count", [10**6, pytest.param(10**8, marks=pytest.mark.long, id="10^8")])
@pytest.mark.parametrize("bits", SCALES)
def test_the_law_is_that_of_a_rounded_normal(bits, count):
    """Chi-square over cells of a 64th of the standard deviation; low digits are uniform."""
    numbers = drawn(count, bits)
    assert chi_square(numbers, bits) > 1e-4
    assert stats.chisquare(np.bincount(numbers & 255, minlength=256)).pvalue > 1e-4


def test_chi_square_notices_a_hundredth():
    """The test above fails for noise that is 1% too small, with 10^8 draws for 0.1%."""
    numbers = np.rint(drawn(10**6, 24) * 0.99).astype(np.int64)
    assert chi_square(numbers, 24) < 1e-4


@pytest.mark.parametrize("bits", [8, 12, 25, NARROW, NARROW + 1, 44, 58])
def test_short_digits_decide_what_long_ones_would(bits):
    """Every number is that of the slow method with 256 digits, whatever is decided early."""
    row, late = np.empty(3000, np.int64), np.empty(3000, np.int64)
    fill_rounded(row, KEY, 3, 7, bits=bits)
    state = initial_words(KEY)
    state[13], state[14] = 3, 7
    words = 2 if bits <= NARROW else 3
    slow = [undecided.exact_draw(state, i, bits, words) for i in range(2000)]
    assert row[:2000].tolist() == slow
    fill_rounded(late, KEY, 3, 7, bits=bits, margin=1.0)
    np.testing.assert_array_equal(row, late)


def test_cells_have_their_weights():
    """The alias table has exp(-i^2 / 2^15) of every cell up to 16, to 2^-244 in all."""
    thresholds, aliases = undecided.alias_table()
    whole = 2**undecided.FURTHER_BITS
    found = [Fraction(t, whole) for t in thresholds]
    for t, alias in zip(thresholds, aliases, strict=True):
        found[alias] += 1 - Fraction(t, whole)
    with localcontext() as context:
        context.prec = 120
        weights = [(-Decimal(i * i) / 2**15).exp() for i in range(undecided.CELLS)]
        total = sum(weights)
        wrong = sum(
            abs(Decimal(f.numerator) / Decimal(f.denominator) / undecided.CELLS - w / total)
            for f, w in zip(found, weights, strict=True)
        )
    assert wrong < Decimal(2) ** -244
    assert all(0 <= t <= whole for t in thresholds)


@pytest.mark.parametrize("deviations", [0.0, 1.0, 4.0, 6.0, 8.0, 8.9])
def test_numbers_in_a_cell_have_the_density(deviations):
    """Far out, where no number is ever drawn, too: the acceptance and the place, by chi-square."""
    cell, count = int(deviations * 128), 20_000
    rng = np.random.default_rng(1)
    # The column of the cell and threshold digits of zero, so that it is the cell; random digits
    # of acceptance and place.
    first = rng.integers(2**9, size=count, dtype=np.uint32) | np.uint32(cell << 21)
    second, third = rng.integers(2**32, size=(2, count), dtype=np.uint32)
    blocks = rng.integers(2**32, size=(count, 16), dtype=np.uint32)
    blocks[:, :2] = 0
    tables = rounded_normals._tables()
    found = [
        rounded_normals._longer(block, a, b, c, 40, 2.0**-44, tables)
        for block, a, b, c in zip(blocks, first, second, third, strict=True)
    ]
    places = [n / 2.0**40 - cell for verdict, n in found if verdict == rounded_normals.ACCEPTED]
    grid = (np.arange(1000) + 0.5) / 1000
    density = np.exp(-(2 * cell * grid + grid**2) / 2.0**15)
    share = density.mean()
    assert abs(len(places) - count * share) <= 5 * math.sqrt(count * share * (1 - share) + 1)
    expected = density.reshape(20, -1).sum(axis=1)
    counts = np.histogram(places, np.linspace(0, 1, 21))[0]
    assert stats.chisquare(counts, expected * counts.sum() / expected.sum()).pvalue > 1e-4


def test_what_is_cut_off_is_in_the_distance():
    """2 Q(16) is less than 2^-188.9, and 2^64 numbers together are within 2^-124."""
    assert math.log2(math.erfc(16 / math.sqrt(2))) < -188.9
    assert TOTAL_VARIATION == 2.0**-124


def test_places_are_independent():
    """Other pieces, steps and keys have other numbers."""
    rows = [np.empty(1000, np.int64) for _ in range(5)]
    for row, (key, piece, step) in zip(
        rows,
        [(KEY, 0, 0), (KEY, 1, 0), (KEY, 0, 1), (KEY, 0, 2**32), ((1, 22, 33, 44), 0, 0)],
        strict=True,
    ):
        fill_rounded(row, key, piece, step, bits=40)
    assert len({int(number) for row in rows for number in row}) == 5000
    correlations = np.corrcoef(np.array(rows))[np.triu_indices(5, 1)]
    assert np.abs(correlations).max() < 0.2


def test_a_longer_row_begins_like_a_shorter_one():
    """What is drawn follows from the place alone."""
    short, long = np.empty(3000, np.int64), np.empty(10_000, np.int64)
    for row in (short, long):
        fill_rounded(row, KEY, 0, 5, bits=24)
    np.testing.assert_array_equal(short, long[:3000])

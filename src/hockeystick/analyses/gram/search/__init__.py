"""The choice among valid bounds: which majorants are tried, and how finely each is computed.

Nothing here makes a bound valid or invalid: `order` certifies every matrix, `law` computes with it.
"""

from __future__ import annotations

from dataclasses import dataclass

from hockeystick.analyses.gram.law import LATTICES, LatticeSettings

__all__ = ["SETTINGS", "GramSettings"]


@dataclass(frozen=True)
class GramSettings:
    """What the search tries, and how much work it gives to it.

    `benchmarks/gram_settings.py` measures what a change of a setting does to epsilon and to the
    time on a few plans.
    """

    # Where nodes are placed, and the cost model of the recursions.
    lattices: LatticeSettings = LATTICES

    # == Work: the fineness of the first evaluations, or beyond which none is made, and the parts of
    # the budget for one of them at most, for one of the best few, and for the answer.
    coarse: float = 1.0
    too_coarse: float = 1.5
    coarse_work: float = 0.2
    medium_work: float = 0.4
    finest_work: float = 1.6
    finalists: int = 2
    kinds: int = 3
    # A chain gets at least these operations, some milliseconds: with less all are too coarse.
    least_work: float = 1e6
    # The matrix itself, if it has few bands, gets more: it closes the interval.
    exact_work: float = 6.0
    # Lower bounds are computed once, for one direction, and get this part.
    lower_work: float = 0.5
    # A whole profile takes as long as several numbers: blocks of random allocation get less.
    block_work: float = 0.3
    # Averages of copies: the step and the nats of their grids. A law takes milliseconds.
    copy_step: float = 0.02
    copy_nats: float = 6.0

    # == Choices are made for a question nearby: the ratios of the grids of the matrix' scale, of
    # delta or epsilon, and of the budget, which is rounded up. A ratio of 2^(1/2) of the scale is
    # one of 2^(1/4) of the noise.
    scale_grid: float = 2**0.5
    question_grid: float = 2.0
    usual_budget: float = 1e8
    budget_grid: float = 16.0

    # == Tails
    # The probability beyond the lattices, relative to delta: what is charged for it is less than
    # what any lattice loses. Where epsilon is given, delta is not known: tails are reduced until
    # they are `tail_slack` times that small.
    tail: float = 1e-6
    tails_of_delta: tuple[float, ...] = (1e-12, 1e-20, 1e-40, 1e-80, 1e-160)
    tail_slack: float = 10.0

    # == The profile: its smallest delta, corners on either side, the deltas it is searched for
    smallest_delta: float = 1e-20
    corners: int = 300
    profile_deltas: tuple[float, ...] = (1e-3, 1e-6, 1e-12)
    profile_accuracy: float = 0.01

    # == Targets: what is to be dominated
    # Bounds that lower some entries replace entrywise ones where their total is smaller by this
    # factor: otherwise what the diagonal adds outweighs it.
    much_less: float = 0.98
    # Every second or fourth bin alone, if enough bins are left.
    spacings: tuple[int, ...] = (2, 4)
    fewest: int = 16
    # Groups of bins have at most so many in the beginning; lines up to this size begin as they are.
    first_group: int = 256
    short_line: int = 128
    # Rings of up to so many bins may also stay closed, which takes many runs: a cut may raise
    # epsilon by a tenth there.
    longest_closed: int = 64
    # Of up to so many they are tried as well where the last lattice is as fine: they lose much on
    # coarse ones, this multiple of `epsilon_rate`.
    longest_to_close: int = 150
    closed_fineness: float = 0.85
    closing: float = 1.8
    # They are not tried where cut ones of so many bins are this many times above the best.
    far_behind: float = 1.1
    # Up to this size majorants are certified on the ring itself.
    longest_ring: int = 4_096
    # Lines up to this size may also be computed in one piece, with amplitudes.
    longest_line: int = 300
    # A gap leaves out bins until the rest of the correlations is this small relative to the
    # diagonal, if these are at most this share of the bins.
    negligible: float = 0.02
    most_left_out: float = 0.2
    # Beside mirrors bins are left out until the variance grows by about this share, or multiples of
    # that number.
    growth_at_mirrors: float = 0.15
    left_out: tuple[float, ...] = (1.0, 0.5, 2.0, 0.0)
    # Beyond the distance where entries are negligible, lags in a certificate for any number of
    # bins: more of them, and at most so many.
    more_lags: int = 64
    most_lags: int = 2_048
    # Exact candidates have at most so many bands, of which their cost is a power, and at most so
    # many bins, in one piece.
    most_bands: int = 4
    longest_exact: int = 500
    # Blocks of random allocation: quantiles of the entries between two blocks that are tried as
    # their common level; blocks further apart than `far_blocks` are treated by their largest entry.
    # Of up to `few_blocks` the first and the last get a profile of their own.
    levels: tuple[float, ...] = (0.0, 0.5, 0.9, 1.0)
    far_blocks: int = 4
    few_blocks: int = 3

    # == Majorants: linear programmes
    # Entries are weighted by e^(tilt K). Where one bin decides, its X is near v + z sqrt(v) for a
    # diagonal v; what a bin with the covariance r v then adds falls like
    # e^(-(1-r)(z sqrt(v) + ...)): e^(tilt K) with the tilt z / sqrt(v) + ... So tilts are these
    # multiples of `tilt_offset` + `tilt_quantile` / sqrt(v).
    tilts: tuple[float, ...] = (0.3, 0.6, 1.2)
    tilt_offset: float = 0.15
    tilt_quantile: float = 4.0
    # Weights below e^-largest_tilt relative to the diagonal's are equal: the solver would not see
    # them.
    largest_tilt: float = 15.0
    # Frequencies and lags in a programme: all up to `exact_lags`, then so many in geometric steps,
    # lags by the factor `lag_growth`. What lies between is certified afterwards.
    exact_lags: int = 64
    frequencies: int = 100
    lag_growth: float = 1.1
    # A minorant that is not below the target yet is multiplied by these.
    shrinking: tuple[float, ...] = (1.0, 0.999, 0.99, 0.98, 0.95, 0.9, 0.8, 0.65, 0.5, 0.3)
    # Correlation lengths of a chain that are tried, then these factors beside the best one.
    lengths: tuple[float, ...] = tuple(0.3 * 2.56**i for i in range(8))
    length_factors: tuple[float, ...] = (1.6, 1.25, 1.12)

    # Majorants that agree to so many digits are one.
    digits: int = 3

    # == Fineness: lattices are not finer (memory) nor coarser (nothing is said); the affordable
    # fineness is found to this relative width
    finest: float = 0.02
    coarsest: float = 2.0
    fineness_tolerance: float = 0.02
    # By how much log epsilon, and log delta, exceed their limit, over the square of the fineness,
    # about; and how many times as much where states are rounded.
    epsilon_rate: float = 0.04
    delta_rate: float = 0.09
    rounding: float = 1.8

    # == Lower bounds
    # The best minorant with a chain is chosen with this part of the work; few bands get a multiple,
    # since they close the interval. Lengths of blocks beside the best power of two.
    choice_work: float = 0.1
    band_work: float = 4.0
    beside: tuple[float, ...] = (0.75, 1.5)


SETTINGS = GramSettings()

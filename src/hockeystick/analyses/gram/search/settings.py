"""All tunables of the search, in one place: none of them can make a bound invalid."""

from __future__ import annotations

from dataclasses import dataclass

from hockeystick.analyses.gram.law.task import LATTICES, LatticeSettings

__all__ = ["SETTINGS", "GramSettings"]


@dataclass(frozen=True)
class GramSettings:
    """What the search tries, and how much work it gives to it.

    `benchmarks/gram_settings.py` measures what a change of a setting does to epsilon and to the
    time on a few plans. Percentages below are its results: how much larger epsilon became at most.
    """

    # Where nodes are placed, and the cost model of the recursions.
    lattices: LatticeSettings = LATTICES

    # == Budget: one request may use `finest_work` budgets of elementary operations
    # A budget is for so many bins; more bins get proportionally more, up to a multiple: beyond it a
    # request takes minutes.
    bins_of_budget: int = 100
    most_of_budget: float = 5.0
    # Parts of the budget for one coarse evaluation, and for the final one of a candidate: by the
    # cost model a dozen coarse ones take less time than the final one, which at half the work loses
    # 2 %.
    coarse_work: float = 0.3
    finest_work: float = 6.0
    # Lower bounds are computed once, for one direction, and get this part.
    lower_work: float = 0.5
    # A whole profile takes as long as several numbers: blocks of random allocation get less.
    block_work: float = 0.3

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
    # Every second, third or fourth bin alone (without them: 4 %), where bins at that distance have
    # this share of the diagonal in common (below it revealing the class loses more than the
    # majorant), and enough bins are left.
    spacings: tuple[int, ...] = (2, 3, 4)
    close: float = 0.45
    fewest_bins: int = 16
    # An arc of a ring leaves out bins until the rest of the correlations is this small relative to
    # the diagonal, if these are at most this share of the bins: its position is revealed.
    negligible: float = 0.02
    most_dropped: float = 0.2
    # Exact candidates have at most so many bands: their cost is a power of the bands.
    most_bands: int = 4
    # Blocks of random allocation: quantiles of the entries between two blocks that are tried as
    # their common level; blocks further apart than `far_blocks` are treated by their largest entry.
    # Of up to `few_blocks` the first and the last get a profile of their own.
    levels: tuple[float, ...] = (0.0, 0.5, 0.9, 1.0)
    far_blocks: int = 4
    few_blocks: int = 3

    # == Majorants: linear programmes
    # Entries are weighted by e^(tilt K). Where one bin decides, its X is near v + z sqrt(v) for a
    # diagonal v; what a bin with the covariance r v then adds falls like
    # e^(-(1-r)(z sqrt(v) + ...)): e^(tilt K) with the tilt z / sqrt(v) + ... So tilts are `tilts`
    # powers (three: 4 %) of `tilt_ratio` from
    # `least_tilt` (`tilt_offset` + `tilt_quantile` / sqrt(v)) on.
    tilts: int = 5
    tilt_ratio: float = 1.65
    least_tilt: float = 0.28
    tilt_offset: float = 0.15
    tilt_quantile: float = 4.0
    # Weights below e^-largest_tilt relative to the diagonal's are equal: the solver would not see
    # them.
    largest_tilt: float = 15.0
    # Frequencies and lags in a programme: all up to `exact_lags`, then so many in geometric steps,
    # lags by the factor `lag_growth`. What lies between is certified afterwards.
    exact_lags: int = 24
    frequencies: int = 60
    lag_growth: float = 1.25
    # A minorant that is not below the target yet is multiplied by these.
    shrinking: tuple[float, ...] = (1.0, 0.999, 0.99, 0.98, 0.95, 0.9, 0.8, 0.65, 0.5, 0.3)
    # Correlation lengths of a chain that are tried, then these factors beside the best one.
    lengths: tuple[float, ...] = tuple(0.3 * 2.56**i for i in range(8))
    length_factors: tuple[float, ...] = (1.6, 1.25, 1.12)
    # The lengths of two chains relative to that of the best single one, then factors beside; limits
    # of both; and a chain with less than this part of the other is left out.
    shorter: tuple[float, ...] = (2.5, 5.0)
    longer: tuple[float, ...] = (1.5, 2.5)
    pair_factors: tuple[float, ...] = (1.6, 1.25)
    shortest: float = 0.3
    longest: float = 1e4
    least_of_two: float = 0.01
    # Majorants that agree to so many digits are one.
    digits: int = 3

    # == Fineness
    # Lattices are not finer (memory) nor coarser (nothing is said); the affordable fineness is
    # found to this relative width.
    finest: float = 0.02
    coarsest: float = 2.0
    fineness_tolerance: float = 0.02
    # The first lattice, the one beside it that tells the convergence rate, and the ratio of further
    # ones.
    first_fineness: float = 1.2
    second_fineness: float = 0.75
    refinement: float = 0.6
    # A lattice that is hardly finer gains nothing; two with the second ratio need one between them;
    # with the third ratio a closer evaluation costs much less than the final one.
    hardly_finer: float = 1.1
    apart: float = 1.5
    far_apart: float = 2.3
    # Usual convergence rates: by how much log epsilon, and log delta, exceed their limit, over the
    # square of the fineness, about; half of the first did not raise epsilon. A ring loses more, for
    # its first state.
    epsilon_rate: float = 0.08
    delta_rate: float = 1.0
    ring_excess: float = 1.3
    # Evaluations before the final one are made where so many times the accuracy is expected to be
    # still to come, so that the answer may settle there.
    may_settle: float = 2.0

    # == Best-first search
    # At most so many candidates pass each stage: rate, itself, refined, final (half of them: 2 %).
    limits: tuple[int, ...] = (6, 4, 3, 2)
    # Optimism: what a bound may come to at best after each stage, relative to the prediction (0.9
    # throughout changed no epsilon). A final value may be a little above another.
    optimism: tuple[float, ...] = (0.96, 0.98, 0.98, 1.0, 0.997)
    # A ring between mirrors (without it: 2 %) takes one run instead of many, and gets this part of
    # the work.
    mirror_work: float = 0.25
    # Predictions within this factor of the best may be improved by a second chain; what a better
    # score is worth, in squares of the fineness: about a quarter of it in log epsilon. The
    # second chain takes as long as everything else, so its prediction has to be smaller by the last
    # factor.
    within: float = 1.05
    score_worth: float = 3.0
    second_chain_gain: float = 0.995

    # == The other direction
    # So many lattices are tried before the finest; one that should be fine enough is made a little
    # finer; what is expected of a ring from its line is reduced by `line_optimism`; and a number
    # that is larger by so little is accepted.
    tries: int = 2
    nearly: float = 0.95
    line_optimism: float = 0.98
    hardly_worse: float = 1.003

    # == Lower bounds
    # The best minorant with a chain is chosen with this part of the work; few bands get a multiple,
    # since they close the interval. Lengths of blocks beside the best power of two.
    choice_work: float = 0.1
    band_work: float = 4.0
    beside: tuple[float, ...] = (0.75, 1.5)


SETTINGS = GramSettings()

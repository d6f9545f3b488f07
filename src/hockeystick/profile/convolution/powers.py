"""Many-fold products and averages in logarithmically many pairwise steps.

Squaring keeps the grid of every intermediate law matched to that law's own spread, so that each
rounding costs about step**2 / 6 of the current variance and the total grows with the number of
levels, not with the number of factors.
"""

from __future__ import annotations

from collections.abc import Sequence

from hockeystick._numerics.law import Law, Resolution, Side
from hockeystick.profile.convolution.pairwise import average, product

__all__ = ["TAIL_SHARE", "average_of_copies", "product_of_powers", "rounding_levels"]

# Share of the allowed tail that one pairwise operation may use.
TAIL_SHARE = 0.02


def product_of_powers(
    laws: Sequence[Law], counts: Sequence[int], resolution: Resolution, side: Side
) -> Law:
    """The law of the composition of counts[i] copies of laws[i] for all i.

    All factors share their squarings: from the highest bit of the counts down, square what is there
    and multiply in the factors whose count has that bit. n factors with equal counts cost n
    products once and then only the squarings of one.
    """
    result: Law | None = None
    together: dict[tuple[int, ...], Law] = {}
    for bit in reversed(range(max(counts).bit_length())):
        share = resolution.scaled(tail=TAIL_SHARE / 2.0**bit)
        if result is not None:
            result = product(result, result, share, side)
        chosen = tuple(i for i, count in enumerate(counts) if count >> bit & 1)
        if not chosen:
            continue
        if chosen not in together:
            # These factors return at every lower bit: their trimming must count at most
            # max(counts) times, whatever the bit at which they are first needed.
            group = resolution.scaled(tail=TAIL_SHARE / max(counts) / len(chosen))
            together[chosen] = _balanced([laws[i] for i in chosen], group, side)
        factor = together[chosen]
        result = factor if result is None else product(result, factor, share, side)
    assert result is not None
    return result


def _balanced(laws: Sequence[Law], resolution: Resolution, side: Side) -> Law:
    """The product of the laws as a balanced tree."""
    level = list(laws)
    while len(level) > 1:
        pairs = range(0, len(level) - 1, 2)
        paired = [product(level[i], level[i + 1], resolution, side) for i in pairs]
        level = paired + level[len(paired) * 2 :]
    return level[0]


def average_of_copies(law: Law, copies: int, resolution: Resolution, side: Side) -> Law:
    """The law of the average of `copies` independent copies of the likelihood ratio."""
    result, have = law, 1
    share = resolution.scaled(tail=TAIL_SHARE)
    for bit in reversed(range(copies.bit_length() - 1)):
        result, have = average(result, result, 0.5, share, side), 2 * have
        if copies >> bit & 1:
            result = average(result, law, have / (have + 1), share, side)
            have += 1
    return result


def rounding_levels(count: int) -> int:
    """How many roundings a count-fold product or average goes through on its longest path."""
    return count.bit_length() - 1 + (count.bit_count() - 1)

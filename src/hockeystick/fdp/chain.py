"""Whether a finite family of mechanisms generates a Blackwell chain.

[Tran26, Theorems 3.6 and 3.8]: the natural f-DP filter over T steps is valid if all products of
up to T - 1 members of the family (for a finite family no limits are added) are totally ordered;
beyond pure DP only then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np

from hockeystick import _validate as check
from hockeystick.errors import InvalidParameter
from hockeystick.fdp.counterexample import Witness, witness_of
from hockeystick.fdp.gaussian import GaussianTradeOff
from hockeystick.fdp.products import Comparison, Counts, Member, Verdict, products_of
from hockeystick.profile import Profile

__all__ = ["ChainTest", "blackwell_chain"]

# Pairs of products that are compared at most, in about a minute; beyond, fewer factors are covered.
MOST_PAIRS = 400
GAUSSIAN = "all members are Gaussian: squares of mu add, and G_mu falls with mu"
POWERS = "all members are powers of one mechanism, and so are their products"
SHORT = "one step leaves nothing to choose"


@dataclass(frozen=True)
class ChainTest:
    """Whether all products of up to `steps` - 1 members are totally ordered.

    With `holds` True, order is shown up to `slack` in H for each factor of a product, so that
    adaptivity may add at most steps^2 * slack to any delta; slack is 0 for families that are
    recognised.

    Attributes
    ----------
    holds : bool or None
        None where the numerics cannot tell.
    reason : str
        Why, in a sentence.
    steps : int
        As given.
    slack : float
        Differences of H up to this count as none.
    witness : Witness or None
        Where `holds` is False: two products without order, their calibration points and, where one
        was found, a selection rule that exceeds the budget of the natural filter.
    """

    holds: bool | None
    reason: str
    steps: int
    slack: float = 0.0
    witness: Witness | None = None


def blackwell_chain(family: Sequence[Member], *, steps: int, slack: float = 1e-10) -> ChainTest:
    """Test whether the family generates a Blackwell chain over `steps` adaptive steps.

    Ids and common factors drop out [Tran26, Proposition A.13], and products whose factors are
    ordered one by one need no numbers; what is left is compared through proven bounds on both
    sides. Cost: up to 400 comparisons, of polygons in milliseconds and of profiles in tenths of a
    second each.

    Parameters
    ----------
    family
        Profiles, trade-off functions (as given, whatever they bound) or Gaussian ones.
    steps
        How many adaptive steps.
    slack
        Differences of H up to this count as none.

    Returns
    -------
    ChainTest
        Whether it does, and why.

    Examples
    --------
    >>> import hockeystick as hs
    >>> hs.fdp.blackwell_chain([hs.fdp.gdp(0.1), hs.fdp.gdp(2.0)], steps=100).holds
    True
    >>> one = hs.fdp.from_pmfs([0.6, 0.4], [0.4, 0.6])
    >>> leak = hs.fdp.from_pmfs([0.9, 0.1, 0.0], [0.9, 0.0, 0.1])
    >>> hs.fdp.blackwell_chain([one, leak], steps=3).reason
    'member 0 and member 1 are not ordered'
    """
    steps = check.positive_integer("steps", steps)
    slack = check.positive("slack", slack)
    members = tuple(family)
    if not members:
        raise InvalidParameter("family", "at least one mechanism", family)
    if not all(isinstance(one, Member) for one in members):
        raise InvalidParameter("family", "made of profiles and trade-off functions", family)
    known = _recognised(members, steps)
    if known is not None:
        return ChainTest(True, known, steps)
    products = products_of(members, slack=slack)
    comparison = Comparison(products, slack=slack)
    factors, complete = _affordable(len(members), steps - 1)
    undecided: tuple[Counts, Counts] | None = None
    for one, other in _pairs(len(members), factors):
        verdict = comparison.of(one, other)
        if verdict is Verdict.CROSSING:
            witness = witness_of(products, one, other, slack=slack)
            return ChainTest(False, _crossing(one, other), steps, slack, witness)
        if verdict is Verdict.UNDECIDED and undecided is None:
            undecided = (one, other)
    holds: bool | None = None
    if undecided is not None:
        text = f"{_text(undecided[0])} and {_text(undecided[1])} could not be told apart or ordered"
    elif not complete:
        text = f"products of {factors} or fewer are ordered; of {steps - 1} there are too many"
    else:
        holds, text = (
            True,
            f"every pair of products is ordered, differences of H up to {slack:g} aside",
        )
    return ChainTest(holds, text, steps, slack)


def _recognised(members: tuple[Member, ...], steps: int) -> str | None:
    """Why the family is a chain without a number being compared, or None."""
    if steps == 1:
        return SHORT
    profiles = [one for one in members if isinstance(one, Profile)]
    gaussian = [one for one in profiles if one.expression.family == "gaussian"]
    gaussian_count = len(gaussian) + sum(isinstance(one, GaussianTradeOff) for one in members)
    if gaussian_count == len(members):
        return GAUSSIAN
    if all(one is members[0] for one in members):
        return POWERS
    if len(profiles) == len(members) and _one_base(profiles):
        return POWERS
    return None


def _one_base(profiles: Sequence[Profile]) -> bool:
    """Whether all profiles are powers of one expression, in one direction."""
    expressions = [one.expression for one in profiles]
    if all(one.sampled() is not one for one in expressions):
        expressions = [one.sampled() for one in expressions]
    factors = [one.factors() for one in expressions]
    return all(len(one) == 1 and one[0][0] == factors[0][0][0] for one in factors)


def _affordable(members: int, factors: int) -> tuple[int, bool]:
    """How many factors can be compared in full, and whether that is all of them."""
    affordable = 1
    while affordable < factors:
        # Counting stops as soon as there are too many.
        pairs = _pairs(members, affordable + 1)
        if sum(1 for _, _ in zip(pairs, range(MOST_PAIRS + 1), strict=False)) > MOST_PAIRS:
            return affordable, False
        affordable += 1
    return affordable, True


def _pairs(members: int, factors: int) -> Iterator[tuple[Counts, Counts]]:
    """Pairs of products of up to `factors` members without a common one, the shortest first."""
    everyone = range(members)
    for total in range(2, 2 * factors + 1):
        for size in range(max(1, total - factors), total // 2 + 1):
            for one in combinations_with_replacement(everyone, size):
                others = [k for k in everyone if k not in one]
                for other in combinations_with_replacement(others, total - size):
                    if size < total - size or one < other:
                        yield _counts(one, members), _counts(other, members)


def _counts(indices: tuple[int, ...], members: int) -> Counts:
    return tuple(np.bincount(indices, minlength=members).tolist())


def _crossing(one: Counts, other: Counts) -> str:
    return f"{_text(one)} and {_text(other)} are not ordered"


def _text(counts: Counts) -> str:
    """A product in words: members are numbered from 0, as in the family."""
    factors = [
        f"member {k}" + (f" {count} times" if count > 1 else "")
        for k, count in enumerate(counts)
        if count
    ]
    return "the product of " + " and ".join(factors) if len(factors) > 1 else factors[0]

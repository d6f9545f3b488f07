"""Random allocation: in every block of steps a fresh uniform set of participations.

One pick out of t: the likelihood ratio is the average of t independent copies of the step's
(random_allocation, Lemma 3.1). Several picks: draw a uniformly random partition of the block into
one part per pick and pick one step in each part. That is a uniform set of steps, and revealing the
partition, which does not depend on the data, can only help the adversary; so the block is dominated
by one allocation per part, composed (Lemma 3.11, with part sizes that differ by at most one). This
is an upper bound only: see the errata.
"""

from __future__ import annotations

from functools import reduce
from typing import cast

from hockeystick.pairs.registry import DominatingPair, Step, pair_of
from hockeystick.plan import Plan
from hockeystick.profile import Profile
from hockeystick.sampling import RandomAllocation

__all__ = ["random_allocation"]


@pair_of(RandomAllocation)
def random_allocation(plan: Plan, step: Step) -> DominatingPair:
    """Full blocks composed, and what is left of a truncated last block."""
    scheme = cast("RandomAllocation", plan.sampling)
    once = step(1.0)
    blocks, rest = divmod(plan.steps, scheme.out_of)
    parts = []
    if blocks:
        parts.append(_block(once, scheme.picks, scheme.out_of).self_compose(blocks))
    if rest:
        parts.append(_truncated(once, scheme, rest))
    everywhere = scheme.picks in (1, scheme.out_of)
    return DominatingPair(reduce(Profile.compose, parts), tight=everywhere)


def _block(step: Profile, picks: int, out_of: int) -> Profile:
    """`picks` parallel allocations over parts of ceiling and floor length."""
    short, longer = divmod(out_of, picks)
    pieces = [step.allocate(short).self_compose(picks - longer)]
    if longer:
        pieces.append(step.allocate(short + 1).self_compose(longer))
    return reduce(Profile.compose, pieces)


def _truncated(step: Profile, scheme: RandomAllocation, rest: int) -> Profile:
    """The first `rest` steps of a block.

    One pick: it falls inside with probability rest/out_of, and is uniform there. All picks: every
    step takes part. Otherwise the whole block, of which the truncated one is a post-processing.
    """
    if scheme.picks == 1:
        return step.allocate(rest).subsample(rest / scheme.out_of)
    if scheme.picks == scheme.out_of:
        return step.self_compose(rest)
    return _block(step, scheme.picks, scheme.out_of)

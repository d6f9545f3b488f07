"""`gram`: Gram matrices with Markov structure above that of the plan, without sampling.

A uniform mixture of Gaussians whose Gram matrix is larger, in an order that allows both larger
entries and a positive semidefinite difference, dominates in both directions (docs/gram.md). With
independent noise the matrix is diagonal and nothing has to be enlarged.

One search for a majorant serves both directions, and every request of a plan: laws that were
computed are kept. What is kept only saves time: every request has the same answer, whatever was
requested before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property, reduce

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick._numerics.mixed_ratio import rate_of_counts
from hockeystick.analyses.gram.order.groups import highest_block, separated_blocks
from hockeystick.analyses.gram.search import SETTINGS, GramSettings
from hockeystick.analyses.gram.search.candidates import Majorants
from hockeystick.analyses.gram.search.evaluation import Found, GramQuery
from hockeystick.analyses.gram.search.lower import LowerSearch
from hockeystick.analyses.gram.search.upper import UpperSearch
from hockeystick.analyses.method import Method, Request
from hockeystick.bounds import Bound, UpperBound
from hockeystick.bounds.combined import RemoveDecides, subsampled
from hockeystick.bounds.profiles import DeltaCurve, ProfileBound, profile_of_deltas
from hockeystick.guarantee import Analysis
from hockeystick.plan import Plan
from hockeystick.profile import Profile
from hockeystick.profile.expressions.mechanisms import GaussianPair
from hockeystick.profile.resolution import Direction
from hockeystick.schemes.capabilities import offered
from hockeystick.schemes.pairs import dominating_pair, missing_pair

__all__ = ["METHOD", "BlockBound", "GramBound"]

# Beyond this largest entry sums of e to states leave floating point, and the participation of the
# example can hardly be hidden: its bin may as well be revealed.
LARGEST_SIGNAL = 150.0
# How the bound of the longest mean alone is called.
REVEALED_BIN = "revealed bin"


class GramBound(Bound):
    """Both directions, upper and lower, of a uniform mixture of Gaussians with the given kernel.

    Parameters
    ----------
    gram
        The inner products of the means over sigma^2; or bounds on them by the distance of the bins,
        a vector, which give upper bounds only.
    budget
        Elementary operations for 100 bins; more bins get more, up to a multiple.
    settings
        What the search tries; any settings give valid bounds.
    """

    def __init__(self, gram: FloatArray, budget: float, settings: GramSettings = SETTINGS) -> None:
        self._gram = gram
        self._settings = settings
        self._budget = budget

    def epsilon(
        self, delta: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """From the best majorant for this delta."""
        query = GramQuery(delta, None, self._settings.tail * delta)
        return self._answer(query, directions)

    def delta(
        self, epsilon: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """From the best majorant for this epsilon."""
        settings = self._settings
        for tail in settings.tails_of_delta:
            found = self._answer(GramQuery(None, epsilon, tail), directions)
            if tail <= settings.tail_slack * settings.tail * found.value:
                break
        return found

    def as_profile(self) -> Profile:
        """The convex envelope of the bounds at many epsilons, in both directions."""
        if self._low_noise:
            return self._revealed_bin
        return profile_of_deltas(self._delta_curve("remove"), self._delta_curve("add"))

    def _answer(self, query: GramQuery, directions: Sequence[Direction]) -> UpperBound:
        """The worst direction; never above the bound with a revealed bin."""
        settings, details = self._settings, {"majorant": REVEALED_BIN}
        coarse = settings.profile_accuracy
        revealed = query.bounds_of(self._revealed_bin, directions, coarse).upper
        if self._low_noise:
            return UpperBound(revealed, details=details, find_lower=lambda: 0.0)

        def lower() -> float | None:
            if self._lower is None:
                return None
            tail = settings.tails_of_delta[1] if query.delta is None else query.tail
            return self._lower.best(query._replace(tail=tail), directions)

        worst = self._search.worst(query, directions)
        if worst.value > revealed:
            return UpperBound(revealed, details=details, find_lower=lower)
        return UpperBound(worst.value, worst.direction, _details(worst), lower)

    @cached_property
    def _revealed_bin(self) -> Profile:
        """The Gaussian mechanism of the longest mean: dominates whichever bin it is."""
        return Profile(GaussianPair(math.sqrt(float(self._gram.max()))))

    @property
    def _low_noise(self) -> bool:
        """Whether lattices would leave floating point."""
        return float(self._gram.max()) > LARGEST_SIGNAL

    @cached_property
    def _search(self) -> UpperSearch:
        return UpperSearch(Majorants(self._gram, self._settings), self._budget, self._settings)

    @cached_property
    def _lower(self) -> LowerSearch | None:
        settings = self._settings
        if self._gram.ndim == 1:
            return None
        return LowerSearch(self._gram, settings.lower_work * self._budget, settings)

    def _delta_curve(self, direction: Direction) -> DeltaCurve:
        """The smallest bounds of the majorants that are best at a few deltas."""
        settings = self._settings
        smallest, accuracy = settings.smallest_delta, settings.profile_accuracy
        queries = [
            GramQuery(delta, None, settings.tail * smallest) for delta in settings.profile_deltas
        ]
        readings = [self._search.reading(one, direction) for one in queries]
        revealed, ends = self._revealed_bin, [one.epsilon(smallest) for one in readings]
        only: Sequence[Direction] = (direction,)
        last = revealed.epsilon_bounds(smallest, directions=only, accuracy=accuracy)
        loss = np.linspace(0.0, max(min(*ends, last.upper), 1e-3), settings.corners)
        delta = [
            min(
                revealed.delta_bounds(at, directions=only, accuracy=accuracy).upper,
                *(one.delta(at) for one in readings),
            )
            for at in loss.tolist()
        ]
        return loss, np.array(delta)


def _details(found: Found) -> dict[str, object]:
    """The majorant that decided."""
    mixture = found.candidate.mixture
    return {
        "majorant": found.candidate.name,
        **mixture.memory,
        "common": mixture.common,
        "groups": found.candidate.copies,
        "fineness": found.fineness,
    }


class BlockBound(Bound):
    """Upper bounds for one pick in each block of `length` columns with the given inner products.

    The example adds one column of C for each block of steps. Its trajectories have the Gram matrix
    A G A^T, G that of the columns and A the incidence of steps in trajectories, and a majorant of G
    gives one of A G A^T. If its blocks share nothing, the run is dominated by the composition of
    one mixture over steps for each block (docs/gram.md, "A fresh draw in every block").
    """

    def __init__(
        self, kernel: FloatArray, length: int, budget: float, settings: GramSettings = SETTINGS
    ) -> None:
        self._kernel = kernel
        self._length = length
        self._budget = settings.block_work * budget
        self._settings = settings

    def epsilon(
        self, delta: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """Of the composition."""
        run = ProfileBound(self._profile)
        return run.epsilon(delta, directions=directions, accuracy=accuracy)

    def delta(
        self, epsilon: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """Of the composition."""
        run = ProfileBound(self._profile)
        return run.delta(epsilon, directions=directions, accuracy=accuracy)

    def as_profile(self) -> Profile:
        """The composition of all blocks."""
        return self._profile

    @cached_property
    def _profile(self) -> Profile:
        """One kernel above those of all whole blocks; a partial block is subsampled."""
        settings = self._settings
        blocks = separated_blocks(
            self._kernel, self._length, levels=settings.levels, far=settings.far_blocks
        )
        count = self._kernel.shape[0] // self._length
        parts = [
            self._one(highest_block(alike)).self_compose(len(alike))
            for alike in _groups(blocks[:count], settings.few_blocks)
        ]
        rests = [
            self._one(rest).subsample(rate_of_counts(rest.shape[0], self._length))
            for rest in blocks[count:]
        ]
        return reduce(Profile.compose, parts + rests)

    def _one(self, block: FloatArray) -> Profile:
        return GramBound(block, self._budget, self._settings).as_profile()


def _groups(blocks: list[FloatArray], few: int) -> list[list[FloatArray]]:
    """All in one, or where they are few the two ends apart from the others.

    The others compensate for neighbours on both sides. The order of the steps in a block does not
    matter: the first one may be reversed, so that both ends compensate in the same place.
    """
    if len(blocks) > few:
        return [blocks]
    first, last = blocks[0], blocks[-1]
    aligned = min((first, first[::-1, ::-1]), key=lambda one: float(np.maximum(one, last).sum()))
    ends = [aligned, last] if len(blocks) > 1 else blocks
    return [group for group in (ends, blocks[1:-1]) if group]


# Matrices of up to so many means are computed in full: an eighth of a gigabyte. Of more, bounds by
# distance are enough for a single mixture.
MOST_MEANS = 4_000


def _condition(plan: Plan) -> str | None:
    blocks = offered(plan.sampling.mixture_blocks(plan))
    if blocks.means <= MOST_MEANS:
        return None
    if not blocks.single:
        return f"it compares all steps, of which there may be at most {MOST_MEANS:,}"
    if plan.strategy.coefficients is None:
        return (
            "it compares all bins, of which there may be at most "
            f"{MOST_MEANS:,} unless the strategy is Toeplitz"
        )
    return None


def _analyse(request: Request) -> Analysis:
    """O(log bins) beside what a group of bins takes; a dozen majorants for each number."""
    if missing_pair(request.plan) is None:
        pair = dominating_pair(request.plan, request.noise_multiplier)
        return Analysis(METHOD.name, METHOD.kind, ProfileBound(pair.profile, exact=pair.tight))
    return Analysis(METHOD.name, METHOD.kind, _bound(request))


def _bound(request: Request) -> Bound:
    """One mixture, or one for each block of steps, composed."""
    assert request.noise_multiplier is not None
    blocks = offered(request.plan.sampling.mixture_blocks(request.plan))
    noise, budget = request.noise_multiplier, request.budget
    if not blocks.single:
        return BlockBound(blocks.kernel(noise), blocks.length, budget)
    few = blocks.means <= MOST_MEANS
    gram = blocks.kernel(noise) if few else blocks.by_distance(noise)
    bound = subsampled(GramBound(gram, budget), blocks.share)
    return RemoveDecides(bound, add={"majorants": bound})


METHOD = Method(
    name="gram",
    kind="proven",
    summary="a larger Gram matrix with Markov structure, computed without sampling",
    analyse=_analyse,
    needs=("mixture_blocks",),
    condition=_condition,
    second_to=("profile",),
)

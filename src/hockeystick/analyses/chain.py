"""`chain`: a replaced example is one that is removed and another one that is added."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from hockeystick._numerics.search import minimize_on_interval
from hockeystick.analyses.method import Method, Request
from hockeystick.bounds import Bound, Query, UpperBound, evaluate
from hockeystick.guarantee import Analysis
from hockeystick.plan import Plan
from hockeystick.profile import Profile
from hockeystick.profile.resolution import BOTH, Direction

__all__ = ["METHOD", "ChainedBound"]

# How finely a loss, or the logit of a share of delta, is divided between the two members of the
# chain: any division is valid, and near the best one the bound is flat.
TOLERANCE = 0.05
# Numbers of analyses that are not exact take longer, and few divisions are tried. With k =
# -d epsilon / d log delta of the two members the best logit is log(k / k' (1 + k')), mostly
# between 0 and 1; losses are divided in proportion to the members' own, and a little aside.
FEW_LOGITS, ASIDE = (0.5,), (-0.04, 0.0, 0.04)
# Shares of delta between e^-6 and 1 - e^-6 are searched.
LARGEST_LOGIT = 6.0
# Deltas below this are not asked for.
SMALLEST_DELTA = 1e-250
# Where the best analysis for a profile is chosen.
TYPICAL_DELTA = 1e-5


@dataclass(frozen=True, eq=False)
class ChainedBound(Bound):
    """From P over the run M without either example to Q.

    P <= e^a M + d and M <= e^b Q + d' give P <= e^(a+b) Q + d + e^a d', for every division of
    epsilon into a + b: the trade-off functions put into each other [DongRothSu22]. Both orders of
    the two data sets have the same bound. Lower bounds are those of one example that is added or
    removed: an example whose gradient is zero may replace another one.
    """

    analyses: tuple[Analysis, ...]
    deciding: dict[Direction, tuple[Analysis, ...]] = field(default_factory=dict)

    def epsilon(
        self, delta: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """The smallest sum of two losses over the shares of delta that were tried."""

        def total(logit: float) -> float:
            share = 1 / (1 + math.exp(-logit))
            first = self._of("remove", accuracy, delta=share * delta)
            rest = (1 - share) * delta * math.exp(-first) if math.isfinite(first) else 0.0
            if not rest >= SMALLEST_DELTA:
                return math.inf
            return first + self._of("add", accuracy, delta=rest)

        if self.analyses[0].tight:
            end = LARGEST_LOGIT
            best = total(minimize_on_interval(total, -end, end, tolerance=TOLERANCE))
        else:
            best = min(total(logit) for logit in FEW_LOGITS)
        query = Query(delta, None, BOTH, accuracy)
        return UpperBound(best, find_lower=lambda: evaluate(query, self.analyses).lower)

    def delta(
        self, epsilon: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """The smallest sum over the divisions of epsilon that were tried."""

        def total(first: float) -> float:
            removed = self._of("remove", accuracy, epsilon=first)
            return removed + math.exp(first) * self._of("add", accuracy, epsilon=epsilon - first)

        if epsilon == 0:
            best = total(0.0)
        elif self.analyses[0].tight:
            tolerance = TOLERANCE * min(epsilon, 1.0) / 4
            best = total(minimize_on_interval(total, 0.0, epsilon, tolerance=tolerance))
        else:
            share = self._share_of_removing(accuracy)
            shares = {min(max(share + aside, 0.0), 1.0) for aside in ASIDE}
            best = min(total(one * epsilon) for one in shares)
        query = Query(None, epsilon, BOTH, accuracy)
        return UpperBound(min(1.0, best), find_lower=lambda: evaluate(query, self.analyses).lower)

    def _share_of_removing(self, accuracy: float) -> float:
        """Of both losses at a usual delta."""
        removed, added = (self._of(direction, accuracy, delta=TYPICAL_DELTA) for direction in BOTH)
        whole = removed + added
        return removed / whole if 0 < whole < math.inf else 0.5

    def as_profile(self) -> Profile:
        """The chain of the profile of the analysis that is best at a usual delta."""
        query = Query(TYPICAL_DELTA, None, BOTH, 0.01)
        profile = evaluate(query, self.analyses).analysis.bound.as_profile()
        return profile.chain(profile.reverse())

    def _of(
        self,
        direction: Direction,
        accuracy: float,
        *,
        delta: float | None = None,
        epsilon: float | None = None,
    ) -> float:
        """The best number for one direction; after the first one, of the analysis that gave it."""
        query = Query(delta, epsilon, (direction,), accuracy)
        found = evaluate(query, self.deciding.get(direction, self.analyses))
        self.deciding.setdefault(direction, (found.analysis,))
        return found.best.value


def _analyses(request: Request) -> tuple[Analysis, ...]:
    """The proven analyses of the same run for an example that is added or removed."""
    from hockeystick.analyses import METHODS

    plan = replace(request.plan, adjacency="add-remove")
    asked = request._replace(plan=plan)
    fitting = {
        name: one
        for name, one in METHODS.items()
        if one.kind == "proven" and one.objection(plan) is None and one.cost(plan) <= request.budget
    }
    best = [one for one in fitting.values() if not set(one.second_to) & set(fitting)]
    found = [one.run(asked) for one in best]
    return tuple(sorted(found, key=lambda one: not one.tight))


def _condition(plan: Plan) -> str | None:
    """Some proven analysis has to apply to the run with an example that is added or removed."""
    from hockeystick.analyses import METHODS

    other = replace(plan, adjacency="add-remove")
    if any(one.kind == "proven" and one.objection(other) is None for one in METHODS.values()):
        return None
    return "no proven method applies with adjacency=add-remove either"


def _analyse(request: Request) -> Analysis:
    """Valid for every scheme and mechanism that has a proven bound; about twenty times its cost."""
    return Analysis(METHOD.name, METHOD.kind, ChainedBound(_analyses(request)))


METHOD = Method(
    name="chain",
    kind="proven",
    summary="a replaced example: one is removed and another one added, two bounds in a chain",
    analyse=_analyse,
    condition=_condition,
    second_to=("profile",),
    relations=("replace-one",),
)

"""`known-participation`: the mean over the sampling of what a Gaussian mechanism leaks.

All Bernoulli draws are revealed, also those of others, so that it does not matter whether others
reveal them through what they contribute. See mathematics.md, "Known participation".
The pair is Gaussian noise on a shift whose length is random and revealed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce

import numpy as np

from hockeystick._numerics.gaussian import (
    LARGE_MU,
    LARGEST_ARGUMENT,
    LEGENDRE_NODES,
    LEGENDRE_WEIGHTS,
    SMALL_MU,
    argument_error,
    erfcx,
    formula_error,
    gaussian_cells,
    log_ndtr,
)
from hockeystick._numerics.law import FloatArray, Law, Resolution, Side
from hockeystick._numerics.moments import PowerMoments, rounded_up
from hockeystick._numerics.rounding import law_from_cells, mixture
from hockeystick.analyses.method import Method, Request
from hockeystick.bounds.profiles import ProfileBound
from hockeystick.guarantee import Analysis
from hockeystick.plan import Plan
from hockeystick.profile import Profile
from hockeystick.profile.expressions import Expression
from hockeystick.profile.expressions.mechanisms import GaussianPair
from hockeystick.schemes.capabilities import Participant, offered
from hockeystick.schemes.pairs import too_many_steps

__all__ = [
    "METHOD",
    "RevealedCounts",
]


@dataclass(frozen=True)
class RevealedCounts(Expression):
    """(T, N(mu, 1)) against (T, N(0, 1)) with mu = min(length * sqrt(T), longest).

    T counts how much the participant takes part. Its law is computed when it is needed, in at
    most about so many operations.
    """

    participant: Participant
    length: float
    longest: float
    operations: float

    @property
    def closed_form_error(self) -> float:
        """Relative error of the closed form in floating point."""
        return formula_error(self.longest)

    @property
    def argument_error(self) -> float:
        """Relative error of epsilon in the closed form."""
        return argument_error(self.longest)

    def law(self, side: Side, resolution: Resolution) -> Law:
        """Cells between common losses, taken from Gaussians at most a factor of two apart.

        What takes no part is an atom at loss 0.
        """
        staying_out, shifts, weights = self._members()
        levels = max(1, math.ceil(math.log2(shifts[-1] / shifts[0])) + 1)
        typical = np.geomspace(shifts[0], shifts[-1], levels)
        laws = [GaussianPair(float(mu)).law(side, resolution) for mu in typical]
        nodes = np.unique(np.concatenate([law.loss for law in laws]))
        log_p = np.full(nodes.size + 1, -np.inf)
        log_q = log_p.copy()
        with np.errstate(divide="ignore"):
            for mu, weight in zip(shifts, weights, strict=True):
                cells = gaussian_cells(mu, nodes / mu + mu / 2)
                np.logaddexp(log_p, math.log(weight) + cells[0], out=log_p)
                np.logaddexp(log_q, math.log(weight) + cells[1], out=log_q)
        still = Law(np.zeros(1), np.array([staying_out]), np.array([staying_out]))
        return mixture([law_from_cells(nodes, log_p, log_q, side), still])

    def closed_form(self, epsilon: float, *, reverse: bool) -> float | None:
        """The mean of the closed forms; each is symmetric, so both directions are equal."""
        staying_out, shifts, weights = self._members()
        apart = staying_out * max(-math.expm1(epsilon), 0.0) if epsilon < 0 else 0.0
        return apart + _mean_gaussian_delta(shifts, weights, epsilon)

    def power_moments(self, largest: int, *, reverse: bool, resolution: Resolution) -> PowerMoments:
        """The mean of e^(m (m - 1) mu^2 / 2), in both directions."""
        staying_out, shifts, weights = self._members()
        m = np.arange(largest + 1.0)
        total = np.full(m.size, math.log(staying_out) if staying_out > 0 else -np.inf)
        for mu, weight in zip(shifts, weights, strict=True):
            np.logaddexp(total, math.log(weight) + m * (m - 1) * (mu**2 / 2), out=total)
        return PowerMoments(rounded_up(total))

    def gaussian_mu(self) -> float:
        """The longest shift: a mixture needs no larger one."""
        return self.longest

    def _members(self) -> tuple[float, FloatArray, FloatArray]:
        """The probability of taking no part, and shifts with those of the others."""
        from hockeystick.analyses.known_participation.counts import count_law

        values, weights = count_law(self.participant, operations=self.operations)
        shifts = np.minimum(self.length * np.sqrt(values[1:]), self.longest)
        return float(weights[0]), shifts, weights[1:]


def _mean_gaussian_delta(mu: FloatArray, weights: FloatArray, epsilon: float) -> float:
    """The sum of weights times `gaussian_delta`, which says what is computed for each mu."""
    a = mu / 2 - epsilon / mu
    near = (mu < SMALL_MU) & (np.abs(a) < LARGEST_ARGUMENT)
    delta = np.empty(mu.size)
    delta[near] = _by_integral(mu[near], a[near])
    large = mu >= LARGE_MU
    delta[large] = np.exp(log_ndtr(a[large]))
    far = ~near & ~large
    delta[far] = _by_difference(mu[far], a[far], epsilon)
    return math.fsum(weights * delta)


def _by_integral(mu: FloatArray, a: FloatArray) -> FloatArray:
    t = (a - mu / 2)[:, None] + (mu / 2)[:, None] * LEGENDRE_NODES
    mills = math.sqrt(math.pi / 2) * erfcx(-t / math.sqrt(2))
    density = np.exp(-(a**2) / 2) / math.sqrt(2 * math.pi)
    found: FloatArray = density * mu / 2 * ((1 + t * mills) @ LEGENDRE_WEIGHTS)
    return found


def _by_difference(mu: FloatArray, a: FloatArray, epsilon: float) -> FloatArray:
    first = log_ndtr(a)
    second = epsilon + log_ndtr(a - mu)
    with np.errstate(invalid="ignore"):
        found = -np.exp(first) * np.expm1(np.minimum(second - first, 0.0))
    return np.where(np.exp(first) > 0, found, 0.0)


# Each number of examples of a user is one law of participation: 32 of them take
# four seconds for 2,000 steps.
MOST_EXAMPLES = 32
# Operations of a law of participation, in budgets: it is computed once for all noise levels, from
# additions and multiplications alone.
BUDGETS = 10.0


def _condition(plan: Plan) -> str | None:
    scheme = plan.sampling
    if plan.mechanism is not None:
        return "it needs the Gaussian mechanism"
    if plan.strategy.bands > scheme.least_gap:
        return f"columns of participations must not overlap: at most {scheme.least_gap} bands"
    if scheme.most_copies > MOST_EXAMPLES:
        return f"it takes at most {MOST_EXAMPLES} examples of a user"
    return too_many_steps(plan)


def _analyse(request: Request) -> Analysis:
    """The worst over the numbers of examples.

    Columns of two participations do not meet, so the squared length of the shift is the sum of
    |c_i|^2 times squared copies, at most the longest |c|^2 times the sum of squared copies, and
    never more than the worst pattern has.
    """
    plan, noise_multiplier = request.plan, request.noise_multiplier
    assert noise_multiplier is not None
    scheme = plan.sampling
    sensitivity = plan.strategy.sensitivity(
        separation=scheme.least_gap, participations=scheme.most_participations(plan.steps)
    )
    participants = list(offered(scheme.participants(plan)))
    length = float(plan.strategy.column_norms.max()) / noise_multiplier
    longest = sensitivity / noise_multiplier
    pairs = [
        Profile(
            RevealedCounts(
                participant=one,
                length=length,
                longest=longest * (len(one.copy_probabilities) - 1),
                operations=BUDGETS * request.budget / len(participants),
            )
        )
        for one in participants
    ]
    return Analysis(METHOD.name, METHOD.kind, ProfileBound(reduce(Profile.maximum, pairs)))


METHOD = Method(
    name="known-participation",
    kind="proven",
    summary="participation known but random: the mean of Gaussian mechanisms, no amplification",
    analyse=_analyse,
    needs=("participants",),
    condition=_condition,
)

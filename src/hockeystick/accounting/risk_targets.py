"""Calibration to an attacker's success in the place of (epsilon, delta)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from hockeystick import _validate as check
from hockeystick.accounting import account
from hockeystick.accounting.noise_search import Calibration, Start, first_guess, noise_secant
from hockeystick.analyses import Method
from hockeystick.errors import InvalidParameter
from hockeystick.guarantee import Guarantee
from hockeystick.montecarlo import MonteCarlo
from hockeystick.plan import Accountable
from hockeystick.profile import DEFAULT_ACCURACY, Profile

__all__ = ["RiskTarget", "noise_for_risk", "risk_target"]

# The first noise is that of a Gaussian mechanism with the wanted risk, by its epsilon at this
# delta; only the start of the search depends on it.
GUESS_DELTA = 1e-5


@dataclass(frozen=True)
class RiskTarget:
    """A wanted bound on what an attacker achieves.

    Attributes
    ----------
    excess
        What is above chance at a guarantee, and falls with the noise.
    largest
        The largest excess that is wanted.
    mu
        The Gaussian mechanism that has it.
    implied
        An (epsilon, delta) with which a guarantee meets the target.
    """

    excess: Callable[[Guarantee], float]
    largest: float
    mu: float
    implied: Callable[[Guarantee], tuple[float, float]]

    @property
    def guess(self) -> tuple[float, float]:
        """An (epsilon, delta) near which the noise is sought."""
        gaussian = Profile.gaussian(noise_multiplier=1 / self.mu)
        return max(gaussian.epsilon(GUESS_DELTA), 1e-6), GUESS_DELTA


def risk_target(
    *,
    advantage: float | None,
    true_positive_rate: float | None,
    false_positive_rate: float | None,
    bayes_risk: float | None,
    prior: float | None,
) -> RiskTarget | None:
    """The target that was given; None if there is none.

    Raises
    ------
    InvalidParameter
        If several are given, or half of one, or one that holds without noise.
    """
    given = {
        "advantage": advantage,
        "true_positive_rate": true_positive_rate,
        "false_positive_rate": false_positive_rate,
        "bayes_risk": bayes_risk,
        "prior": prior,
    }
    names = tuple(name for name, value in given.items() if value is not None)
    if not names:
        return None
    if names == ("advantage",):
        return _advantage(check.small_probability("advantage", advantage))
    if names == ("true_positive_rate", "false_positive_rate"):
        return _detection(
            check.small_probability("true_positive_rate", true_positive_rate),
            check.small_probability("false_positive_rate", false_positive_rate),
        )
    if names == ("bayes_risk", "prior"):
        return _bayes(
            check.small_probability("bayes_risk", bayes_risk),
            check.small_probability("prior", prior),
        )
    allowed = (
        "advantage alone, true_positive_rate with false_positive_rate, or bayes_risk with prior"
    )
    raise InvalidParameter("target", allowed, names)


def _advantage(largest: float) -> RiskTarget:
    """delta(0) at most the advantage."""
    mu = 2 * _normal_quantile((1 + largest) / 2)
    return RiskTarget(Guarantee.advantage, largest, mu, lambda _: (0.0, largest))


def _detection(rate: float, false_rate: float) -> RiskTarget:
    """The true positive rate above the false one."""
    if not rate > false_rate:
        raise InvalidParameter("true_positive_rate", f"above {false_rate:g}", rate)
    mu = _normal_quantile(rate) - _normal_quantile(false_rate)

    def excess(guarantee: Guarantee) -> float:
        return guarantee.true_positive_rate(false_rate) - false_rate

    def implied(guarantee: Guarantee) -> tuple[float, float]:
        # At the best order of the Gaussian mechanism with the same rates.
        epsilon = max(0.0, -mu * _normal_quantile(false_rate) - mu**2 / 2)
        return epsilon, guarantee.delta(epsilon)

    return RiskTarget(excess, rate - false_rate, mu, implied)


def _bayes(risk: float, prior: float) -> RiskTarget:
    """pi (1 - delta(log((1 - pi) / pi))) at least the risk."""
    chance = min(prior, 1 - prior)
    if not risk < chance:
        allowed = f"below {chance:g}, the error of a guess at this prior"
        raise InvalidParameter("bayes_risk", allowed, risk)
    epsilon, largest = math.log((1 - chance) / chance), 1 - risk / chance
    mu = _mu_with_bayes_risk(risk, chance)
    return RiskTarget(lambda g: g.delta(epsilon), largest, mu, lambda _: (epsilon, largest))


def _normal_quantile(probability: float) -> float:
    """Of the standard normal law."""
    from scipy.special import ndtri

    return float(ndtri(probability))


def _mu_with_bayes_risk(risk: float, prior: float) -> float:
    """By bisection: the Bayes risk of N(mu, 1) against N(0, 1) falls with mu."""
    from scipy.special import ndtr

    log_odds = math.log((1 - prior) / prior)
    low, high = 1e-9, 100.0
    for _ in range(60):
        mu = math.sqrt(low * high)
        threshold = mu / 2 + log_odds / mu
        error = prior * ndtr(threshold - mu) + (1 - prior) * ndtr(-threshold)
        low, high = (mu, high) if error > risk else (low, mu)
    return low


def noise_for_risk(
    risk: RiskTarget,
    run: Accountable,
    *,
    method: str | MonteCarlo | Method,
    direction: str,
    accuracy: float,
    start: float | None,
) -> Calibration:
    """The smallest noise with which an attacker's success is what was asked, or less."""
    if isinstance(method, MonteCarlo):
        allowed = "an analysis by name: draws verify one (epsilon, delta)"
        raise InvalidParameter("method", allowed, MonteCarlo.name)
    tried: dict[float, Guarantee] = {}

    def excess(noise: float) -> float:
        tried[noise] = account(
            run, noise_multiplier=noise, method=method, direction=direction, accuracy=accuracy
        )
        return risk.excess(tried[noise])

    epsilon, delta = risk.guess
    near = first_guess(run, epsilon=epsilon, delta=delta) if start is None else Start(start)
    noise = noise_secant(excess, risk.largest, start=near, tolerance=DEFAULT_ACCURACY).noise
    return Calibration(noise, tried[noise], *risk.implied(tried[noise]), len(tried))

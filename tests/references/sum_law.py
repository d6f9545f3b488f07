"""Laws of sums, their divergences, and what they are compared with: quadrature and draws."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import log_ndtr

from hockeystick._numerics.law import Side
from hockeystick.analyses.gram.law import LATTICES, Task
from hockeystick.analyses.gram.law.chain_sums import chain_sum_law
from hockeystick.analyses.gram.law.moving_sums import moving_sum_law

__all__ = [
    "assert_order_two",
    "band",
    "bounds",
    "chain_law",
    "delta",
    "enclosed",
    "exact",
    "moving_law",
    "payoff",
    "ratios",
]


def chain_law(pair, *, remove, side, fineness, tail, lattices=LATTICES):
    """The law of a mixture with one chain or two."""
    return chain_sum_law(Task(pair, remove, side, fineness, tail, lattices))


def moving_law(pair, *, remove, side, fineness, tail, lattices=LATTICES):
    """The law of a moving average."""
    return moving_sum_law(Task(pair, remove, side, fineness, tail, lattices))


def call(variance, strike):
    """E(L - strike)+ for a lognormal L of mean one, without cancellation."""
    sd = math.sqrt(variance)
    with np.errstate(divide="ignore", invalid="ignore"):
        d = (np.log(strike) + variance / 2) / sd
        first = log_ndtr(sd - d)
        value = -np.exp(first) * np.expm1(np.log(strike) + log_ndtr(-d) - first)
    return np.where(strike > 0, value, 1 - strike)


def put(variance, strike):
    """E(strike - L)+, likewise."""
    sd = math.sqrt(variance)
    with np.errstate(divide="ignore", invalid="ignore"):
        d = (np.log(strike) + variance / 2) / sd
        first = np.log(strike) + log_ndtr(d)
        value = -np.exp(first) * np.expm1(log_ndtr(d - sd) - first)
    return np.where(strike > 0, value, 0.0)


def payoff(known, scale, variance, epsilon, *, remove):
    """Expectation of (LR - gamma)+ or (1 - gamma LR)+ for LR = known + scale L."""
    gamma = math.exp(epsilon)
    if remove:
        return scale * call(variance, (gamma - known) / scale)
    return gamma * scale * put(variance, (1 / gamma - known) / scale)


def delta(law, common, epsilon, *, remove):
    """The hockey-stick divergence of a law of sums, with a common factor and the charge."""
    gamma = math.exp(epsilon)
    if common == 0:
        gain = np.maximum(law.s - gamma if remove else 1 - gamma * law.s, 0.0)
        return float(gain @ law.q) + law.charge
    positive = law.s > 0
    gain = np.full(law.s.size, 0.0 if remove else 1.0)
    gain[positive] = payoff(0.0, law.s[positive], common, epsilon, remove=remove)
    return float(gain @ law.q) + law.charge


def bounds(law_of, pair, epsilons, *, remove, fineness=1.0, tail=1e-12, lattices=LATTICES):
    """One row (lower, upper) for each epsilon, from the recursion `law_of`."""
    laws = [
        law_of(pair, remove=remove, side=side, fineness=fineness, tail=tail, lattices=lattices)
        for side in (Side.LOWER, Side.UPPER)
    ]
    return np.array([[delta(law, pair.common, e, remove=remove) for law in laws] for e in epsilons])


def exact(gram, epsilon, *, remove, step=0.05, reach=12.0):
    """Trapezoidal in all normal variables but the last, which is integrated in closed form."""
    bins = len(gram)
    root = np.linalg.cholesky(gram)
    line = np.arange(-reach, reach + 2 * math.sqrt(gram.max()), step)
    z = np.meshgrid(*[line] * (bins - 1), indexing="ij")
    weight = math.prod(np.exp(-v * v / 2) for v in z) * (step / math.sqrt(2 * math.pi)) ** len(z)
    exponents = [sum(root[i, j] * z[j] for j in range(min(i + 1, bins - 1))) for i in range(bins)]
    known = sum(np.exp(exponents[i] - gram[i, i] / 2) for i in range(bins - 1)) / bins
    last = root[-1, -1] ** 2
    scale = np.exp(exponents[-1] - (gram[-1, -1] - last) / 2) / bins
    return float((payoff(known, scale, last, epsilon, remove=remove) * weight).sum())


def enclosed(values, expected, *, slack=1e-9):
    """Whether lower <= expected <= upper in every row, up to floating point."""
    expected = np.asarray(expected)
    return bool(
        np.all(values[:, 0] <= expected * (1 + slack))
        and np.all(values[:, 1] >= expected * (1 - slack))
    )


def ratios(gram, draws, which, *, remove):
    """LR for all draws; removing is simulated with the example present, in bin `which`."""
    bins = len(gram)
    exponents = draws[:, :bins] @ np.linalg.cholesky(gram).T - np.diag(gram) / 2
    if remove:
        exponents += gram[(which * bins).astype(int)]
    return np.exp(exponents).mean(axis=1)


def band(ratio, epsilon, *, remove):
    """A confidence band for the mean of a gain between 0 and 1: empirical Bernstein, e^-18."""
    gamma = math.exp(epsilon)
    gain = np.maximum(1 - gamma / ratio if remove else 1 - gamma * ratio, 0.0)
    half = 6 * gain.std() / math.sqrt(gain.size) + 42 / gain.size
    return gain.mean() - half, gain.mean() + half


def assert_order_two(law, pair, epsilons, *, expected, steps, **options):
    """Halving the steps divides the errors of both sides by nearly four, down to two per cent."""
    errors = [
        np.abs(bounds(law, pair, epsilons, fineness=f, **options) / expected[:, None] - 1)
        for f in steps
    ]
    order = np.log(errors[0] / errors[-1]) / math.log(steps[0] / steps[-1])
    assert np.all(order >= 1.8), order
    assert errors[-1].max() < 0.02

"""Laws of the number of runs K, through their generating function phi(z) = E z^K near z = 1.

A search that makes K runs and keeps the best has at the output y the density phi'(1 - x) dP(y),
where x is the probability that one run is better than y. What is needed of K is therefore

    density(x) = phi'(1 - x)    and    mass(x) = phi(1) - phi(1 - x), its integral from 0 to x,

both written so that small x lose no digits.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from hockeystick._numerics.law import FloatArray

__all__ = ["NegativeBinomialCount", "PoissonCount", "RunCount"]

# Where the parameter of a negative binomial law is sought: means from 1 + 1e-12 to 1e12.
SMALLEST_GAMMA, LARGEST_GAMMA = 1e-14, 1 - 1e-12


class RunCount(ABC):
    """The law of the number of runs."""

    @property
    @abstractmethod
    def mean(self) -> float:
        """E K, the density at x = 0, where it is largest."""

    @abstractmethod
    def log_density(self, x: FloatArray) -> FloatArray:
        """log phi'(1 - x), decreasing in x: the density itself may underflow."""

    def density(self, x: FloatArray) -> FloatArray:
        """phi'(1 - x)."""
        return np.exp(self.log_density(x))

    @abstractmethod
    def mass(self, x: FloatArray) -> FloatArray:
        """phi(1) - phi(1 - x), increasing in x."""

    @abstractmethod
    def where_log_density(self, value: FloatArray) -> FloatArray:
        """The x at which the logarithm of the density has the value."""

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> int:
        """A number of runs."""


@dataclass(frozen=True)
class PoissonCount(RunCount):
    """phi(z) = exp(mean (z - 1)); no run at all with probability exp(-mean)."""

    expected: float

    @property
    def mean(self) -> float:
        """E K."""
        return self.expected

    def log_density(self, x: FloatArray) -> FloatArray:
        """log phi'(1 - x)."""
        return math.log(self.expected) - self.expected * x

    def mass(self, x: FloatArray) -> FloatArray:
        """phi(1) - phi(1 - x)."""
        return -np.expm1(-self.expected * x)

    def where_log_density(self, value: FloatArray) -> FloatArray:
        """The inverse of the logarithm."""
        return (math.log(self.expected) - value) / self.expected

    def draw(self, rng: np.random.Generator) -> int:
        """A Poisson number."""
        return int(rng.poisson(self.expected))


@dataclass(frozen=True)
class NegativeBinomialCount(RunCount):
    """The negative binomial law without 0 [PapernotSteinke22, Definition 1].

    phi'(z) = mean (gamma / (1 - (1 - gamma) z))^(shape + 1). Shape 1 is the geometric law, shape 0
    the logarithmic one; the smaller the shape, the heavier the tail.
    """

    shape: float
    gamma: float

    @classmethod
    def with_mean(cls, mean: float, *, shape: float) -> NegativeBinomialCount:
        """The member with this mean, above 1."""
        gamma = brentq(
            lambda gamma: math.log(cls(shape, gamma).mean / mean),
            SMALLEST_GAMMA,
            LARGEST_GAMMA,
            xtol=1e-300,
            rtol=1e-14,
        )
        return cls(shape, float(gamma))

    @property
    def mean(self) -> float:
        """E K."""
        gamma, shape = self.gamma, self.shape
        if shape == 0:
            return (1 - gamma) / (gamma * -math.log(gamma))
        return shape * (1 - gamma) / (gamma * -math.expm1(shape * math.log(gamma)))

    def _stretch(self, x: FloatArray) -> FloatArray:
        """(1 - gamma) x / gamma, by which the base of the power grows."""
        return (1 - self.gamma) / self.gamma * x

    def log_density(self, x: FloatArray) -> FloatArray:
        """log phi'(1 - x)."""
        return math.log(self.mean) - (self.shape + 1) * np.log1p(self._stretch(x))

    def mass(self, x: FloatArray) -> FloatArray:
        """phi(1) - phi(1 - x)."""
        logs = np.log1p(self._stretch(x))
        integral = logs if self.shape == 0 else -np.expm1(-self.shape * logs) / self.shape
        return self.mean * self.gamma / (1 - self.gamma) * integral

    def where_log_density(self, value: FloatArray) -> FloatArray:
        """The inverse of the logarithm."""
        stretch = np.expm1((math.log(self.mean) - value) / (self.shape + 1))
        return stretch * self.gamma / (1 - self.gamma)

    def draw(self, rng: np.random.Generator) -> int:
        """A number of at least 1: geometric, logarithmic, or negative binomial until not 0."""
        if self.shape == 1:
            return int(rng.geometric(self.gamma))
        if self.shape == 0:
            return int(rng.logseries(1 - self.gamma))
        while True:
            count = int(rng.negative_binomial(self.shape, self.gamma))
            if count > 0:
                return count

"""Strategy: the matrix C that correlates the noise, and what every factorization offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hockeystick._numerics.law import FloatArray
from hockeystick._validate import choice, positive, positive_integer, storable
from hockeystick.errors import InvalidParameter
from hockeystick.randomness import Key, RandomSource
from hockeystick.strategies.columns import Sensitivity, summed_columns
from hockeystick.strategies.noise import ARITHMETICS, NoiseStream, refuse_unbanded
from hockeystick.strategies.pieces import Coordinates
from hockeystick.strategies.recurrence import Recurrence
from hockeystick.strategies.workloads import Workload

__all__ = ["Strategy", "bands_within"]


class Strategy(ABC):
    """A lower-triangular matrix C with non-negative entries and a positive diagonal, as it stands.

    Training adds C^-1 Z instead of Z; privacy is that of releasing C G + Z for the gradients G. The
    analyses rest on the two properties, so they are checked wherever a strategy is made.

    Attributes
    ----------
    name
        The factorization's name, in kebab-case.
    steps
        The number of updates, the size of C.
    parameters
        The factorization's parameters, ready for JSON.

    Examples
    --------
    >>> import hockeystick as hs
    >>> strategy = hs.strategies.from_coefficients([1.0, 0.5], steps=3)
    >>> strategy.to_matrix()
    array([[1. , 0. , 0. ],
           [0.5, 1. , 0. ],
           [0. , 0.5, 1. ]])
    >>> strategy.bands, strategy.inverse_bands
    (2, 3)
    >>> strategy.max_squared_error()
    1.8125
    """

    name: str
    steps: int
    parameters: Mapping[str, object]

    @property
    @abstractmethod
    def coefficients(self) -> FloatArray | None:
        """The first `bands` entries of the first column if C is Toeplitz, otherwise None."""

    @property
    @abstractmethod
    def inverse_coefficients(self) -> FloatArray | None:
        """The first `inverse_bands` entries of C^-1's first column if C is Toeplitz."""

    @property
    @abstractmethod
    def is_identity(self) -> bool:
        """Whether C = I, so that the noise is independent."""

    @property
    @abstractmethod
    def bands(self) -> int:
        """The bandwidth of C: entries further below the diagonal are zero."""

    @property
    @abstractmethod
    def inverse_bands(self) -> int:
        """The bandwidth of C^-1."""

    @property
    @abstractmethod
    def column_norms(self) -> FloatArray:
        """Euclidean length of each column."""

    @abstractmethod
    def squared_errors(self, workload: Workload = None) -> FloatArray:
        """Squared length of each row of A C^-1: the variance of each iterate, for Z of variance 1.

        Parameters
        ----------
        workload
            A: `iterates`, or the coefficients of a Toeplitz matrix; prefix sums by default.

        Returns
        -------
        numpy.ndarray
            One number for each step.
        """

    @abstractmethod
    def to_matrix(self) -> FloatArray:
        """C in full, a copy."""

    @abstractmethod
    def inverse_matrix(self) -> FloatArray:
        """C^-1 in full."""

    @property
    @abstractmethod
    def recurrence(self) -> Recurrence:
        """How the noise is computed row by row."""

    @abstractmethod
    def _sensitivity(self, separation: int, participations: int) -> Sensitivity:
        """For checked arguments; the participations fit into the run."""

    def sensitivity(self, *, separation: int = 1, participations: int | None = None) -> Sensitivity:
        """The largest length of a sum of columns that are at least `separation` apart.

        That is how much one example with clip norm 1 changes C G; all entries are non-negative, so
        gradients that all point the same way are the worst.

        Parameters
        ----------
        separation
            The example takes part at least so many steps apart.
        participations
            It takes part at most so often; by default as often as fits into the run.

        Returns
        -------
        Sensitivity
            A float that says with `exact` whether a pattern attains it; otherwise it is an upper
            bound.
        """
        separation = positive_integer("separation", separation)
        fitting = -(-self.steps // separation)
        if participations is None:
            participations = fitting
        count = min(positive_integer("participations", participations), fitting)
        return self._sensitivity(separation, count)

    def summed_columns(self, *, spacing: int) -> FloatArray:
        """What an example adds to C G, for each way to join every `spacing`-th step.

        Parameters
        ----------
        spacing
            The number of steps between two participations.

        Returns
        -------
        numpy.ndarray
            Column i is the sum of the columns i, i + spacing, i + 2 spacing, ... of C. There are
            min(spacing, steps) of them.
        """
        return self._summed_columns(positive_integer("spacing", spacing))

    def gram(self, *, spacing: int) -> FloatArray:
        """The inner products of the columns of `summed_columns`, which determine the privacy.

        Parameters
        ----------
        spacing
            The number of steps between two participations.

        Returns
        -------
        numpy.ndarray
            A symmetric matrix of size min(spacing, steps).
        """
        return self._gram(positive_integer("spacing", spacing))

    def _summed_columns(self, spacing: int) -> FloatArray:
        return summed_columns(self.to_matrix(), spacing)

    def _gram(self, spacing: int) -> FloatArray:
        columns = self._summed_columns(spacing)
        gram: FloatArray = columns.T @ columns
        return gram

    def mean_squared_error(self, workload: Workload = None) -> float:
        """The squared Frobenius norm of A C^-1 over n, at noise multiplier 1 and clip norm 1.

        Parameters
        ----------
        workload
            As for `squared_errors`.
        """
        return float(self.squared_errors(workload).mean())

    def max_squared_error(self, workload: Workload = None) -> float:
        """The largest squared length of a row of A C^-1, at noise multiplier 1 and clip norm 1.

        Parameters
        ----------
        workload
            As for `squared_errors`.
        """
        return float(self.squared_errors(workload).max())

    def noise(
        self,
        dimension: int | tuple[int, ...],
        *,
        scale: float = 1.0,
        dtype: npt.DTypeLike = np.float32,
        rng: RandomSource | Key = None,
        noise_memory: str = "rows",
        coordinates: Coordinates | None = None,
        arithmetic: str = "float",
        resolution: int | None = None,
    ) -> NoiseStream:
        """The rows of C^-1 Z, one for each step, each of shape `dimension`.

        Rows of more than half a million numbers are drawn on several cores.

        Parameters
        ----------
        dimension
            The shape of a row; an integer for a vector.
        scale
            The standard deviation of Z: noise multiplier times clip norm.
        dtype
            float16, float32 or float64; exact rows are int64, whatever it is.
        rng
            What `batches` takes as well: by default the seed is secret, and "chacha" is a
            cryptographic generator. A `Key` that several processes share makes them draw parts of
            the same noise.
        noise_memory
            "rows" remembers what the recurrence needs. "replay" draws earlier rows of Z again,
            where the inverse of C has few bands: no memory beyond one row, and as many draws as
            the inverse has bands.
        coordinates
            Ranges (start, stop) of the flattened vector that this stream holds; all by default.
        arithmetic
            "exact": an `ExactNoiseStream`, for strategies that are their own `exact()`.
        resolution
            With exact arithmetic: the lattice is scale / 2^resolution; 24 by default.

        Returns
        -------
        NoiseStream
            An iterator over the rows.

        Raises
        ------
        InvalidParameter
            If `dtype` cannot hold noise of this scale.
        """
        how: dict[str, Any] = {
            "steps": self.steps,
            "dimension": dimension,
            "scale": positive("scale", scale),
            "rng": rng,
            "noise_memory": noise_memory,
            "coordinates": coordinates,
        }
        if choice("arithmetic", arithmetic, ARITHMETICS) == "float":
            if resolution is not None:
                raise InvalidParameter(
                    "resolution", "left out without exact arithmetic", resolution
                )
            return NoiseStream(self.recurrence, dtype=dtype, **how)
        return self._exact_stream(resolution=resolution, **how)

    def exact(self) -> Strategy:
        """The strategy with the entries of C rounded to multiples of 2^-20: itself, if they are.

        Also itself, where the inverse of C has fewer bands than C. What exact arithmetic runs, and
        what has to be accounted for it. `InvalidParameter` if neither is banded.
        """
        refuse_unbanded(self)

    def _exact_stream(self, **how: Any) -> NoiseStream:
        """The exact noise of a strategy that is its own `exact()`."""
        refuse_unbanded(self)

    def describe(self) -> dict[str, object]:
        """The factorization's name and parameters, ready for JSON."""
        return {"factorization": self.name, **self.parameters}

    def __repr__(self) -> str:
        inside = "".join(f", {name}={value!r}" for name, value in self.parameters.items())
        return f"{self.name.replace('-', '_')}({self.steps}{inside})"


def bands_within(steps: int, bands: int, *, name: str = "bands") -> tuple[int, int]:
    """Both arguments checked: 1 <= bands <= steps."""
    steps = positive_integer("steps", steps)
    number = positive_integer(name, bands)
    if not number <= steps:
        raise InvalidParameter(name, f"an integer in [1, steps={steps}]", bands)
    return steps, storable(name, number)

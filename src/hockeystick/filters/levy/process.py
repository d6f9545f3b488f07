"""The Levy process that a filter simulates its transcripts from."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np

from hockeystick import _validate as check
from hockeystick._numerics.law import FloatArray
from hockeystick._numerics.search import bracket
from hockeystick._text import strict_json
from hockeystick.errors import InvalidParameter
from hockeystick.filters.levy.pair import LevyPair

__all__ = ["LevyProcess"]


@dataclass(frozen=True)
class LevyProcess:
    """Pairs D_t with D_s x D_t = D_(s+t): what a path shows up to time t, under P and under Q.

    Everything that a `Levy` filter needs; that of one filter can be given to another.

    Parameters
    ----------
    gaussian
        Variance that the loss gains per unit of time from Brownian motion.
    unit, sizes, rates
        Jumps of sizes[j] * unit > 0 come at rates[j] per unit of time, under Q.
    killing
        Rate at which everything is given away.
    catalyst
        Variance of one Gaussian pair that is added once, whatever the time.

    Examples
    --------
    >>> import hockeystick as hs
    >>> process = hs.filters.LevyProcess(gaussian=1.0)  # Brownian motion: the Gaussian filter
    >>> round(process.largest_time(epsilon=1.0, delta=1e-5), 4)
    0.0719
    >>> hs.filters.LevyProcess.from_text(process.as_text()) == process
    True
    """

    gaussian: float
    unit: float = 1.0
    sizes: tuple[int, ...] = ()
    rates: tuple[float, ...] = ()
    killing: float = 0.0
    catalyst: float = 0.0

    def __post_init__(self) -> None:
        for name in ("gaussian", "killing", "catalyst"):
            check.at_least(name, getattr(self, name), 0.0)
        check.positive("unit", self.unit)
        for name in ("sizes", "rates"):
            given = getattr(self, name)
            if not isinstance(given, (tuple, list)):
                raise InvalidParameter(name, "a tuple", given)
            object.__setattr__(self, name, tuple(given))
        if len(self.sizes) != len(self.rates):
            raise InvalidParameter("rates", f"one per size ({len(self.sizes)})", len(self.rates))
        if list(self.sizes) != sorted({check.positive_integer("sizes", n) for n in self.sizes}):
            raise InvalidParameter("sizes", "increasing integers >= 1", self.sizes)
        for rate in self.rates:
            check.at_least("rates", rate, 0.0)
        if not math.isfinite(self.variance):
            allowed = "small enough for the variance of LR to be finite"
            raise InvalidParameter("sizes, rates", allowed, (self.sizes, self.rates))
        if not self.gaussian + self.catalyst > 0:
            raise InvalidParameter("gaussian", "> 0 where there is no catalyst", self.gaussian)

    @property
    def jumps(self) -> FloatArray:
        """How much each kind of jump adds to the loss."""
        sizes: FloatArray = np.array(self.sizes, dtype=np.float64) * self.unit
        return sizes

    @property
    def variance(self) -> float:
        """Of LR per unit of time, for small times."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self.gaussian + float(np.array(self.rates) @ np.expm1(self.jumps) ** 2)

    def pair(self, time: float, *, catalyst: float | None = None) -> LevyPair:
        """D_time with the catalyst, or with a smaller one."""
        return LevyPair(
            variance=self.gaussian * time + (self.catalyst if catalyst is None else catalyst),
            unit=self.unit,
            sizes=self.sizes,
            rates=tuple(rate * time for rate in self.rates),
            killed=float(-np.expm1(-self.killing * time)),
        )

    def largest_time(self, *, epsilon: float, delta: float) -> float:
        """The largest time at which the pair with its catalyst is (epsilon, delta)-DP.

        In both directions; found to 1e-9 and rounded down; 0 if there is none.
        """

        def too_long(time: float) -> bool:
            pair = self.pair(time)
            worst = max(pair.closed_form(epsilon, reverse=back) or 0.0 for back in (False, True))
            return not worst * (1 + pair.closed_form_error) <= delta

        # At this time next to nothing has happened: a millionth of delta.
        low = 1e-6 * delta / max(self.variance, delta)
        if too_long(low):
            return 0.0
        high = 2 * low
        while not too_long(high):
            low, high = high, 2 * high
        return bracket(too_long, low, high, tolerance=1e-9)[0]

    def as_json(self) -> Mapping[str, object]:
        """The process as the ledger keeps it."""
        return {**asdict(self), "sizes": list(self.sizes), "rates": list(self.rates)}

    def as_text(self) -> str:
        """The same in one line, for `from_text`."""
        return json.dumps(self.as_json(), sort_keys=True)

    @classmethod
    def from_text(cls, text: str) -> LevyProcess:
        """The process that `as_text` wrote, to the last digit."""
        try:
            values = dict(strict_json(text))
            return cls(
                **{**values, "sizes": tuple(values["sizes"]), "rates": tuple(values["rates"])}
            )
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, InvalidParameter):
                raise
            raise InvalidParameter("text", "what `as_text` wrote", text) from error

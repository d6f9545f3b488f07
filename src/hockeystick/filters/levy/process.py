"""The Levy process that a filter simulates its transcripts from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np

from hockeystick import _validate as check
from hockeystick._numerics.law import FloatArray
from hockeystick._text import strict_json
from hockeystick.errors import InvalidParameter
from hockeystick.filters.levy.expression import LevyPair

__all__ = ["LevyProcess"]


@dataclass(frozen=True)
class LevyProcess:
    """Pairs D_t with D_s x D_t = D_(s+t): what a path shows up to time t, under P and under Q.

    Per unit of time the loss gains Gaussian noise of the variance `gaussian` and jumps of
    sizes[j] * unit > 0 at rates[j] (under Q), and everything is given away at the rate `killing`.
    `catalyst` is the variance of one Gaussian pair that is added once, whatever the time.
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
        if len(self.sizes) != len(self.rates):
            raise InvalidParameter("rates", f"one per size ({len(self.sizes)})", len(self.rates))
        if list(self.sizes) != sorted({check.positive_integer("sizes", n) for n in self.sizes}):
            raise InvalidParameter("sizes", "increasing integers >= 1", self.sizes)
        for rate in self.rates:
            check.at_least("rates", rate, 0.0)
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

"""Families that are Blackwell chains by construction, and the number that orders their members."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from hockeystick.profile import Profile
from hockeystick.profile.expressions.base import Expression

__all__ = ["ChainUnit", "common_unit", "exact_name"]

# Longer descriptions, those of pairs with many atoms, are replaced by a digest of them.
LONGEST_NAME = 120


@dataclass(frozen=True)
class ChainUnit:
    """What members of a chain are measured in; the size of a product is the sum of the sizes.

    `size` is None for profiles outside the chain; `whole` sizes are integers.
    """

    name: str
    size: Callable[[Profile], float | None]
    whole: bool


def common_unit(family: Sequence[Profile]) -> ChainUnit | None:
    """The unit in which all members can be measured, if there is one."""
    candidates = [
        ChainUnit("mu^2", _gaussian_size, whole=False),
        _powers_of(family[0].expression.factors()[0][0]),
    ]
    for unit in candidates:
        if all(unit.size(member) is not None for member in family):
            return unit
    return None


def _gaussian_size(profile: Profile) -> float | None:
    """mu^2: Gaussians are ordered by mu, and their squares add under composition."""
    expression = profile.expression
    return expression.order() ** 2 if expression.family == "gaussian" else None


def _powers_of(base: Expression) -> ChainUnit:
    """f^n, ordered by n: composing with anything never makes a test harder."""

    def exponent(profile: Profile) -> float | None:
        factors = profile.expression.factors()
        return float(factors[0][1]) if len(factors) == 1 and factors[0][0] == base else None

    return ChainUnit(f"runs of {exact_name(base)}", exponent, whole=True)


def exact_name(described: Expression | Profile) -> str:
    """A name that two pairs share only if they are equal, whatever NumPy is told to print."""
    with np.printoptions(
        threshold=sys.maxsize,
        linewidth=sys.maxsize,
        floatmode="unique",
        suppress=False,
        sign="-",
        formatter={},
    ):
        text = repr(described)
    if len(text) <= LONGEST_NAME:
        return text
    return f"{text.partition('(')[0]} with SHA-256 {sha256(text.encode()).hexdigest()[:32]}"

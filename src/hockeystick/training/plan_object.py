"""A plan as plain values from which it can be built again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.errors import InvalidParameter, UnsupportedPlan
from hockeystick.guarantee import ADJACENCY
from hockeystick.plan import RELATIONS, Plan
from hockeystick.schemes import SCHEMES, Sampling
from hockeystick.strategies import FACTORIZATIONS, Strategy, from_coefficients, from_matrix
from hockeystick.strategies.matrix import CLOSED_FORM

__all__ = [
    "digest_of",
    "label_of",
    "mislabelled",
    "plan_from",
    "require_gaussian",
    "runs_exactly",
    "sampling_object",
    "strategy_from",
    "strategy_object",
]

VALUES = ("coefficients", "diagonals", "sha256")
# Factorizations in closed form, whose numbers do not depend on an optimiser, and how far two
# machines may differ in them, relatively.
ROUNDING = 1e-12
# Strategies that are named after the bandwidth of C.
WITH_BANDS = ("band-mf", "coefficients", "matrix")
# Strategies whose inverse has few bands: two, or `bands` of them; and how far, relatively, those
# that are computed from C may be from zero.
OF_THE_INVERSE, OF_RECIPROCALS = ("bisr", "band-inv-mf", "lambda-cgd"), 1e-9
NAMES = (*FACTORIZATIONS, "coefficients", "matrix")


def sampling_object(sampling: Sampling) -> dict[str, Any]:
    """The scheme by its name and parameters."""
    return dict(sampling.describe())


def strategy_object(strategy: Strategy) -> dict[str, Any]:
    """The strategy by its name, its parameters, and the numbers in C with their digest.

    The numbers are what counts: a Toeplitz matrix is kept as its coefficients, any other as its
    diagonals. Python writes a float so that it reads back as the same one.
    """
    coefficients = strategy.coefficients
    if coefficients is not None:
        values: dict[str, Any] = {"coefficients": coefficients.tolist()}
    else:
        matrix = strategy.to_matrix()
        diagonals = [np.diagonal(matrix, -lag).tolist() for lag in range(strategy.bands)]
        values = {"diagonals": diagonals}
    return {**strategy.describe(), **values, "sha256": digest_of(strategy)}


def plan_from(
    *,
    scheme: Mapping[str, Any],
    strategy: Mapping[str, Any],
    steps: int,
    adjacency: str = ADJACENCY,
    examples: int | None = None,
) -> Plan:
    """The plan that the objects describe; `InvalidParameter` if they describe none.

    The adjacency is that of a statement; the number of examples counts for schemes that need it.
    """
    relations = {stated: name for name, stated in RELATIONS.items()}
    if adjacency not in relations:
        raise InvalidParameter("adjacency", f"one of {', '.join(relations)}", adjacency)
    parameters = {name: value for name, value in scheme.items() if name != "scheme"}
    known = SCHEMES.get(str(scheme.get("scheme")))
    if known is None:
        raise InvalidParameter("scheme", f"one of {', '.join(SCHEMES)}", scheme.get("scheme"))
    try:
        sampling = known(**parameters)
    except TypeError:
        allowed = f"the parameters of {known.name} sampling"
        raise InvalidParameter("scheme", allowed, parameters) from None
    return Plan(
        sampling=sampling,
        steps=steps,
        strategy=strategy_from(strategy, steps=steps),
        adjacency=relations[adjacency],
        examples=examples if sampling.displaces else None,
    )


def strategy_from(described: Mapping[str, Any], *, steps: int) -> Strategy:
    """The strategy with the numbers of the object, whatever name it has there."""
    if "coefficients" in described:
        return from_coefficients(described["coefficients"], steps)
    if "diagonals" in described:
        return from_matrix(_matrix(described["diagonals"]))
    raise InvalidParameter("strategy", "given by its coefficients or diagonals", dict(described))


def digest_of(strategy: Strategy) -> str:
    """SHA-256 of the matrix: its size, and its coefficients or diagonals in double precision."""
    coefficients = strategy.coefficients
    if coefficients is None:
        matrix = strategy.to_matrix()
        rows = [np.diagonal(matrix, -lag) for lag in range(strategy.bands)]
    else:
        rows = [coefficients]
    kind = "matrix" if coefficients is None else "toeplitz"
    digest = hashlib.sha256(f"{kind} {strategy.steps} ".encode())
    for row in rows:
        digest.update(np.ascontiguousarray(row, dtype="<f8").tobytes())
    return digest.hexdigest()


def label_of(described: Mapping[str, Any]) -> dict[str, Any]:
    """Name and parameters without the numbers."""
    return {name: value for name, value in described.items() if name not in VALUES}


def mislabelled(described: Mapping[str, Any], strategy: Strategy) -> bool:
    """Whether the name is unknown or stands for another matrix, as far as that can be told.

    An optimiser may find slightly different numbers elsewhere, so only the bands are compared then.
    """
    label = label_of(described)
    name = label.pop("factorization", None)
    if name in WITH_BANDS and label.get("bands") != strategy.bands:
        return True
    if name not in CLOSED_FORM:
        return name not in NAMES
    try:
        named = FACTORIZATIONS[str(name)](strategy.steps, **label)
    except (TypeError, InvalidParameter):
        return True
    theirs, mine = named.coefficients, strategy.coefficients
    if theirs is None or mine is None or theirs.size != mine.size:
        return True
    return not np.allclose(theirs, mine, rtol=ROUNDING, atol=0)


def runs_exactly(described: Mapping[str, Any], strategy: Strategy) -> bool:
    """Whether exact arithmetic runs a strategy of these numbers, as far as that can be told.

    A factorization of the inverse is run by the few coefficients of that, which C has up to
    rounding; any other by its entries, which are multiples of 2^-20.
    """
    name = described.get("factorization")
    if name not in OF_THE_INVERSE:
        return strategy.exact() is strategy
    bands, inverse = described.get("bands", 2), strategy.inverse_coefficients
    if inverse is None or not isinstance(bands, int) or isinstance(bands, bool):
        return False
    return bool((np.abs(inverse[bands:]) <= OF_RECIPROCALS * abs(inverse[0])).all())


def require_gaussian(plan: Plan) -> None:
    """Only Gaussian noise can be written down and built again."""
    if plan.mechanism is not None:
        raise UnsupportedPlan(
            "A statement is about Gaussian noise; this plan has a mechanism of its own, which "
            "account(plan) accounts for.",
            page="docs/training.md#the-privacy-statement",
        )


def _matrix(diagonals: Any) -> FloatArray:
    allowed = "the diagonals of a square matrix, each one shorter than the one before"
    try:
        rows = [np.asarray(row, dtype=np.float64) for row in diagonals]
    except (TypeError, ValueError):
        raise InvalidParameter("strategy", allowed, type(diagonals)) from None
    size = rows[0].size if rows else 0
    if not size or any(row.shape != (size - lag,) for lag, row in enumerate(rows)):
        raise InvalidParameter("strategy", allowed, [row.shape for row in rows])
    matrix = np.zeros((size, size))
    for lag, row in enumerate(rows):
        matrix += np.diag(row, -lag)
    return matrix

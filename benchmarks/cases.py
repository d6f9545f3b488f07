"""Who answers which question, and what we promise about the answers."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from settings import BINS


def median_of_warm(seconds: Sequence[float]) -> float:
    """The median without the first call, which may compile or fill caches."""
    return statistics.median(seconds[1:] or seconds)


@dataclass(frozen=True)
class Participant:
    """Somebody who answers cases: a file of cases and what it needs installed."""

    name: str
    file: str
    requirements: tuple[str, ...]
    repeats: int


@dataclass(frozen=True)
class Case:
    """A question, how its timings become one number, and how long a call may take."""

    title: str
    typical: Callable[[Sequence[float]], float] = min
    seconds_per_call: float | None = None


@dataclass(frozen=True)
class Promise:
    """We answer `case` at least `ratio` times as fast as `peer`."""

    case: str
    peer: str
    ratio: float


@dataclass(frozen=True)
class Limit:
    """Our answer to `case`, in `unit`, is at most `most`."""

    case: str
    unit: str
    most: float


@dataclass(frozen=True)
class TimeLimit:
    """We answer `case` in less than `seconds`, warm."""

    case: str
    seconds: float


@dataclass(frozen=True)
class Agreement:
    """Our values for `case` and those of `peer` differ by at most `relative`."""

    case: str
    peer: str
    relative: float


@dataclass(frozen=True)
class Within:
    """Our answer to `case` lies between the lower and the upper bound of `peer`."""

    case: str
    peer: str


OURS = Participant("hockeystick", "hockeystick.py", (), 5)
# It imports pandas without declaring it.
RANDOM_ALLOCATION = ("random-allocation==1.0.5", "pandas")
OTHERS = (
    Participant("dp-accounting", "dp_accounting.py", ("dp-accounting==0.6.0",), 2),
    Participant("prv-accountant", "prv_accountant.py", ("prv-accountant==0.2.0",), 2),
    # Numba, which it does not require, makes it several times as fast.
    Participant("PLD-accounting", "pld_accounting.py", ("PLD-accounting==2.0", "numba"), 2),
    Participant("jax-privacy", "jax_privacy.py", ("jax-privacy==2.0.0",), 5),
    # Its simulation takes minutes and gigabytes, and nothing in it becomes warm.
    Participant("its draws", "jax_privacy_draws.py", ("jax-privacy==2.0.0",), 1),
    Participant("random-allocation", "random_allocation.py", RANDOM_ALLOCATION, 4),
    Participant("its decomposition", "random_allocation_decomposition.py", RANDOM_ALLOCATION, 4),
    Participant("dictionaries", "dictionaries.py", (), 4),
    # Two other ways of our own.
    Participant("method renyi", "method_renyi.py", (), 4),
    Participant("verification", "verification.py", (), 3),
)
PICKS = {
    f"{picks} out of 1,024": Case(
        f"random allocation, {picks} out of 1,024, noise 1, delta 1e-6", median_of_warm, 60
    )
    for picks in (1, 4, 16)
}
LARGE_BINS = {
    f"{c['bins']:,} bins": (
        Case(
            f"balls-in-bins, {c['bins']:,} bins, bands: {c['bands']}, 3 epochs: "
            f"Renyi moments, every order to {c['largest']:,}",
            median_of_warm,
        ),
        c["seconds"],
    )
    for c in BINS["large"]
}
CASES = {
    "poisson": Case("Poisson, noise 1, rate 0.01, 10,000 steps, delta 1e-6"),
    "fifty phases": Case("50 noise levels, 1,000 Poisson steps each, delta 1e-6"),
    "small noise": Case("Poisson, noise 0.05, rate 0.01, one step, delta 1e-6"),
    "allocation": Case("random allocation, 1 out of 1,000, noise 1, delta 1e-6"),
    "banded 16 bands": Case("best strategy with 16 bands, 2,000 steps: mean squared error"),
    "banded 64 bands": Case("best strategy with 64 bands, 2,000 steps: mean squared error"),
    "noise stream": Case("20 rows of noise, 1,000,000 parameters, 16 bands: memory over 16 rows"),
    "Renyi to 60": Case(
        "Renyi divergence, 1 out of 10,000, noise 1: we all orders to 60, the peer 60 alone",
        median_of_warm,
    ),
    "Renyi to 40": Case(
        "Renyi divergences, 1 out of 10,000, noise 1: every order to 40", median_of_warm
    ),
    "Renyi to 1,000": Case(
        "Renyi divergences, 1 out of 1,000,000, noise 1: every order to 1,000", median_of_warm
    ),
    **PICKS,
    "five runs": Case(
        "1 out of 10,000 over 1, 3, 10, 30 and 100 epochs, noise 1, delta 1e-8: the last of five",
        median_of_warm,
        60,
    ),
    "50 bins": Case(
        "balls-in-bins, 50 bins, bands: 2, 3 epochs: "
        "Renyi moments, we all orders to 16, dictionaries 16 alone",
        median_of_warm,
    ),
    **{name: case for name, (case, _) in LARGE_BINS.items()},
    "gram": Case(
        "balls-in-bins, 100 bins, bands: 4, 10 epochs, noise 4, delta 1e-5: epsilon by `gram`, by "
        "`renyi`, and a claim of epsilon 1 verified by draws on all cores",
        median_of_warm,
    ),
    "gram noise": Case(
        "the same at epsilon 1: noise by `gram` over that by `renyi`, found once", max
    ),
    "b-min-sep draws": Case(
        "b-min-sep, 16 bands, 2,000 steps: delta from 100,000 draws", median_of_warm
    ),
    "balls-in-bins draws": Case(
        "balls-in-bins, 100 bins, 16 bands, 2,000 steps: delta from 100,000 draws", median_of_warm
    ),
    "many draws": Case("b-min-sep, 16 bands, 2,000 steps: delta from 1,000,000 draws"),
}
ANSWERS = {
    "hockeystick": set(CASES),
    "dp-accounting": {"poisson", "fifty phases", "small noise"},
    "prv-accountant": {"poisson"},
    "PLD-accounting": {"allocation", *PICKS},
    "jax-privacy": {"banded 16 bands", "banded 64 bands", "noise stream"},
    "its draws": {"b-min-sep draws", "balls-in-bins draws"},
    "random-allocation": {"Renyi to 60", "Renyi to 40", "five runs"},
    "its decomposition": {"five runs"},
    "dictionaries": {"50 bins"},
    "method renyi": {"gram"},
    "verification": {"gram"},
}
PROMISES = (
    Promise("poisson", "dp-accounting", 1.0),
    Promise("poisson", "prv-accountant", 10.0),
    Promise("fifty phases", "dp-accounting", 10.0),
    Promise("small noise", "dp-accounting", 10.0),
    Promise("allocation", "PLD-accounting", 50.0),
    Promise("banded 16 bands", "jax-privacy", 10.0),
    Promise("banded 64 bands", "jax-privacy", 10.0),
    Promise("noise stream", "jax-privacy", 2.0),
    Promise("Renyi to 60", "random-allocation", 300.0),
    Promise("50 bins", "dictionaries", 50.0),
    Promise("b-min-sep draws", "its draws", 20.0),
    Promise("balls-in-bins draws", "its draws", 100.0),
)
LIMITS = (
    Limit("noise stream", "times the memory of bands x parameters numbers", 1.2),
    Limit("gram noise", "times the noise of method renyi", 0.9),
)
TIME_LIMITS = (
    TimeLimit("Renyi to 1,000", 0.2),
    TimeLimit("five runs", 2.0),
    *(TimeLimit(name, seconds) for name, (_, seconds) in LARGE_BINS.items()),
)
AGREEMENTS = (
    Agreement("Renyi to 40", "random-allocation", 1e-8),
    Agreement("50 bins", "dictionaries", 1e-10),
    # Means of 100,000 draws on either side.
    Agreement("b-min-sep draws", "its draws", 0.03),
    Agreement("balls-in-bins draws", "its draws", 0.03),
)
WITHIN = tuple(Within(case, "PLD-accounting") for case in PICKS)
MEMORY_LIMIT_MB = 300

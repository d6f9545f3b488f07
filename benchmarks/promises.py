"""Every ratio, time, memory and accuracy that was promised, with the case that measures it.

The promises are those of the project's issues, by number. Whether a published table is reproduced
is not among them: `hockeystick reproduce` and the tests say that.
"""

from __future__ import annotations

from dataclasses import dataclass

import quantities as q
from cases import ALLOCATION, DP, JAX, JAX_DRAWS, PLD, PRV, TRAINING, US
from quantities import Quantity
from settings import BINS, LEVY, PICKS


@dataclass(frozen=True)
class Promise:
    """What an issue promised: the measured quantity is at least or at most the bound."""

    issue: int
    case: str
    what: str
    quantity: Quantity
    least: float | None = None
    most: float | None = None

    def __post_init__(self) -> None:
        if (self.least is None) == (self.most is None):
            raise ValueError(f"{self.what}: either `least` or `most`")


def faster(issue: int, case: str, peer: str, ratio: float) -> Promise:
    """We answer at least `ratio` times as fast."""
    return Promise(issue, case, f"times as fast as {peer}", q.Speed(peer), least=ratio)


def within_seconds(issue: int, case: str, seconds: float) -> Promise:
    """We answer in less than `seconds`, warm."""
    return Promise(issue, case, "seconds", q.Seconds(US), most=seconds)


def memory(issue: int, case: str, megabytes: float) -> Promise:
    """The largest resident memory of our process."""
    return Promise(issue, case, "MB of memory", q.Memory(US), most=megabytes)


FOUNDATION = (
    faster(2, "poisson", DP, 1.0),
    Promise(2, "poisson", "upper over lower bound", q.Width(US), most=1.001),
    Promise(2, "poisson", "outside of [6.900, 6.915]", q.Outside(6.900, 6.915), most=0.0),
    Promise(2, "poisson-fine", "outside of [6.905, 6.910]", q.Outside(6.905, 6.910), most=0.0),
    Promise(2, "calibrate", "relative distance from 1.1493", q.Distance((1.1493,)), most=5e-4),
    faster(2, "poisson", PRV, 10.0),
    faster(2, "fifty-phases", DP, 10.0),
    # "Well under a second where dp-accounting takes tens."
    faster(2, "small-noise", DP, 10.0),
    within_seconds(2, "small-noise", 1.0),
    faster(2, "allocation", PLD, 50.0),
    Promise(
        2,
        "allocation-deltas",
        "relative distance from the six deltas",
        q.Distance((1.482e-4, 3.221e-8, 1.728e-10, 2.271e-13, 7.539e-18, 1.544e-4)),
        most=0.01,
    ),
    *(memory(2, case, 300) for case in ("poisson", "fifty-phases", "small-noise", "allocation")),
    within_seconds(2, "import", 0.5),
)
STRATEGIES = (
    Promise(
        3,
        "band-table",
        "relative distance from the six optima",
        q.Distance((504.2337, 257.0400, 134.0954, 72.8399, 42.0246, 26.2678)),
        most=1e-5,
    ),
    faster(3, "bands-16", JAX, 10.0),
    faster(3, "bands-64", JAX, 10.0),
    faster(3, "noise-stream", JAX, 2.0),
    Promise(3, "noise-stream", "memory over bands x parameters", q.Answer(US), most=1.2),
)
RANDOM_ALLOCATION = (
    Promise(
        4,
        "five-runs",
        "epsilon over 0.0606, 0.1062, 0.1980, 0.3510, 0.6585: the worst",
        q.Exceeding((0.0606, 0.1062, 0.1980, 0.3510, 0.6585)),
        most=1.0,
    ),
    within_seconds(4, "five-runs", 2.0),
    within_seconds(4, "renyi-1000", 0.2),
    faster(4, "renyi-60", ALLOCATION, 300.0),
    Promise(
        4, "renyi-40", f"relative difference from {ALLOCATION}", q.Difference(ALLOCATION), most=1e-8
    ),
    *(
        Promise(4, f"{n}-of-1024", f"outside of {PLD}'s range", q.OutsidePeer(PLD), most=0.0)
        for n in PICKS["picks"]
    ),
    within_seconds(4, "all-methods", 5.0),
)
BALLS_IN_BINS = (
    *(within_seconds(5, f"{c['bins']}-bins", c["seconds"]) for c in BINS["large"]),
    faster(5, "50-bins", "dictionaries", 50.0),
    Promise(
        5,
        "50-bins",
        "relative difference from dictionaries",
        q.Difference("dictionaries"),
        most=1e-10,
    ),
    within_seconds(5, "conditional", 60.0),
)
MONTE_CARLO = (
    faster(6, "b-min-sep-draws", JAX_DRAWS, 20.0),
    faster(6, "balls-in-bins-draws", JAX_DRAWS, 100.0),
    # Means of 100,000 draws on either side.
    *(
        Promise(
            6, case, f"relative difference from {JAX_DRAWS}", q.Difference(JAX_DRAWS), most=0.03
        )
        for case in ("b-min-sep-draws", "balls-in-bins-draws")
    ),
    *(memory(6, case, 500) for case in ("b-min-sep-draws", "balls-in-bins-draws", "many-draws")),
    within_seconds(6, "verified-noise", 1_800),
)
GRAM = (
    # "About 5 s."
    within_seconds(7, "gram", 5.0),
    # "Cost does not depend on delta."
    within_seconds(7, "gram-small-delta", 5.0),
    within_seconds(7, "gram-1000-bins", 60.0),
    Promise(7, "gram-noise", "noise over a simulation's", q.Answer(US), most=1.10),
    Promise(7, "gram-noise", "noise over that of `renyi`", q.Quotient(0, 2), most=1.0),
    Promise(7, "gram-noise", "evaluations", q.Value(3), most=7),
)
ADAPTIVE = (
    # "Linear": the last of 100,000 take as long as the first, with room for a busy machine.
    Promise(8, "renyi-requests", "last requests over first", q.Answer(US), most=1.5),
    # "Tens of milliseconds per step."
    within_seconds(8, "individual", 0.1),
    *(
        Promise(11, case, "epsilon over that of fixed steps", q.Answer(US), most=1.03)
        for case in ("levy", "levy-small-delta")
    ),
    *(
        Promise(11, case, "epsilon over the Renyi filter's", q.Quotient(0, 2), most=1.0)
        for case in LEVY
    ),
    *(Promise(11, case, "seconds for building", q.Value(3), most=30.0) for case in LEVY),
    Promise(11, "levy-requests", "seconds for a request", q.Value(0), most=1e-3),
    Promise(11, "levy-requests", "last requests over first", q.Answer(US), most=1.5),
)
TRAINING_STEP = (
    Promise(
        9, "training-step", "batches and noise over Opacus' own", q.Value(0, TRAINING), most=1.5
    ),
    Promise(9, "training-step", "a whole step over Opacus' own", q.Value(1, TRAINING), most=1.5),
)
ALL = (
    *FOUNDATION,
    *STRATEGIES,
    *RANDOM_ALLOCATION,
    *BALLS_IN_BINS,
    *MONTE_CARLO,
    *GRAM,
    *ADAPTIVE,
    *TRAINING_STEP,
)
PROMISES = tuple(sorted(ALL, key=lambda promise: promise.issue))

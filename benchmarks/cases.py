"""The questions, who answers them, and what has to be known about an answer."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from settings import BINS, CLAIMS, LEVY, PICKS

US = "hockeystick"
DP, PRV, PLD, JAX = "dp-accounting", "prv-accountant", "PLD-accounting", "jax-privacy"
JAX_DRAWS, ALLOCATION = "jax-privacy draws", "random-allocation"
DECOMPOSITION = "random-allocation decomposition"
OPAKE, RISKCAL = "opake", "riskcal"
OPACUS_RDP, OPACUS_PRV, TRAINING = "opacus RDP", "opacus PRV", "training with opacus"

NOTHING = "none, only the time counts"


def median_of_warm(seconds: Sequence[float]) -> float:
    """The median without the first call, which may compile or fill caches."""
    return statistics.median(seconds[1:] or seconds)


@dataclass(frozen=True)
class Case:
    """A question, who answers, how timings become one number, and how long a process may take.

    `repeats` overrides the participants' own. `answer` says what the number is if not an epsilon.
    """

    title: str
    participants: tuple[str, ...] = (US,)
    typical: Callable[[Sequence[float]], float] = min
    limit_seconds: float = 300
    repeats: int | None = None
    answer: str = "epsilon"


POISSON_CASES = {
    "poisson": Case(
        "Poisson, noise 1, rate 0.01, 10,000 steps, delta 1e-6",
        (US, DP, PRV, OPACUS_RDP, OPACUS_PRV, OPAKE),
    ),
    "both-bounds": Case("the same, bounds from both sides", (US, DP, PRV)),
    "poisson-fine": Case("the same within 0.03 %"),
    "calibrate": Case(
        "noise for epsilon 2, delta 1e-5: 2,000 steps at rate 0.01",
        (US, DP, OPACUS_RDP, OPACUS_PRV, OPAKE),
        answer="noise",
    ),
    "advantage": Case(
        "Poisson, noise 1.2, rate 0.01, 2,000 steps: the advantage of an attacker",
        (US, RISKCAL),
        answer="advantage",
    ),
    "advantage-noise": Case(
        "noise for an advantage of 0.1: 2,000 steps at rate 0.01", (US, RISKCAL), answer="noise"
    ),
    "fifty-phases": Case(
        "50 noise levels, 1,000 Poisson steps each, delta 1e-6",
        (US, DP, OPACUS_RDP, OPACUS_PRV, OPAKE),
    ),
    "small-noise": Case(
        "Poisson, noise 0.05, rate 0.01, one step, delta 1e-6",
        (US, DP, OPACUS_RDP, OPACUS_PRV, OPAKE),
    ),
}
ALLOCATION_CASES = {
    "allocation": Case("random allocation, 1 out of 1,000, noise 1, delta 1e-6", (US, PLD, OPAKE)),
    "allocation-deltas": Case(
        "1 out of 1,000, noise 1, epsilon 0.1 to 2, and noise 0.3, epsilon 10: the last of six",
        answer="delta, remove",
    ),
    **{
        f"{picks}-of-1024": Case(
            f"random allocation, {picks} out of 1,024, noise 1, delta 1e-6",
            (US, PLD, OPAKE),
            median_of_warm,
        )
        for picks in PICKS["picks"]
    },
    "five-runs": Case(
        "1 out of 10,000 over 1, 3, 10, 30 and 100 epochs, noise 1, delta 1e-8: the last of five",
        (US, ALLOCATION, DECOMPOSITION, OPAKE),
        median_of_warm,
    ),
    "renyi-60": Case(
        "Renyi divergence, 1 out of 10,000, noise 1: we all orders to 60, the peer 60 alone",
        (US, ALLOCATION),
        median_of_warm,
        answer="divergence",
    ),
    "renyi-40": Case(
        "Renyi divergences, 1 out of 10,000, noise 1: every order to 40",
        (US, ALLOCATION),
        median_of_warm,
        answer="divergence",
    ),
    "renyi-1000": Case(
        "Renyi divergences, 1 out of 1,000,000, noise 1: every order to 1,000",
        typical=median_of_warm,
        answer="divergence",
    ),
    "all-methods": Case(
        "the command `epsilon ... --method all`, 1 out of 1,000, 10,000 steps", answer=NOTHING
    ),
}
MATRIX_CASES = {
    "bands-16": Case("best strategy with 16 bands, 2,000 steps", (US, JAX), answer="MSE"),
    "bands-64": Case("best strategy with 64 bands, 2,000 steps", (US, JAX), answer="MSE"),
    "band-table": Case(
        "best strategies with 2, 4, ..., 64 bands, 2,000 steps: the last of six", answer="MSE"
    ),
    "bands-long-run": Case("best strategy with 64 bands, 100,000 steps", answer="MSE"),
    "noise-stream": Case(
        "20 rows of noise, 1,000,000 parameters, 16 bands",
        (US, JAX),
        answer="memory over bands x parameters",
    ),
    "50-bins": Case(
        "balls-in-bins, 50 bins, 2 bands, 3 epochs: "
        "Renyi moments, we all orders to 16, dictionaries 16 alone",
        (US, "dictionaries"),
        median_of_warm,
        answer="divergence",
    ),
    **{
        f"{c['bins']}-bins": Case(
            f"balls-in-bins, {c['bins']:,} bins, bands: {c['bands']}, 3 epochs: "
            f"Renyi moments, every order to {c['largest']:,}",
            typical=median_of_warm,
            answer="divergence",
        )
        for c in BINS["large"]
    },
    "conditional": Case(
        "balls-in-bins, 100 bins, 4 bands, 20 epochs, noise 12, delta 1e-5, by `conditional`",
        repeats=1,
    ),
    "gram": Case(
        "balls-in-bins, 100 bins, 4 bands, 10 epochs, noise 4, delta 1e-5: by `gram`, by "
        "`renyi`, and a claim of epsilon 1 verified by draws on all cores",
        (US, "method renyi", "draws"),
        median_of_warm,
        repeats=3,
    ),
    "gram-small-delta": Case("the same at delta 1e-10", typical=median_of_warm, repeats=3),
    "gram-noise": Case(
        "the same at delta 1e-5 and epsilon 1: noise by `gram` over a simulation's",
        repeats=1,
        answer="ratio",
    ),
    "gram-1000-bins": Case("the same with 1,000 bins, noise 4, delta 1e-5", repeats=1),
}
DRAW_CASES = {
    "b-min-sep-draws": Case(
        "b-min-sep, 16 bands, 2,000 steps: delta from 100,000 draws",
        (US, JAX_DRAWS),
        median_of_warm,
        answer="delta",
    ),
    "balls-in-bins-draws": Case(
        "balls-in-bins, 100 bins, 16 bands, 2,000 steps: delta from 100,000 draws",
        (US, JAX_DRAWS),
        median_of_warm,
        limit_seconds=600,
        answer="delta",
    ),
    "many-draws": Case(
        "b-min-sep, 16 bands, 2,000 steps: delta from 1,000,000 draws", repeats=1, answer="delta"
    ),
    "verified-noise": Case(
        "noise for epsilon 8, delta 1e-5, verified: b-min-sep, 32 bands, 2,000 steps",
        repeats=1,
        limit_seconds=1_800,
        answer="noise",
    ),
}
VERIFIED_CASES = {
    name: Case(
        f"a claim of epsilon {c['epsilon']:g}, delta {c['delta']:g} verified at noise 1 % above "
        "the estimate: b-min-sep, 16 bands, 2,000 steps (1: accepted)",
        repeats=1,
        limit_seconds=900,
        answer="accepted",
    )
    for name, c in CLAIMS.items()
}
EVERYDAY_CASES = {
    "compare-quick": Case(
        "the command `compare --quick`, 60,000 examples, batches of 512, 20 epochs",
        repeats=1,
        answer=NOTHING,
    ),
    "shell-epsilon": Case(
        "the case calibrate's run from the shell: a process that prints epsilon at noise 1.2",
        (US, DP, OPACUS_RDP, OPAKE),
        repeats=3,
        answer=NOTHING,
    ),
    "shell-calibrate": Case(
        "a process that prints the noise for epsilon 2",
        (US, DP, OPACUS_RDP, OPAKE),
        repeats=3,
        answer=NOTHING,
    ),
    "filter-steps": Case(
        "steps of a residual filter at epsilon 2, delta 1e-5 over those fixed in advance: "
        "rate 0.01, noise 1",
        repeats=1,
        answer="ratio",
    ),
}
ADAPTIVE_CASES = {
    **{
        name: Case(
            f"a Levy filter for the showcase (3,650 steps) in blocks of {c['block']}, delta "
            f"{c['delta']:g}: epsilon over that of the same steps fixed in advance",
            repeats=1,
            answer="ratio",
        )
        for name, c in LEVY.items()
    },
    "levy-requests": Case(
        "100,000 requests to a Levy filter: the last 10,000 over the first",
        repeats=1,
        answer="ratio",
    ),
    "renyi-requests": Case(
        "100,000 requests to a Renyi filter: the last 10,000 over the first",
        repeats=1,
        answer="ratio",
    ),
    "individual": Case("one step for a million budgets", typical=median_of_warm, answer=NOTHING),
    "ledger": Case(
        "300 requests through a ledger in a file", repeats=2, answer="requests per second"
    ),
}
OTHER_CASES = {
    "training-step": Case(
        "1,000,000 parameters, 16 bands: our batches and noise over Opacus' own, per step",
        (TRAINING,),
        repeats=1,
        answer="ratio",
    ),
    "import": Case(
        "starting Python and importing the package",
        (US, DP, PRV, PLD, JAX, ALLOCATION, OPACUS_RDP, OPAKE, RISKCAL),
        repeats=3,
        answer=NOTHING,
    ),
}
CASES = {
    **POISSON_CASES,
    **ALLOCATION_CASES,
    **MATRIX_CASES,
    **DRAW_CASES,
    **VERIFIED_CASES,
    **ADAPTIVE_CASES,
    **EVERYDAY_CASES,
    **OTHER_CASES,
}
# What a reader has to know before comparing an answer with ours.
CAVEATS = {
    ("4-of-1024", OPAKE): "of 4 blocks of 256: it has no other form",
    ("16-of-1024", OPAKE): "of 16 blocks of 64: it has no other form",
    ("five-runs", OPAKE): "the last of five alone",
    ("five-runs", ALLOCATION): "its add direction is unsound for more than one epoch",
    ("4-of-1024", PLD): "its lower number is not a bound for more than one pick",
    ("16-of-1024", PLD): "its lower number is not a bound for more than one pick",
    ("b-min-sep-draws", JAX_DRAWS): "an estimate without an interval",
    ("balls-in-bins-draws", JAX_DRAWS): "an estimate without an interval",
}

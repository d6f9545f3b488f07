"""How often audits accuse runs of 500 steps with 1,000 canaries: the table of docs/audit.md.

    python benchmarks/audit_runs.py measure [TEXT]    what has TEXT in its name, or everything
    python benchmarks/audit_runs.py table             the rows of the page

As runs of the library make them: 333 members alone, 334 others, a crowd of 333 members. Noise is
that of epsilon = 4 at delta = 1e-3. Results are kept in `audit_runs.json`, and only what is not
there yet is measured.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import hockeystick as hs
from hockeystick.audit.lower_bounds import measured_noise

RESULTS = Path(__file__).with_name("audit_runs.json")
RUNS, STEPS, DELTA, CONFIDENCE = 300, 500, 1e-3, 0.95
ALONE, OTHERS, CROWD = 333, 334, 333
MEMBERS = np.concatenate((np.repeat([1, 0], [ALONE, OTHERS]), [CROWD]))
BSR = hs.strategies.bsr(STEPS, bands=4)
PLANS = {
    "Poisson, 5 %": hs.Plan(sampling=hs.Poisson(rate=0.05), steps=STEPS),
    "balls-in-bins, 20 bins, BSR(4)": hs.Plan(
        sampling=hs.BallsInBins(bins=20), steps=STEPS, strategy=BSR
    ),
    "b-min-sep, rate 0.06, BSR(4)": hs.Plan(
        sampling=hs.MinSep(rate=0.06, separation=4), steps=STEPS, strategy=BSR
    ),
}
POISSON, BINS, MIN_SEP = PLANS
NOISE = {POISSON: 1.1626, BINS: 3.357, MIN_SEP: 2.407}
# Examples of the data sets that are shuffled, members among them.
MANY, ONLY_MEMBERS = 20_000, ALONE + CROWD

Batches = Iterator[np.ndarray]
Drawn = Callable[[hs.Plan, np.random.Generator], Batches]


def as_planned(plan: hs.Plan, rng: np.random.Generator) -> Batches:
    """The plan's own sampler."""
    return plan.batches(examples=ALONE + CROWD, rng=rng)


def shuffled(examples: int, *, anew: bool) -> Drawn:
    """Batches of a twentieth of the data, cut from a permutation."""

    def batches(plan: hs.Plan, rng: np.random.Generator) -> Batches:
        for step in range(plan.steps):
            if step == 0 or (anew and step % 20 == 0):
                batch = rng.permutation(examples)[: ALONE + CROWD] * 20 // examples
            yield np.flatnonzero(batch == step % 20)

    return batches


class Case(NamedTuple):
    """A run that does what its plan says, or not.

    Attributes
    ----------
    plan
        Its name.
    what
        In words.
    batches
        Of the members: those alone before those of the crowd.
    noise
        Its size over the planned one.
    anew
        Whether correlated noise begins anew in the middle.
    """

    plan: str
    what: str
    batches: Drawn = as_planned
    noise: float = 1.0
    anew: bool = False

    @property
    def name(self) -> str:
        """The plan and what is done."""
        return f"{self.plan}: {self.what}"

    @property
    def correct(self) -> bool:
        """Whether the run is to be consistent."""
        return self.what == "as planned"


CASES = [
    *(Case(plan, "as planned") for plan in PLANS),
    *(Case(plan, "noise 10 % too small", noise=0.9) for plan in PLANS),
    Case(POISSON, "shuffled in every epoch, 20,000 examples", shuffled(MANY, anew=True)),
    Case(POISSON, "shuffled in every epoch, canaries alone", shuffled(ONLY_MEMBERS, anew=True)),
    Case(POISSON, "shuffled once, 20,000 examples", shuffled(MANY, anew=False)),
    *(Case(plan, "noise begins anew after step 250", anew=True) for plan in (BINS, MIN_SEP)),
]


def released(case: Case, rng: np.random.Generator) -> np.ndarray:
    """What a run releases along canaries, and along the crowd in the last row."""
    plan = PLANS[case.plan]
    noise = rng.standard_normal((STEPS, MEMBERS.size))
    matrix = plan.strategy.to_matrix()
    parts = np.split(np.arange(STEPS), [STEPS // 2]) if case.anew else [np.arange(STEPS)]
    if not plan.strategy.is_identity:
        noise = np.concatenate(
            [np.linalg.solve(matrix[np.ix_(one, one)], noise[one]) for one in parts]
        )
    rows = NOISE[case.plan] * case.noise * noise.T
    for step, batch in enumerate(case.batches(plan, rng)):
        rows[batch[batch < ALONE], step] += 1.0
        rows[-1, step] += np.count_nonzero(batch >= ALONE)
    return rows


def measured(case: Case) -> dict[str, Any]:
    """How many of the runs are consistent, and epsilon from below."""
    plan, noise = PLANS[case.plan], NOISE[case.plan]
    rng = np.random.default_rng([11, CASES.index(case)])
    consistent, seen = 0, []
    for _ in range(RUNS):
        rows = released(case, rng)
        report = hs.audit.check(plan, noise_multiplier=noise, projections=rows, members=MEMBERS)
        consistent += report.consistent
        others = rows[ALONE : ALONE + OTHERS] @ plan.strategy.to_matrix().T
        seen.append(measured_noise(others, confidence=CONFIDENCE))
    found: dict[str, Any] = {"runs": RUNS, "consistent": consistent}
    if case.correct:
        # Epsilon falls with noise, so two of the 300 are enough.
        found["epsilon_lower"] = [
            hs.account(plan, noise_multiplier=one).answer(delta=DELTA).lower
            for one in (max(seen), min(seen))
        ]
        found["epsilon_lower_above"] = int(np.sum(np.array(seen) < noise))
        answer = hs.account(plan, noise_multiplier=noise).answer(delta=DELTA)
        found["epsilon"] = [answer.lower, answer.value]
    return found


def kept() -> dict[str, Any]:
    """What is measured already."""
    return dict(json.loads(RESULTS.read_text())) if RESULTS.exists() else {}


def rows_of_table() -> Iterator[str]:
    """The rows of the page."""
    known = kept()
    yield "| plan | noise | run | consistent | ε from below; proven |"
    yield "|---|---|---|---|---|"
    for case in CASES:
        found = known[case.name]
        bounds = ""
        if case.correct:
            low, high = found["epsilon_lower"]
            bounds = f"{low:.2f} to {high:.2f}; {found['epsilon'][1]:.2f}"
        count = f"{found['consistent']} of {found['runs']}"
        yield f"| {case.plan} | {NOISE[case.plan]} | {case.what} | {count} | {bounds} |"


def main() -> None:
    """Measure or print."""
    if sys.argv[1] == "table":
        print("\n".join(rows_of_table()))
        return
    wanted = sys.argv[2] if len(sys.argv) > 2 else ""
    for case in CASES:
        name = case.name
        if wanted in name and name not in kept():
            found = measured(case)
            print(name, found, flush=True)
            # In the order of the cases; another process may have written in the meantime.
            known = {**kept(), name: found}
            ordered = {key: known[key] for one in CASES if (key := one.name) in known}
            RESULTS.write_text(json.dumps(ordered, indent=1) + "\n")


if __name__ == "__main__":
    main()

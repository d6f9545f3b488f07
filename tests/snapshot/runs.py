"""Questions about strategies, noise, batches and training runs."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import hockeystick as hs
from snapshot.plans import SCHEMES, STRATEGIES, plan, strategy
from snapshot.questions import Numbers, Question, index_summary, summary

SEED, EXAMPLES = 11, 500
DROPPED = ("users, shared", "poisson 2000", "bins 1000")


def _strategy(name: str, steps: int) -> Numbers:
    """Coefficients, lengths, sensitivities and errors."""
    made = strategy(name, steps)
    found: Numbers = {"bands": made.bands, "inverse bands": made.inverse_bands}
    if made.coefficients is not None:
        found |= summary("coefficients", made.coefficients)
    if made.inverse_coefficients is not None:
        found |= summary("inverse coefficients", made.inverse_coefficients)
    found |= summary("column norms", made.column_norms)
    for separation, participations in ((1, 1), (1, None), (4, 3), (10, None)):
        one = made.sensitivity(separation=separation, participations=participations)
        told = f"sensitivity {separation} {participations}"
        found |= {told: float(one), f"{told}, exact": bool(one.exact)}
    slow = hs.strategies.momentum(steps, decay=0.9)
    return found | {
        "mean error": made.mean_squared_error(),
        "max error": made.max_squared_error(),
        "mean error with momentum": made.mean_squared_error(slow),
        "gram": float(np.sum(made.gram(spacing=10) ** 2)),
        "summed columns": float(np.sum(made.summed_columns(spacing=10) ** 2)),
        "matrix": float(np.sum(made.to_matrix() ** 2)),
        "inverse matrix": float(np.sum(made.inverse_matrix() ** 2)),
    }


def _optimised() -> Numbers:
    """Strategies that are optimised for something else than the default."""
    strategies = hs.strategies
    slow = strategies.momentum(50, decay=0.9)
    repeated: dict[str, Any] = {"separation": 10, "participations": 5}
    made = {
        "band-mf, max": strategies.band_mf(50, 4, error="max"),
        "band-mf, momentum": strategies.band_mf(50, 4, workload=slow),
        "band-inv-mf, repeated": strategies.band_inv_mf(50, 4, **repeated),
        "blt, repeated": strategies.blt(50, 3, **repeated),
    }
    found: Numbers = {}
    for name, one in made.items():
        found |= summary(name, one.coefficients)
        found[f"error of {name}"] = one.mean_squared_error()
        found[f"sensitivity of {name}"] = float(one.sensitivity(**repeated))
    return found


def _noise(name: str) -> Numbers:
    """The rows of noise for a seed, in double and in single precision."""
    made = strategy(name, 40)
    double = list(made.noise(6, scale=1.5, dtype=np.float64, rng=SEED))
    single = list(made.noise((2, 3), scale=0.5, rng=SEED))
    return summary("double", np.array(double)) | summary("single", np.array(single))


def _graph() -> hs.Attribution:
    """Five hundred examples of two hundred and fifty users, two for each."""
    examples = np.arange(EXAMPLES)
    return hs.Attribution.from_pairs(
        examples=examples,
        users=examples % 250,
        number_of_examples=EXAMPLES,
        number_of_users=250,
    )


def _batches(scheme: str) -> Numbers:
    """Batches for a seed, and their expected size."""
    trained = plan(scheme)
    examples: Any = _graph() if trained.sampling.unit == "user" else EXAMPLES
    found = index_summary(trained.batches(examples=examples, rng=SEED))
    size: Any = trained.sampling.expected_batch_size(examples)
    return found | {
        "expected size": float(size),
        "most participations": int(trained.sampling.most_participations(trained.steps)),
    }


def _bounded() -> Numbers:
    """A graph in which users share examples, and what is left of it."""
    rng = np.random.default_rng(5)
    users = np.concatenate([np.arange(300) % 60, rng.integers(60, size=150)])
    graph = hs.Attribution.from_pairs(
        examples=np.concatenate([np.arange(300), rng.integers(300, size=150)]),
        users=users,
        number_of_examples=300,
        number_of_users=60,
    )
    kept = hs.bound_contributions(graph, examples_per_user=5, neighbourhood=12, rng=SEED)
    shared = hs.UserMinSep(rate=0.2, separation=3, examples_per_user=9, shared_examples=True)
    small = hs.bound_contributions(graph, examples_per_user=9, rng=SEED).attribution
    drawn = index_summary(shared.batches(examples=small, steps=30, rng=SEED))
    return {**kept.describe(), **index_summary([kept.kept]), "drawn": drawn["checksum"]}


def _rates() -> Numbers:
    """The rates of schemes that are made for a batch size."""
    poisson = hs.Poisson.for_batch_size(30, examples=EXAMPLES)
    cyclic = hs.CyclicPoisson.for_batch_size(30, examples=EXAMPLES, groups=5)
    apart = hs.MinSep.for_batch_size(30, examples=EXAMPLES, separation=5)
    users = hs.UserMinSep.for_batch_size(15, examples=_graph(), separation=5)
    conjectured = hs.ConjecturedUserMinSep.for_batch_size(15, examples=_graph(), separation=5)
    dealt = hs.RandomAllocation.for_batch_size(50, examples=EXAMPLES, picks=2)
    return {
        "poisson": poisson.rate,
        "cyclic": cyclic.rate,
        "min-sep": apart.rate,
        "min-sep, participation": apart.participation_rate,
        "users": users.rate,
        "conjectured": conjectured.rate,
        "bins": hs.BallsInBins.for_batch_size(50, examples=EXAMPLES).bins,
        "out of": dealt.out_of,
    }


def _data() -> tuple[Any, Any]:
    """Examples with a label that is nearly linear in them."""
    rng = np.random.default_rng(2)
    points = rng.normal(size=(EXAMPLES, 4))
    return points, (points @ [1.0, -2.0, 0.5, 0.0] + rng.normal(size=EXAMPLES) > 0).astype(float)


def _stated(run: Any) -> Numbers:
    """The fields of a statement, and whether it holds."""
    statement = run.statement(delta=1e-5)
    again = hs.training.check_statement(statement)
    return {
        "epsilon": statement.epsilon,
        "kind": statement.kind,
        "method": statement.method,
        "unit": statement.unit,
        "noise multiplier": statement.noise_multiplier,
        "clip norm": statement.max_grad_norm,
        "planned steps": statement.planned_steps,
        "taken steps": statement.taken_steps,
        "seeded": bool(statement.seeded),
        "holds": bool(again.holds),
        "checked epsilon": float(again.epsilon),
    }


def _trained(which: str) -> Numbers:
    """A private fit with a seed: its parameters and its statement."""
    points, targets = _data()
    options: dict[str, Any] = {"max_grad_norm": 1.0, "learning_rate": 1.0, "rng": SEED}
    fit: Any = hs.training.fit_logistic
    trained, noise = plan("poisson"), 1.5
    if which == "linear":
        fit, trained, noise = hs.training.fit_linear, plan("cyclic", "band-mf"), 3.0
    elif which == "filtered":
        expected = [(0.05, 1.5, 100)]
        options["filter"] = hs.filters.Renyi(epsilon=1.0, delta=1e-5, expected=expected)
    elif which == "individual":
        options["filter"] = hs.filters.Individual.gaussian(examples=EXAMPLES, mu=1.0)
    elif which == "users":
        trained, noise, options["attribution"] = plan("users"), 4.0, _graph()
    model, run = fit(points, targets, plan=trained, noise_multiplier=noise, **options)
    found = summary("parameters", model.parameters) | _stated(run)
    return found | {"mean prediction": float(np.mean(model.predict(points)))}


QUESTIONS = [
    *(Question(f"strategy {name}", partial(_strategy, name, 50)) for name in STRATEGIES),
    *(
        Question(f"strategy {name} of 1000", partial(_strategy, name, 1000))
        for name in ("bsr", "bisr", "band-mf")
    ),
    Question("optimised strategies", _optimised),
    *(Question(f"noise of {name}", partial(_noise, name)) for name in STRATEGIES),
    *(
        Question(f"batches of {scheme}", partial(_batches, scheme))
        for scheme in SCHEMES
        if scheme not in DROPPED
    ),
    Question("bounded contributions", _bounded),
    Question("rates", _rates),
    *(
        Question(f"trained, {which}", partial(_trained, which))
        for which in ("logistic", "linear", "filtered", "individual", "users")
    ),
]

"""What the experiments with fixed features share: private linear heads, tuned, tried and stated.

A head is a linear layer with the cross-entropy of its softmax, trained by `PrivateRun` with the
exact gradient of every example, a product of two vectors. Every result is kept in a folder under
what it depends on, so that an interrupted experiment continues where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import hockeystick as hs
from hockeystick.training import fingerprint
from hockeystick.training.plan_object import digest_of
from result_store import Store

__all__ = [
    "Data",
    "Heads",
    "Priced",
    "Recipe",
    "Trained",
    "compact",
    "expanded",
    "plan_key",
    "split",
    "train",
]

Array = NDArray[np.float32]
# Of a statement, what differs between the runs of one plan with one noise.
OF_THE_RUN = ("run_id", "parameters", "probe", "note", "versions")


def plan_key(plan: hs.Plan) -> dict[str, Any]:
    """What tells plans apart, the numbers of their strategies included."""
    return {**plan.describe(), "digest": digest_of(plan.strategy)}


class Data(NamedTuple):
    """Features with labels, to train on and to measure accuracy on."""

    features: Array
    labels: NDArray[np.int64]
    test_features: Array
    test_labels: NDArray[np.int64]
    attribution: hs.Attribution | None = None


def split(data: Data, held_out: int) -> Data:
    """The last training examples in the place of the test; nothing of the test is left."""
    cut = len(data.labels) - held_out
    return Data(data.features[:cut], data.labels[:cut], data.features[cut:], data.labels[cut:])


@dataclass(frozen=True)
class Recipe:
    """How a head is trained; the learning rate falls to a part of its first one.

    Momentum averages gradients, with weights that sum to 1, so that rates compare.
    `last` is that part, reached between the first and the last quarter of the steps; 1 for a
    constant rate. `averaged` is the part of the last steps whose iterates are averaged in the end.
    """

    clip: float = 1.0
    momentum: float = 0.95
    last: float = 0.05
    averaged: float = 0.0

    def rate(self, step: int, steps: int) -> float:
        """The learning rate of a step over the first one."""
        way = min(max((step - steps / 4) / (steps / 2), 0.0), 1.0)
        return 1 - (1 - self.last) * way


@dataclass(frozen=True)
class Priced:
    """A plan with its noise: proven, verified (with its guarantee), or an estimate without one.

    Noise 0 means training without clipping, which is not private at all.
    """

    plan: hs.Plan
    noise_multiplier: float
    kind: str
    method: str
    seconds: float
    guarantee: Callable[[], hs.Guarantee] | None = field(default=None, compare=False)
    workload: Any = field(default=None, compare=False)

    @property
    def mse(self) -> float:
        """The mean squared error of the workload, by default prefix sums, in squared clip norms."""
        return self.noise_multiplier**2 * self.plan.strategy.mean_squared_error(self.workload)

    def content(self) -> dict[str, Any]:
        """What tables say about it."""
        return {
            "bands": self.plan.strategy.bands,
            "noise_multiplier": round(self.noise_multiplier, 5),
            "kind": self.kind,
            "method": self.method,
            "mse": round(self.mse, 3),
            "seconds_to_calibrate": self.seconds,
        }


class Trained(NamedTuple):
    """The parameters, the run, if it was private, and the scores of classes for some features."""

    weights: Any
    run: Any
    scores: Callable[[Array], Array]


@dataclass(frozen=True)
class Heads:
    """Heads for one data set: trained by a recipe, remembered under `about`.

    `tuning` are the data on which learning rates are compared, without any of the test. `fit` may
    train something else than a head, in the place of `train`.
    """

    data: Data
    tuning: Data
    recipe: Recipe
    delta: float
    store: Store
    about: dict[str, Any]
    fit: Callable[..., Trained] | None = None
    known: dict[Priced, hs.training.Statement] = field(default_factory=dict)

    def accuracies(
        self, priced: Priced, rate: float, seeds: Sequence[int], *, tuning: bool = False
    ) -> list[dict[str, Any]]:
        """For each seed the accuracy, and the statement of the run if it has a guarantee."""
        data = self.tuning if tuning else self.data

        def one(seed: int) -> dict[str, Any]:
            fit = train if self.fit is None else self.fit
            trained = fit(data, priced, self.recipe, learning_rate=rate, seed=seed)
            classes = trained.scores(data.test_features).argmax(axis=1)
            found = {"accuracy": float(np.mean(classes == data.test_labels))}
            if trained.run is not None and priced.guarantee is not None and not tuning:
                found["statement"] = self._stated(priced, trained).to_object()
            return found

        key = {
            "about": self.about,
            "recipe": asdict(self.recipe),
            "plan": plan_key(priced.plan),
            "noise": priced.noise_multiplier,
            "kind": priced.kind,
            "rate": rate,
            "tuning": tuning,
        }
        kind = "search" if tuning else "runs"
        return [self.store.get(kind, {**key, "seed": seed}, partial(one, seed)) for seed in seeds]

    def _stated(self, priced: Priced, trained: Trained) -> hs.training.Statement:
        """The statement of a run; epsilon is computed once for each plan with its noise."""
        run: Any = trained.run
        record, digest = run.record(), fingerprint(trained.weights)
        known = self.known.get(priced)
        if known is None:
            verified: Any = priced.guarantee
            options = {"guarantee": verified()} if priced.kind == "verified" else {}
            known = run.statement(delta=self.delta, parameters=digest, **options)
            self.known[priced] = known
        own = {"run_id": record.run_id, "parameters": digest, "probe": dict(record.probe)}
        return replace(known, **own)

    def tuned(
        self, priced: Priced, rates: Sequence[float], seeds: Sequence[int]
    ) -> tuple[float, dict[float, float]]:
        """The learning rate that is best on held-out examples, and what those tried gave there.

        From the middle one to its neighbours, until both are worse.
        """
        found: dict[float, float] = {}
        order = sorted(rates)
        at = len(order) // 2
        while True:
            for near in (at, at - 1, at + 1):
                if 0 <= near < len(order) and order[near] not in found:
                    tried = self.accuracies(priced, order[near], seeds, tuning=True)
                    mean = float(np.mean([one["accuracy"] for one in tried]))
                    found[order[near]] = round(mean, 4)
            best = max(found, key=lambda rate: found[rate])
            if best == order[at]:
                return best, found
            at = order.index(best)


def train(
    data: Data, priced: Priced, recipe: Recipe, *, learning_rate: float, seed: int
) -> Trained:
    """A head from zero; the seed decides batches and noise.

    Seeds make a comparison repeatable. A run on data that are to be protected has none.
    """
    classes, features = int(data.labels.max()) + 1, data.features.shape[1]
    weights = np.zeros((classes, features))
    velocity, average = np.zeros_like(weights), np.zeros_like(weights)

    def factors(batch: NDArray[np.int64]) -> hs.training.OuterProducts:
        inputs, labels = data.features[batch], data.labels[batch]
        scores = inputs @ weights.T.astype(np.float32)
        slopes = np.exp(scores - scores.max(axis=1, keepdims=True))
        slopes /= slopes.sum(axis=1, keepdims=True)
        slopes[np.arange(len(batch)), labels] -= 1
        return hs.training.OuterProducts(slopes, inputs)

    examples, steps, run = len(data.labels), priced.plan.steps, None
    if priced.noise_multiplier == 0:
        size = priced.plan.sampling.expected_batch_size(examples)
        batches = priced.plan.batches(examples=examples, rng=seed)
        means = (np.ones(len(batch)) @ factors(batch) / size for batch in batches)
    else:
        run = hs.training.PrivateRun(
            priced.plan,
            examples=data.attribution if priced.plan.sampling.unit == "user" else examples,
            dimension=weights.size,
            noise_multiplier=priced.noise_multiplier,
            max_grad_norm=recipe.clip,
            rng=seed,
        )
        means = (run.step(factors) for _ in range(steps))
    first = steps - max(round(recipe.averaged * steps), 1)
    for step, mean in enumerate(means):
        velocity *= recipe.momentum
        velocity += (1 - recipe.momentum) * mean.reshape(weights.shape)
        weights -= learning_rate * recipe.rate(step, steps) * velocity
        if step >= first:
            average += (weights - average) / (step - first + 1)
    return Trained(average, run, lambda rows: rows @ average.T.astype(np.float32))


def compact(statements: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Statements of runs with one plan and one noise: the first, and what is different in others.

    `InvalidParameter` if more than that differs.
    """
    first = dict(statements[0])
    runs = [
        {name: one[name] for name in OF_THE_RUN if one[name] != first[name]} for one in statements
    ]
    for one, run in zip(statements, runs, strict=True):
        if {**first, **run} != one:
            raise hs.errors.InvalidParameter("statements", "of one plan with one noise", one)
    return {"statement": first, "runs": runs}


def expanded(found: Mapping[str, Any]) -> Iterator[hs.training.Statement]:
    """The statements that `compact` was given."""
    for run in found["runs"]:
        yield hs.training.Statement.from_object({**found["statement"], **run})

"""What the training scripts share: four ways to draw batches, calibrated, tuned and tried out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from torch import nn
from torch.utils.data import TensorDataset

import hockeystick as hs
from accuracy_table import Accuracies, Entry
from curves import Curve, Drawing, Panels
from hockeystick.report import progress
from hockeystick.schemes import Sampling
from private_training import (
    CalibratedPlan,
    Recipe,
    accuracy,
    best_plan,
    train_plainly,
    train_privately,
)

__all__ = ["DP_SGD", "SCHEMES", "Effort", "Parts", "Setting", "compare", "panels"]

# Learning rates are chosen with other seeds than accuracies are found.
FIRST_TUNING_SEED, FIRST_SEED = 1_000, 0
DP_SGD = "DP-SGD, Poisson"


class Parts(NamedTuple):
    """Data to train on, to choose the learning rate on, and to test on."""

    train: TensorDataset
    validation: TensorDataset
    test: TensorDataset


@dataclass(frozen=True)
class Setting:
    """The size of the problem; an epoch is a round through the bins."""

    examples: int
    steps_per_epoch: int
    steps: int
    delta: float

    @property
    def batch_size(self) -> float:
        """Expected, for all schemes."""
        return self.examples / self.steps_per_epoch

    def plan(self, sampling: Sampling, bands: int) -> hs.Plan:
        """Batches with correlated noise of so many bands."""
        strategy = hs.strategies.band_mf(self.steps, bands)
        return hs.Plan(sampling=sampling, steps=self.steps, strategy=strategy)


class Effort(NamedTuple):
    """How much is tried, and how closely noise is found."""

    epsilons: Sequence[float]
    bands: Sequence[int]
    bands_of_bins: Sequence[int]
    learning_rates: Sequence[float]
    tuning_seeds: int
    seeds: int
    accuracy: float
    budget: float
    verified: bool = False
    """Whether noise is verified by draws where a scheme can be."""


def poisson(setting: Setting, _bands: int) -> hs.Plan:
    """Every batch drawn afresh, independent noise: no bands."""
    sampling = hs.Poisson.for_batch_size(setting.batch_size, examples=setting.examples)
    return hs.Plan(sampling=sampling, steps=setting.steps)


def cyclic_poisson(setting: Setting, bands: int) -> hs.Plan:
    """As many groups as bands."""
    sampling = hs.CyclicPoisson.for_batch_size(
        setting.batch_size, examples=setting.examples, groups=bands
    )
    return setting.plan(sampling, bands)


def balls_in_bins(setting: Setting, bands: int) -> hs.Plan:
    """The same batches in every epoch, whatever the strategy is."""
    return setting.plan(hs.BallsInBins(bins=setting.steps_per_epoch), bands)


def b_min_sep(setting: Setting, bands: int) -> hs.Plan:
    """The separation is the number of bands."""
    sampling = hs.MinSep.for_batch_size(
        setting.batch_size, examples=setting.examples, separation=bands
    )
    return setting.plan(sampling, bands)


SCHEMES: dict[str, Callable[[Setting, int], hs.Plan]] = {
    DP_SGD: poisson,
    "cyclic Poisson, BandMF": cyclic_poisson,
    "balls-in-bins, BandMF": balls_in_bins,
    "b-min-sep, BandMF": b_min_sep,
}


# Draws give less noise than proofs do.
DRAWN = ("balls-in-bins, BandMF", "b-min-sep, BandMF")


def calibrated_plan(
    scheme: str, setting: Setting, epsilon: float, effort: Effort
) -> CalibratedPlan:
    """The best number of bands, and its noise."""
    tried = {DP_SGD: (1,), "balls-in-bins, BandMF": effort.bands_of_bins}
    plans = [SCHEMES[scheme](setting, bands) for bands in tried.get(scheme, effort.bands)]
    return best_plan(
        plans,
        epsilon=epsilon,
        delta=setting.delta,
        accuracy=effort.accuracy,
        budget=effort.budget,
        by_draws=effort.verified and scheme in DRAWN,
    )


@dataclass(frozen=True)
class Trial:
    """Trains by a function of learning rate and seed; says how good the networks are."""

    train: Callable[[float, int], nn.Module]
    parts: Parts

    def tuned(self, effort: Effort) -> tuple[float, list[float]]:
        """The learning rate that is best in validation, and its accuracies in the test."""

        def validated(rate: float) -> float:
            seeds = range(FIRST_TUNING_SEED, FIRST_TUNING_SEED + effort.tuning_seeds)
            return sum(accuracy(self.train(rate, seed), self.parts.validation) for seed in seeds)

        rate = max(effort.learning_rates, key=validated)
        seeds = range(FIRST_SEED, FIRST_SEED + effort.seeds)
        return rate, [accuracy(self.train(rate, seed), self.parts.test) for seed in seeds]


def compare(setting: Setting, recipe: Recipe, parts: Parts, effort: Effort) -> Accuracies:
    """All schemes at all epsilons, and the same network without privacy."""

    def entry(scheme: str, epsilon: float) -> Entry:
        calibrated = calibrated_plan(scheme, setting, epsilon, effort)

        def privately(rate: float, seed: int) -> nn.Module:
            return train_privately(recipe, parts.train, calibrated, learning_rate=rate, seed=seed)

        return Entry(scheme, epsilon, calibrated, *Trial(privately, parts).tuned(effort))

    entries = []
    with progress("Training ...") as update:
        for scheme, epsilon in product(SCHEMES, effort.epsilons):
            update(f"Training: {scheme}, epsilon {epsilon:g} ...")
            entries.append(entry(scheme, epsilon))
    plan = poisson(setting, 1)

    def plainly(rate: float, seed: int) -> nn.Module:
        return train_plainly(recipe, parts.train, plan, learning_rate=rate, seed=seed)

    _, without = Trial(plainly, parts).tuned(effort)
    return Accuracies(entries, without, baseline=DP_SGD)


def panels(name: str, title: str, setting: Setting, found: Accuracies) -> Panels:
    """Accuracy and MSE against epsilon, the latter relative to DP-SGD."""
    errors = Drawing(
        name="mse",
        title="MSE of prefix sums at the same ε",
        x_label="ε",
        y_label=f"MSE / MSE of {DP_SGD}",
        setting={
            "steps": setting.steps,
            "examples": setting.examples,
            "batch_size": setting.batch_size,
            "delta": setting.delta,
        },
        curves=[Curve(scheme, *found.errors(scheme)) for scheme in SCHEMES],
        log_y=False,
    )
    about = (
        f"{title}, {setting.steps:,} steps with batches of {setting.batch_size:g} of "
        f"{setting.examples:,}, δ = {setting.delta:g}"
    )
    return Panels(name, about, [found, errors], columns=2)

"""Ways to draw batches and noise for linear heads, and the noise that they need.

Every mechanism gives the same (epsilon, delta) and expects the same number of examples in a batch.
Bands are fixed here, by errors that depend on no data; of several candidates the one with the
smallest error is taken. Noise is proven to be enough, or verified by draws where that gives less
noise; the candidates of one choice share the probability of a wrong acceptance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import hockeystick as hs
from linear_heads import Priced, plan_key
from result_store import Store

__all__ = ["DP_SGD", "MECHANISMS", "Mechanism", "Size", "Target", "calibrated", "poisson", "price"]

# Of the draws that verify noise; they are repeatable.
VERIFIER_SEED = 30
DP_SGD = "DP-SGD, Poisson"


@dataclass(frozen=True)
class Size:
    """The size of a run."""

    examples: int
    batch_size: int
    steps: int

    @property
    def per_epoch(self) -> int:
        """Steps in a round through all examples."""
        return self.examples // self.batch_size


class Target(NamedTuple):
    """What every run gives."""

    epsilon: float
    delta: float


@dataclass(frozen=True)
class Mechanism:
    """A scheme with a strategy: `plan(size, bands)`, and which bands are tried at an epsilon."""

    plan: Callable[[Size, int], hs.Plan]
    bands: Callable[[float], Sequence[int]]
    by_draws: bool = False
    workload: Any = None
    """What the error is of; prefix sums by default."""

    def plans(self, size: Size, epsilon: float) -> list[hs.Plan]:
        """The candidates: no more than half an epoch of bands, or as many as that."""
        most = max(size.per_epoch // 2, 1)
        return [self.plan(size, b) for b in sorted({min(b, most) for b in self.bands(epsilon)})]


def _correlated(sampling: Any, strategy: Any) -> hs.Plan:
    return hs.Plan(sampling=sampling, steps=strategy.steps, strategy=strategy)


def poisson(size: Size, _: int) -> hs.Plan:
    """Every example in each step by itself, with independent noise; there are no bands."""
    sampling = hs.Poisson.for_batch_size(size.batch_size, examples=size.examples)
    return hs.Plan(sampling=sampling, steps=size.steps)


def _allocation(size: Size, _: int) -> hs.Plan:
    sampling = hs.RandomAllocation(picks=1, out_of=size.per_epoch)
    return hs.Plan(sampling=sampling, steps=size.steps)


def _cyclic(size: Size, bands: int) -> hs.Plan:
    sampling = hs.CyclicPoisson.for_batch_size(
        size.batch_size, examples=size.examples, groups=bands
    )
    return _correlated(sampling, hs.strategies.band_mf(size.steps, bands))


def _bins(size: Size, bands: int) -> hs.Plan:
    sampling = hs.BallsInBins(bins=size.per_epoch)
    return _correlated(sampling, hs.strategies.band_mf(size.steps, bands))


def _min_sep(size: Size, bands: int) -> hs.Plan:
    sampling = hs.MinSep.for_batch_size(size.batch_size, examples=size.examples, separation=bands)
    return _correlated(sampling, hs.strategies.bsr(size.steps, bands))


def _near(first: Mapping[float, Sequence[int]]) -> Callable[[float], Sequence[int]]:
    """The candidates of the largest epsilon that is not above the given one."""
    return lambda epsilon: first[max((e for e in first if e <= epsilon), default=min(first))]


def _none(_: float) -> Sequence[int]:
    return (1,)


# The best bands of the table of the b-min-sep paper (`b_min_sep_cifar_table`), by the error of
# prefix sums. Balls-in-bins stays below half an epoch, where draws of tuples verify its noise.
MECHANISMS: dict[str, Mechanism] = {
    DP_SGD: Mechanism(poisson, _none),
    "random allocation": Mechanism(_allocation, _none),
    "cyclic Poisson, BandMF": Mechanism(
        _cyclic, _near({0.5: (2,), 1.0: (4,), 2.0: (8,), 4.0: (16,), 8.0: (32,)})
    ),
    "balls-in-bins, BandMF": Mechanism(
        _bins, _near({0.5: (16,), 1.0: (32,), 2.0: (48,)}), by_draws=True
    ),
    "b-min-sep, BSR": Mechanism(
        _min_sep, _near({0.5: (8,), 1.0: (16,), 2.0: (32,), 4.0: (64,)}), by_draws=True
    ),
}


def price(
    mechanism: Mechanism, size: Size, target: Target, store: Store, *, draws: int | None
) -> Priced:
    """The plan with the smallest error, at noise that is proven or verified to be enough.

    The noise is remembered. If verified noise is needed once more to state a run, it is found again
    by the same draws, or tested by new ones.
    """
    plans = mechanism.plans(size, target.epsilon)
    choices = len(plans) if mechanism.by_draws else None
    known: list[hs.Guarantee] = []

    def found() -> dict[str, Any]:
        best, result = math.inf, {}
        for index, plan in enumerate(plans):
            noise = calibrated(plan, target, draws=draws, choices=choices)
            error = plan.strategy.mean_squared_error(mechanism.workload)
            error *= noise.noise_multiplier**2
            if error < best:
                best, known[:] = error, [noise.guarantee]
                method = noise.guarantee.answer(delta=target.delta).method
                kind, sigma = noise.guarantee.kind, noise.noise_multiplier
                result = {"plan": index, "noise": sigma, "kind": kind, "method": method}
        return result

    described = [plan_key(plan) for plan in plans]
    key: dict[str, Any] = {"plans": described, "target": target, "draws": draws}
    if mechanism.workload is not None:
        key["errors"] = [plan.strategy.mean_squared_error(mechanism.workload) for plan in plans]
    chosen = store.get("noise", key, found)
    plan, noise = plans[chosen["plan"]], chosen["noise"]

    def guarantee() -> hs.Guarantee:
        if not known:
            # With the same draws, where they give the same noise: new ones may refuse a true claim.
            again = calibrated(plan, target, draws=draws, choices=choices)
            known.append(
                again.guarantee
                if again.noise_multiplier == noise
                else hs.verify(plan, noise_multiplier=noise, **target._asdict())
            )
        return known[0]

    facts = chosen["kind"], chosen["method"], store.took("noise", key)
    return Priced(plan, noise, *facts, guarantee, mechanism.workload)


def calibrated(
    plan: hs.Plan, target: Target, *, draws: int | None, choices: int | None
) -> hs.Calibration:
    """Proven noise, or with `choices` verified noise for one of so many candidates."""
    if choices is None:
        return hs.calibrate(plan, **target._asdict())
    execution = hs.Execution(workers=1)
    method = hs.MonteCarlo(draws=draws, seed=VERIFIER_SEED, choices=choices, execution=execution)
    return hs.calibrate(plan, **target._asdict(), method=method)

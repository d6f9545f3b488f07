"""Where the batches and the noise of a NumPy run come from, and how they change between steps.

`ChangingRun` has the settings.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick._process import SingleUse
from hockeystick.errors import PlanMismatch
from hockeystick.plan import Plan
from hockeystick.randomness import RandomSource, generator, generators, is_secret
from hockeystick.schemes import Attribution, Indices
from hockeystick.training.adaptive_clipping import AdaptiveClipping, NormCount
from hockeystick.training.canaries import AuditedRun, RunCanaries
from hockeystick.training.filtered import WITHOUT_FILTER, scheme_at
from hockeystick.training.gradients import BatchSum, ClippingRule
from hockeystick.training.schedules import Schedule, StepSettings
from hockeystick.training.sum_lattice import SumLattice

__all__ = ["ChangingRun", "RunSources"]


class RunSources:
    """Batches, noise, the lattice of sums and the count of norms, for the present settings."""

    def __init__(
        self,
        plan: Plan,
        *,
        examples: int | Attribution,
        dimension: int,
        settings: StepSettings,
        policy: AdaptiveClipping | None,
        arithmetic: str,
        rng: RandomSource,
        canaries: RunCanaries | None = None,
    ) -> None:
        self.canaries = canaries
        self._plan, self._examples, self._policy = plan, examples, policy
        count = examples.examples if isinstance(examples, Attribution) else examples
        self._count = count
        self.lattice = None
        if arithmetic == "exact":
            self.lattice = SumLattice.of(
                noise_multiplier=settings.gradient_noise,
                max_grad_norm=settings.max_grad_norm,
                dimension=dimension,
                examples=count,
            )
        resolution = None if self.lattice is None else self.lattice.resolution
        # Batches and noise both draw from a generator that is given.
        of_noise, *others = generators(rng, 2) if not is_secret(rng) else (rng, rng)
        self._source = generator(others[0] if others else of_noise)
        drawn_from = examples if canaries is None else canaries.drawn_from
        self._batches = plan.batches(examples=drawn_from, rng=self._source)
        self.noise = plan.noise(
            dimension + (0 if canaries is None else canaries.coordinates),
            scale=settings.scale,
            dtype=np.float64,
            rng=of_noise,
            arithmetic=arithmetic,
            resolution=resolution,
        )
        self._counts = None
        if settings.count_noise is not None:
            self._counts = NormCount(
                plan,
                dimension=dimension,
                count_noise=settings.count_noise,
                resolution=resolution,
            )
        size: Any = plan.sampling.expected_batch_size(examples)  # type: ignore[arg-type]
        self.expected_batch_size = float(size)

    def batch(self) -> Indices:
        """The next batch."""
        batch = next(self._batches)
        return batch if self.canaries is None else self.canaries.without(batch)

    def released(self, found: BatchSum) -> FloatArray:
        """The sum with the noise of the next row."""
        # Exact for integers below 2^53, which SumLattice and the noise's bounds ensure.
        spacing = None if self.lattice is None else self.lattice.spacing
        total = found.total
        if self.canaries is not None:
            total = self.canaries.added(total, spacing)
        noisy: FloatArray = total + next(self.noise)
        released = noisy if spacing is None else noisy * spacing
        return released if self.canaries is None else self.canaries.split(released)

    def adapted(self, settings: StepSettings, found: BatchSum) -> StepSettings:
        """The settings of the next step, where a policy moves the clip norm."""
        if self._counts is None or self._policy is None:
            return settings
        step = self.noise.step - 1
        half = self._counts.released(found.excess, key=self.noise._key, step=step)
        fraction = half / self.expected_batch_size + 0.5
        clip = self._policy.updated(settings.max_grad_norm, fraction)
        wanted = settings.changed(max_grad_norm=clip)
        self.change(settings, wanted)
        return wanted

    def change(self, now: StepSettings, wanted: StepSettings) -> None:
        """Other settings from the next step on; if something does not fit, nothing is changed."""
        scheme, lattice = None, None
        if wanted.rate != now.rate and wanted.rate is not None:
            scheme = scheme_at(self._plan, wanted.rate)
        if self.lattice is not None:
            lattice = self.lattice.rescaled(
                noise_multiplier=wanted.gradient_noise,
                max_grad_norm=wanted.max_grad_norm,
                examples=self._count,
            )
        self.noise.change(scale=wanted.scale)
        self.lattice = lattice
        if scheme is not None:
            # Nothing is drawn ahead: the next batch is the first one at the new rate.
            left = self._plan.steps - self.noise.step
            self._batches = scheme.batches(examples=self._count, steps=left, rng=self._source)
            self.expected_batch_size = float(scheme.expected_batch_size(self._count))


class ChangingRun(SingleUse, AuditedRun):
    """The part of a `PrivateRun` that knows its settings and changes them."""

    _now: StepSettings
    _schedule: Schedule
    _taken: int
    _sources: RunSources
    _clipping: ClippingRule

    @abstractmethod
    def _check_open(self) -> None:
        """`PlanMismatch` if no step may follow."""

    @property
    def noise_multiplier(self) -> float:
        """Standard deviation of Z over the clip norm."""
        return self._now.noise_multiplier

    @property
    def max_grad_norm(self) -> float:
        """The clip norm."""
        return self._now.max_grad_norm

    @property
    def rate(self) -> float | None:
        """The sampling rate that a filter is charged for; None without a filter."""
        return self._now.rate

    @property
    def taken_steps(self) -> int:
        """How many steps have been taken."""
        return self._taken

    @property
    def history(self) -> Schedule:
        """The steps that were taken, equal ones in a row together."""
        return self._schedule

    @property
    def expected_batch_size(self) -> float:
        """What sums of gradients are divided by."""
        return self._sources.expected_batch_size

    @property
    def canaries(self) -> RunCanaries | None:
        """Those of the run."""
        return self._sources.canaries

    def set(
        self,
        *,
        noise_multiplier: float | None = None,
        rate: float | None = None,
        max_grad_norm: float | None = None,
    ) -> None:
        """Other settings from the next step on, in a run with a filter.

        The next batch is drawn at the new rate and divided by its expected size, noise has the
        standard deviation noise_multiplier * max_grad_norm, and the filter is charged for that.
        Base them on what was released, never on the size or the loss of a batch.

        Parameters
        ----------
        noise_multiplier, rate, max_grad_norm
            Those that change.

        Raises
        ------
        PlanMismatch
            Without a filter.
        UnsupportedPlan
            For the rate of full batches.
        """
        self._check_open()
        if self._clipping.filter_description is None:
            raise PlanMismatch(WITHOUT_FILTER, page="docs/adapting.md")
        wanted = self._now.changed(
            noise_multiplier=noise_multiplier, rate=rate, max_grad_norm=max_grad_norm
        )
        self._sources.change(self._now, wanted)
        self._now = wanted

"""A plan in the form that jax-privacy takes: NumPy arrays and index batches, without JAX here."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hockeystick import _validate as check
from hockeystick._numerics.law import FloatArray
from hockeystick.errors import InvalidParameter
from hockeystick.plan import Plan
from hockeystick.randomness import RandomSource
from hockeystick.schemes import Attribution, Indices
from hockeystick.training.plan_object import require_gaussian
from hockeystick.training.record import RunRecord, versions_of

__all__ = ["JaxPrivacyExport", "to_jax_privacy"]

# jax-privacy keeps C^-1 as one array: this many rows take 3.2 GB in double precision.
LARGEST_DENSE = 20_000


@dataclass(frozen=True)
class JaxPrivacyExport:
    """What jax-privacy 2.0 needs to run a plan with correlated noise.

    `stddev` and the matrix are arguments of `noise_addition.matrix_factorization_privatizer`, which
    adds C^-1 Z to *sums* of clipped gradients. `coefficients` are those of C itself, for
    `matrix_factorization.toeplitz.inverse_as_streaming_matrix` without `column_normalize_for_n`,
    which would make another matrix of them; None if C is not Toeplitz. `noising_matrix()` is C^-1
    in full, which the privatizer takes as well. The object stands in for a `batch_selection`
    strategy: it has a `batch_iterator`. `clipping.clipped_grad` gets `l2_clip_norm=max_grad_norm`
    and leaves its sums as they are. JAX computes in single precision unless told otherwise, so the
    matrix that runs is C rounded to it.

    Parameters
    ----------
    plan
        What is run.
    noise_multiplier
        The standard deviation of Z over the clip norm.
    max_grad_norm
        The clip norm.

    Examples
    --------
    >>> import hockeystick as hs
    >>> plan = hs.Plan(
    ...     sampling=hs.BallsInBins(bins=10), steps=20, strategy=hs.strategies.bsr(20, bands=2)
    ... )
    >>> export = hs.training.to_jax_privacy(plan, noise_multiplier=2.0, max_grad_norm=0.5)
    >>> export.stddev, export.coefficients
    (1.0, array([1. , 0.5]))
    """

    plan: Plan
    noise_multiplier: float
    max_grad_norm: float

    @property
    def stddev(self) -> float:
        """The standard deviation of Z: noise multiplier times clip norm."""
        return self.noise_multiplier * self.max_grad_norm

    @property
    def coefficients(self) -> FloatArray | None:
        """The first column of C up to its last entry that is not zero, or None."""
        found = self.plan.strategy.coefficients
        return None if found is None else found.copy()

    def noising_matrix(self) -> FloatArray:
        """C^-1 as a dense matrix: O(steps^2) memory, and O(steps) work for a row of noise."""
        if self.plan.steps > LARGEST_DENSE:
            allowed = f"at most {LARGEST_DENSE} for a dense matrix; see coefficients"
            raise InvalidParameter("steps", allowed, self.plan.steps)
        return self.plan.strategy.inverse_matrix()

    def batch_iterator(
        self, num_examples: int | Attribution, rng: RandomSource = None
    ) -> Iterator[Indices]:
        """The plan's batches as index arrays, some of them possibly empty.

        Not to be truncated: jax-privacy's `truncated_batch_size` is another scheme than the
        accounted one. Its `pad_to_multiple_of` and `split_and_pad_global_batch` are fine if
        clipping is told what is padding: `is_padding_example=indices == -1`.
        """
        return self.plan.batches(examples=num_examples, rng=rng)

    def expected_batch_size(self, num_examples: int | Attribution) -> float:
        """What to divide the privatizer's noisy sums by.

        `normalize_by` of jax-privacy's clipping divides before the noise is added, and stays 1.
        """
        scheme: Any = self.plan.sampling
        return float(scheme.expected_batch_size(num_examples))

    @staticmethod
    def key_data() -> NDArray[np.uint32]:
        """A secret key for `jax.random.wrap_key_data`, of the 64 bits that JAX's default takes.

        Without a key the privatizer seeds itself with 31 bits of NumPy's global random state.
        """
        return np.array([secrets.randbits(32) for _ in range(2)], dtype=np.uint32)

    def record(self, *, taken_steps: int, seeded: bool = False) -> RunRecord:
        """What happened, for `statement`; how many steps were taken is the caller's claim."""
        return RunRecord(
            plan=self.plan,
            noise_multiplier=self.noise_multiplier,
            max_grad_norm=self.max_grad_norm,
            taken_steps=taken_steps,
            seeded=seeded,
            versions=versions_of("jax", "jax-privacy"),
        )


def to_jax_privacy(
    plan: Plan, *, noise_multiplier: float, max_grad_norm: float
) -> JaxPrivacyExport:
    """The plan in the form that jax-privacy's privatizer takes.

    Parameters
    ----------
    plan
        Batches, steps and strategy; Gaussian noise.
    noise_multiplier
        The standard deviation of Z over the clip norm.
    max_grad_norm
        The clip norm.

    Returns
    -------
    JaxPrivacyExport
        Matrix, standard deviation and batches.

    Examples
    --------
    >>> import hockeystick as hs
    >>> plan = hs.Plan(sampling=hs.Poisson(rate=0.1), steps=20)
    >>> export = hs.training.to_jax_privacy(plan, noise_multiplier=2.0, max_grad_norm=1.0)
    >>> export.expected_batch_size(1000)
    100.0
    """
    if not isinstance(plan, Plan):
        raise InvalidParameter("plan", "a Plan", plan)
    require_gaussian(plan)
    return JaxPrivacyExport(
        plan,
        check.positive("noise_multiplier", noise_multiplier),
        check.positive("max_grad_norm", max_grad_norm),
    )

"""The plans that are compared for a run of a given size."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hockeystick._validate import positive_integer
from hockeystick.plan import Plan
from hockeystick.schemes import (
    BallsInBins,
    CyclicPoisson,
    FullBatch,
    MinSep,
    Poisson,
    RandomAllocation,
    Sampling,
)
from hockeystick.schemes.base import batch_size_within
from hockeystick.strategies import band_inv_mf, band_mf, blt, bsr

__all__ = ["candidates"]

Family = Callable[[float, int, int], Iterator[Plan]]

# Numbers of bands that are tried with amplification, and without.
BANDS = (2, 4, 8, 16, 32, 64)
BANDS_IN_BINS = (16, 64)
BANDS_APART = (4, 16)
INVERSE_BANDS = (4, 16)
BUFFERS = (2, 4)


def candidates(*, examples: int, batch_size: float, steps: int) -> Iterator[Plan]:
    """Plans with the wanted expected batch size, made as they are asked for.

    Optimised strategies are made on the way, so the time to the next plan counts as its own.
    """
    size, examples = batch_size_within(batch_size, examples=examples)
    steps = positive_integer("steps", steps)
    for family in FAMILIES:
        yield from family(size, examples, steps)


def _full_batch(size: float, examples: int, steps: int) -> Iterator[Plan]:
    """Independent noise; only if the batch is everything."""
    if size == examples:
        yield Plan(sampling=FullBatch(), steps=steps)


def _poisson(size: float, examples: int, steps: int) -> Iterator[Plan]:
    """DP-SGD."""
    yield Plan(sampling=Poisson.for_batch_size(size, examples=examples), steps=steps)


def _allocation(size: float, examples: int, steps: int) -> Iterator[Plan]:
    """Each example once per epoch, in a step of its own choice."""
    if size <= examples / 2:
        sampling = RandomAllocation.for_batch_size(size, examples=examples, truncate=True)
        yield Plan(sampling=sampling, steps=steps)


def _balls_in_bins(size: float, examples: int, steps: int) -> Iterator[Plan]:
    """The same batches in every epoch, each example in one of its own choice."""
    if size > examples / 2:
        return
    sampling = BallsInBins.for_batch_size(size, examples=examples)
    yield Plan(sampling=sampling, steps=steps)
    for bands in BANDS_IN_BINS:
        if bands <= min(steps, sampling.bins):
            yield Plan(sampling=sampling, steps=steps, strategy=band_mf(steps, bands))


def _cyclic_poisson(size: float, examples: int, steps: int) -> Iterator[Plan]:
    """As many groups as bands: the most amplification that the strategy allows."""
    for bands in BANDS:
        if bands * size > examples or bands > steps:
            return
        sampling = CyclicPoisson.for_batch_size(size, examples=examples, groups=bands)
        yield Plan(sampling=sampling, steps=steps, strategy=band_mf(steps, bands))
        yield Plan(sampling=sampling, steps=steps, strategy=bsr(steps, bands))


def _min_sep(size: float, examples: int, steps: int) -> Iterator[Plan]:
    """A rest of as many steps as bands after each participation; the price is a proven one."""
    for bands in BANDS_APART:
        if bands * size >= examples or bands > steps:
            return
        sampling = MinSep.for_batch_size(size, examples=examples, separation=bands)
        yield Plan(sampling=sampling, steps=steps, strategy=band_mf(steps, bands))


def _fixed_batches(size: float, examples: int, steps: int) -> Iterator[Plan]:
    """The same batches in every epoch: no amplification, but any strategy."""
    groups = round(examples / size)
    if groups < 2:
        return
    sampling: Sampling = CyclicPoisson(rate=1.0, groups=groups)
    turns = sampling.most_participations(steps)
    for bands in INVERSE_BANDS:
        if bands <= steps:
            strategy = band_inv_mf(steps, bands, separation=groups, participations=turns)
            yield Plan(sampling=sampling, steps=steps, strategy=strategy)
    for buffers in BUFFERS:
        if buffers <= steps:
            strategy = blt(steps, buffers, separation=groups, participations=turns)
            yield Plan(sampling=sampling, steps=steps, strategy=strategy)


# In the order in which they are tried; a new family is a function and a line here.
FAMILIES: tuple[Family, ...] = (
    _full_batch,
    _poisson,
    _allocation,
    _balls_in_bins,
    _cyclic_poisson,
    _min_sep,
    _fixed_batches,
)

"""Plans over the whole range of their parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

import hockeystick as hs
from robustness.values import counts, magnitudes, rates

__all__ = ["SCHEMES", "plans", "schemes", "strategies_for"]


@st.composite
def _limits(draw: st.DrawFn) -> dict[str, Any]:
    most = draw(st.none() | st.none() | counts(100))
    return {"rate": draw(rates()), "max_participations": most}


@st.composite
def _cyclic(draw: st.DrawFn) -> hs.CyclicPoisson:
    phase = draw(st.booleans())
    return hs.CyclicPoisson(rate=draw(rates()), groups=draw(counts(2000)), random_phase=phase)


@st.composite
def _allocation(draw: st.DrawFn) -> hs.RandomAllocation:
    out_of = draw(counts(2000))
    return hs.RandomAllocation(picks=draw(st.integers(1, out_of)), out_of=out_of, truncate=True)


@st.composite
def _min_sep(draw: st.DrawFn) -> hs.MinSep:
    warm = draw(st.booleans())
    return hs.MinSep(separation=draw(counts(300)), warm_start=warm, **draw(_limits()))


@st.composite
def _users(draw: st.DrawFn, scheme: Any) -> Any:
    most = draw(counts(50))
    return scheme(separation=draw(counts(100)), examples_per_user=most, **draw(_limits()))


SCHEMES: dict[str, st.SearchStrategy[Any]] = {
    "full-batch": st.just(hs.FullBatch()),
    "poisson": _limits().map(lambda limits: hs.Poisson(**limits)),
    "cyclic-poisson": _cyclic(),
    "balls-in-bins": counts(5000).map(lambda bins: hs.BallsInBins(bins=bins)),
    "random-allocation": _allocation(),
    "min-sep": _min_sep(),
    "user-min-sep": _users(hs.UserMinSep),
    "conjectured-user-min-sep": _users(hs.ConjecturedUserMinSep),
    "formed-batches": st.builds(hs.FormedBatches, batch_size=counts(500), separation=counts(100)),
}


def schemes() -> st.SearchStrategy[Any]:
    """Any sampling scheme."""
    return st.one_of(*SCHEMES.values())


@st.composite
def _coefficients(draw: st.DrawFn, steps: int) -> hs.strategies.Strategy:
    size = draw(st.integers(1, min(steps, 12)))
    entry = st.just(0.0) | magnitudes(1e-6, 1e3)
    later = draw(st.lists(entry, min_size=size - 1, max_size=size - 1))
    return hs.strategies.from_coefficients([draw(magnitudes(1e-3, 1e3)), *later], steps)


@st.composite
def _matrix(draw: st.DrawFn, steps: int) -> hs.strategies.Strategy:
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    entries = np.tril(rng.random((steps, steps)) * (rng.random((steps, steps)) < 0.5))
    entries[np.diag_indices(steps)] = 10.0 ** rng.uniform(-2, 1, steps)
    return hs.strategies.from_matrix(entries)


@st.composite
def strategies_for(draw: st.DrawFn, steps: int) -> hs.strategies.Strategy:
    """Any strategy for so many steps; those that are optimised or dense only for short runs."""
    made = hs.strategies
    bands = draw(st.integers(1, min(steps, 8)))
    choices = [
        lambda: made.identity(steps),
        lambda: made.bsr(steps, bands),
        lambda: draw(_coefficients(steps)),
    ]
    if steps <= 3000:
        choices.append(lambda: made.bisr(steps, bands))
    if steps <= 12:
        optimised = (made.band_mf, made.band_inv_mf)
        choices += [lambda one=one: one(steps, bands) for one in optimised]
        choices += [lambda: made.blt(steps, min(bands, 2)), lambda: draw(_matrix(steps))]
    return draw(st.sampled_from(choices))()


@st.composite
def plans(draw: st.DrawFn, scheme: st.SearchStrategy[Any], *, longest: float = 1e6) -> hs.Plan:
    """A plan with the scheme, with independent noise or a strategy."""
    steps = draw(counts(longest))
    strategy = None if draw(st.booleans()) else draw(strategies_for(steps))
    return hs.Plan(sampling=draw(scheme), steps=steps, strategy=strategy)

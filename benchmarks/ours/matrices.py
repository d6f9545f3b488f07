"""Correlated noise: strategies, their streams, and deterministic accountants for them."""

from __future__ import annotations

import tracemalloc
from functools import cache, partial
from itertools import islice

import hockeystick as hs
import settings as s  # beside harness.py
from hockeystick.analyses.renyi.ring import exact_moments
from ours.plans import banded_bins, gram_plan

FLOAT_BYTES = 4


def banded(steps, bands):
    """The best banded strategy; its largest column norm is 1."""
    return None, hs.strategies.band_mf(steps, bands).mean_squared_error()


def band_table():
    """All numbers of bands; the last one is shown."""
    c = s.BAND_TABLE
    errors = [banded(c["steps"], bands)[1] for bands in c["bands"]]
    return None, errors[-1], errors


@cache
def _opened(parameters, bands):
    """A stream past its first rows, and the most memory it took over what it has to remember."""
    strategy = hs.strategies.bsr(s.NOISE["steps"], bands=bands)
    next(strategy.noise(1))
    tracemalloc.start()
    stream = strategy.noise(parameters)
    for _ in islice(stream, bands):
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return stream, peak / (bands * parameters * FLOAT_BYTES)


def noise_rows(parameters, bands, rows):
    """Rows of correlated noise, each drawn while the one before it is still in use."""
    stream, memory = _opened(parameters, bands)
    for _ in islice(stream, rows):
        pass
    return None, memory


def bins_moments(c):
    """Every order in one pass, with the programme itself; the last one is shown."""
    strategy = hs.strategies.bsr(s.BINS["epochs"] * c["bins"], bands=c["bands"])
    kernel = strategy.gram(spacing=c["bins"]) / s.BINS["noise"] ** 2
    largest = c["largest"]
    divergence = exact_moments(kernel, c["bands"], largest).log[largest] / (largest - 1)
    return None, divergence, [divergence]


def epsilon_by(method, c):
    """One epsilon; nothing is remembered between calls."""
    guarantee = hs.account(banded_bins(c), noise_multiplier=c["noise"], method=method)
    return None, guarantee.epsilon(c["delta"])


def gram_noise():
    """Noise by `gram` over that of a simulation; then both, that of `renyi`, and evaluations."""
    c = s.GRAM
    asked = {name: c[name] for name in ("epsilon", "delta", "accuracy")}
    ours, other = (
        hs.calibrate(gram_plan(), method=method, **asked) for method in ("gram", "renyi")
    )
    likely = hs.estimate_noise(gram_plan(), epsilon=c["epsilon"], delta=c["delta"], seed=0)
    noises = [ours.noise_multiplier, likely.noise_multiplier, other.noise_multiplier]
    return None, noises[0] / noises[1], [*noises, ours.evaluations]


def bins(number):
    """More and more bins, by `gram`."""
    c = s.SWEEPS["bins"]
    plan = banded_bins(c, bins=number)
    return None, hs.account(plan, noise_multiplier=c["noise"], method="gram").epsilon(c["delta"])


def bands(number):
    """More and more bands."""
    return banded(s.SWEEPS["bands"]["steps"], number)


def noise_bands(number):
    """Rows that remember more and more rows before them."""
    c = s.SWEEPS["noise-bands"]
    return noise_rows(c["parameters"], number, c["rows"])


CASES = {
    **{f"bands-{n}": partial(banded, s.BANDED["steps"], n) for n in s.BANDED["bands"]},
    "band-table": band_table,
    "bands-long-run": partial(banded, s.MANY_STEPS["steps"], s.MANY_STEPS["bands"]),
    "noise-stream": partial(noise_rows, s.NOISE["parameters"], s.NOISE["bands"], s.NOISE["rows"]),
    "50-bins": partial(bins_moments, s.BINS["compared"]),
    **{f"{c['bins']}-bins": partial(bins_moments, c) for c in s.BINS["large"]},
    "conditional": partial(epsilon_by, "conditional", s.CONDITIONAL),
    "gram": partial(epsilon_by, "gram", s.GRAM),
    "gram-small-delta": partial(epsilon_by, "gram", s.GRAM_SMALL_DELTA),
    "gram-1000-bins": partial(epsilon_by, "gram", s.THOUSAND_BINS),
    "gram-noise": gram_noise,
}


def gram_bins(number):
    """One epoch of more and more bins: both proven bounds, at a noise that falls with them."""
    c = s.SWEEPS["gram-bins"]
    strategy = hs.strategies.bsr(number, bands=c["bands"])
    plan = hs.Plan(sampling=hs.BallsInBins(bins=number), steps=number, strategy=strategy)
    noise = 1.0 if number <= 10_000 else 0.6 if number <= 100_000 else 0.5
    answer = hs.account(plan, noise_multiplier=noise, method="gram").answer(delta=c["delta"])
    return answer.lower, answer.value


def noise_parameters(number, share=1):
    """A few rows for more and more parameters, or for a share of them: memory and time."""
    c = s.SWEEPS["noise-parameters"]
    return noise_rows(number // share, c["bands"], c["rows"])


SWEEPS = {
    "gram-bins": gram_bins,
    "noise-parameters": noise_parameters,
    "bins": bins,
    "bands": bands,
    "noise-bands": noise_bands,
}

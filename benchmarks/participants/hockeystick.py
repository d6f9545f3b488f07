"""Hockeystick: epsilon certified within 0.1 %, both directions; Renyi orders; strategies."""

from __future__ import annotations

import tracemalloc
from functools import cache, partial, reduce
from itertools import islice

import settings as s  # beside harness.py
from our_plans import gram_plan

import hockeystick as hs
from hockeystick._numerics.ring import exact_moments

FLOAT_BYTES = 4


def _poisson(noise, rate, steps):
    plan = hs.Plan(sampling=hs.Poisson(rate=rate), steps=steps)
    return hs.account(plan, noise_multiplier=noise)


def _bounds(guarantee, delta):
    answer = guarantee.answer(delta=delta)
    return answer.lower, answer.value


def poisson():
    """Plain Poisson sampling."""
    c = s.POISSON
    return _bounds(_poisson(c["noise"], c["rate"], c["steps"]), c["delta"])


def fifty_phases():
    """Fifty noise levels in turn."""
    c = s.PHASES
    runs = [_poisson(noise, c["rate"], c["steps"]) for noise in c["noises"]]
    return _bounds(reduce(hs.Guarantee.compose, runs), c["delta"])


def small_noise():
    """One step with very little noise."""
    c = s.SMALL_NOISE
    return _bounds(_poisson(c["noise"], c["rate"], c["steps"]), c["delta"])


def allocation():
    """One block of random allocation."""
    c = s.ALLOCATION
    plan = hs.Plan(sampling=hs.RandomAllocation(picks=1, out_of=c["out_of"]), steps=c["out_of"])
    return _bounds(hs.account(plan, noise_multiplier=c["noise"]), c["delta"])


def _divergences(c, largest):
    """Every order from 2 on in one pass; nothing is remembered between calls."""
    profile = hs.Profile.gaussian(noise_multiplier=c["noise"]).allocate(c["out_of"])
    return profile.renyi(range(2, largest + 1)).tolist()


def many_orders(c):
    """Every order; the last one is shown."""
    return None, _divergences(c, c["largest"])[-1]


def compared_orders():
    """Every order that is compared."""
    divergences = _divergences(s.RENYI, s.RENYI["compared"])
    return None, divergences[-1], divergences


def _allocation_run(c, picks=1, epochs=1):
    plan = hs.Plan(
        sampling=hs.RandomAllocation(picks=picks, out_of=c["out_of"]), steps=epochs * c["out_of"]
    )
    return hs.account(plan, noise_multiplier=c["noise"], method="profile")


def several_picks(picks):
    """One block with several picks; with more than one, nothing is claimed from below."""
    return _bounds(_allocation_run(s.PICKS, picks=picks), s.PICKS["delta"])


def five_runs():
    """The same run over more and more epochs."""
    c = s.FIVE_RUNS
    answers = [_bounds(_allocation_run(c, epochs=n), c["delta"]) for n in c["epochs"]]
    return *answers[-1], [upper for _, upper in answers]


def bins(c):
    """Every order in one pass, with the programme itself; the last one is shown."""
    strategy = hs.strategies.bsr(s.BINS["epochs"] * c["bins"], bands=c["bands"])
    kernel = strategy.gram(spacing=c["bins"]) / s.BINS["noise"] ** 2
    largest = c["largest"]
    divergence = exact_moments(kernel, c["bands"], largest).log[largest] / (largest - 1)
    return None, divergence, [divergence]


def gram():
    """One epsilon, from above; nothing is remembered between calls."""
    c = s.GRAM
    guarantee = hs.account(gram_plan(), noise_multiplier=c["noise"], method="gram")
    return None, guarantee.epsilon(c["delta"])


@cache
def gram_noise():
    """How much of the noise of `renyi` is enough; the noises are shown too."""
    c = s.GRAM
    asked = {name: c[name] for name in ("epsilon", "delta", "accuracy")}
    ours, other = (
        hs.calibrate(gram_plan(), method=method, **asked).noise_multiplier
        for method in ("gram", "renyi")
    )
    return None, ours / other, [ours, other]


def banded(bands):
    """The best banded strategy; its largest column norm is 1."""
    return None, hs.strategies.band_mf(s.BANDED["steps"], bands).mean_squared_error()


@cache
def _opened():
    """A stream past its first rows, and the most memory it took over what it has to remember."""
    c = s.NOISE
    strategy = hs.strategies.bsr(c["steps"], bands=c["bands"])
    next(strategy.noise(1))
    tracemalloc.start()
    stream = strategy.noise(c["parameters"])
    for _ in islice(stream, c["bands"]):
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return stream, peak / (c["bands"] * c["parameters"] * FLOAT_BYTES)


def noise_stream():
    """Rows of correlated noise, each drawn while the one before it is still in use."""
    stream, memory = _opened()
    for _ in islice(stream, s.NOISE["rows"]):
        pass
    return None, memory


def _estimated(scheme, noise, draws):
    """delta from draws of a run with the example, on all cores."""
    c = s.DRAWS
    strategy = hs.strategies.bsr(c["steps"], bands=c["bands"])
    plan = hs.Plan(sampling=scheme, steps=c["steps"], strategy=strategy)
    found = hs.estimate_profile(
        plan,
        noise_multiplier=noise,
        epsilons=[c["epsilon"]],
        direction="remove",
        draws=draws,
        seed=0,
    )["remove"][0]
    return found.low, found.value, [found.value]


def min_sep_draws(draws):
    """From a warm start."""
    c = s.DRAWS["min sep"]
    scheme = hs.MinSep(rate=c["rate"], separation=s.DRAWS["bands"])
    return _estimated(scheme, c["noise"], draws)


def balls_in_bins_draws():
    """Through the inner products with the means of the bins."""
    c = s.DRAWS["balls-in-bins"]
    return _estimated(hs.BallsInBins(bins=c["bins"]), c["noise"], s.DRAWS["draws"])


CASES = {
    "poisson": poisson,
    "fifty phases": fifty_phases,
    "small noise": small_noise,
    "allocation": allocation,
    **{f"banded {bands} bands": partial(banded, bands) for bands in s.BANDED["bands"]},
    "noise stream": noise_stream,
    "Renyi to 60": partial(many_orders, s.RENYI),
    "Renyi to 40": compared_orders,
    "Renyi to 1,000": partial(many_orders, s.MANY_ORDERS),
    **{f"{picks} out of 1,024": partial(several_picks, picks) for picks in s.PICKS["picks"]},
    "five runs": five_runs,
    "50 bins": partial(bins, s.BINS["compared"]),
    **{f"{c['bins']:,} bins": partial(bins, c) for c in s.BINS["large"]},
    "gram": gram,
    "gram noise": gram_noise,
    "b-min-sep draws": partial(min_sep_draws, s.DRAWS["draws"]),
    "balls-in-bins draws": balls_in_bins_draws,
    "many draws": partial(min_sep_draws, s.DRAWS["many"]),
}

"""Questions about privacy profiles and trade-off functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import hockeystick as hs
from snapshot.questions import Numbers, Question, summary

ALPHAS = np.array([0.0, 0.01, 0.1, 0.3, 0.7, 1.0])
P, Q = [0.5, 0.3, 0.15, 0.05], [0.2, 0.3, 0.3, 0.2]


def _gaussian(noise: float = 1.0, **options: Any) -> hs.Profile:
    """One step with Gaussian noise."""
    return hs.Profile.gaussian(noise_multiplier=noise, **options)


def _cells() -> hs.Profile:
    """Losses between -1 and 1 in small cells."""
    edges = np.linspace(-1.0, 1.0, 2_001)
    centres = (edges[1:] + edges[:-1]) / 2
    masses = np.exp(centres / 2) / np.sum(np.exp(centres / 2))
    return hs.Profile.from_cells(edges, p=masses, q=masses[::-1])


PROFILES: dict[str, Callable[[], hs.Profile]] = {
    "gaussian": _gaussian,
    "laplace": lambda: hs.Profile.laplace(scale=1.5),
    "randomized response": lambda: hs.Profile.randomized_response(epsilon=1.5, buckets=3),
    "epsilon and delta": lambda: hs.Profile.from_epsilon_delta(1.2, 1e-6),
    "masses": lambda: hs.Profile.from_pmfs(P, Q),
    "cells": _cells,
    "composed": lambda: _gaussian(2.0).compose(hs.Profile.laplace(scale=3.0)),
    "thirty times": lambda: hs.Profile.laplace(scale=10.0).self_compose(30),
    "subsampled": lambda: _gaussian(0.8).subsample(0.01).self_compose(200),
    "allocated": lambda: _gaussian(0.8).allocate(50),
    "allocated laplace": lambda: hs.Profile.laplace(scale=1.0).allocate(20),
    "reversed": lambda: _gaussian(0.8).allocate(50).reverse(),
    "symmetrised": lambda: _gaussian(0.7).subsample(0.1).symmetrize(),
    "maximum": lambda: _gaussian(1.5).maximum(hs.Profile.laplace(scale=1.5)),
    "minimum": lambda: _gaussian(1.5).minimum(hs.Profile.laplace(scale=1.5)),
    "from below": lambda: _gaussian(0.8, bound="lower").subsample(0.05).self_compose(50),
}


def _profile(name: str) -> Numbers:
    """Both questions, the trade-off function and both bounds."""
    profile = PROFILES[name]()
    bounds = profile.delta_bounds(0.5, directions=("remove", "add"))
    found: Numbers = {
        "epsilon": profile.epsilon(1e-3),
        "epsilon, far": profile.epsilon(1e-12),
        "delta": profile.delta(0.5),
        "delta below 0": profile.delta(-0.2),
        "lower delta": float(bounds.lower),
        "upper delta": float(bounds.upper),
    }
    # Zero at 1 but for rounding, which depends on the processor.
    beta = profile.tradeoff(ALPHAS)
    return found | summary("trade-off", np.where(beta < 1e-15, 0.0, beta))


def _renyi() -> Numbers:
    """Renyi divergences at whole orders and between them."""
    orders = np.array([1.5, 2.0, 8.0, 20.3])
    found: Numbers = {}
    for name in ("gaussian", "laplace", "randomized response", "subsampled", "allocated"):
        found |= summary(name, PROFILES[name]().renyi(orders))
    return found


def _order() -> Numbers:
    """Which profile dominates which."""
    names = ("gaussian", "laplace", "masses", "randomized response")
    return {
        f"{one} over {other}": PROFILES[one]().dominates(PROFILES[other]())
        for one in names
        for other in names
    }


def _exported() -> Numbers:
    """To a distribution of dp-accounting and back."""
    profile = PROFILES["laplace"]()
    exported = profile.to_pld(interval=1e-3)
    again = hs.Profile.from_pld(exported)
    return {
        "their epsilon": float(exported.get_epsilon_for_delta(1e-3)),
        "their delta": float(exported.get_delta_for_epsilon(0.4)),
        "epsilon": again.epsilon(1e-3),
        "delta": again.delta(0.4),
    }


def _gaussian_tradeoff() -> Numbers:
    """The closed forms."""
    one = hs.fdp.gdp(1.2)
    both = one.tensor(hs.fdp.gdp(0.5)).power(3)
    return {
        **summary("f", one(ALPHAS)),
        **summary("height", one.height(np.array([0.5, 1.0, 2.0, 10.0]))),
        **summary("polygon", one.polygon(corners=50).beta),
        "mu": float(both.mu),
        "epsilon": both.to_profile().epsilon(1e-5),
    }


def _polygons() -> Numbers:
    """Products, order and distances of trade-off functions with corners."""
    first, second = hs.fdp.from_pmfs(P, Q), hs.fdp.from_pmfs([0.6, 0.4], [0.3, 0.7])
    product = first.tensor(second)
    points = hs.fdp.calibration_points(first, second)
    return {
        **summary("f", first(ALPHAS)),
        **summary("inverse", first.inverse()(ALPHAS)),
        **summary("symmetrised", first.symmetrize()(ALPHAS)),
        **summary("product", product(ALPHAS)),
        **summary("power", second.power(4)(ALPHAS)),
        **summary("curve", first.curve()(np.array([0.5, 1.0, 1.5]))),
        **summary("least", hs.fdp.greatest_lower_bound([first, second])(ALPHAS)),
        "corners": int(product.corners),
        "crossings": len(points.gamma),
        "order": hs.fdp.blackwell_order(first, second).value,
        "order of powers": hs.fdp.blackwell_order(second, second.power(2)).value,
        "divergence": hs.fdp.delta_divergence(first, second),
        "distance": hs.fdp.distance(first, second),
        "epsilon": product.to_profile().epsilon(1e-3),
    }


def _sources() -> Numbers:
    """Trade-off functions of profiles, of densities and of scores."""

    def density(mean: float) -> Callable[[Any], Any]:
        return lambda x: np.exp(-((x - mean) ** 2) / 2) / np.sqrt(2 * np.pi)

    edges = np.linspace(-8.0, 9.0, 60)
    scores = np.random.default_rng(3).normal(size=(2, 500))
    estimated = hs.fdp.estimate(scores[0] + 1.0, scores[1])
    return {
        **summary("profile", hs.fdp.from_profile(PROFILES["subsampled"]())(ALPHAS)),
        **summary(
            "densities", hs.fdp.from_densities(density(1.0), density(0.0), edges=edges)(ALPHAS)
        ),
        **summary("estimate", estimated.estimate(ALPHAS)),
        **summary("estimate from below", estimated.lower(ALPHAS)),
        **summary("estimate from above", estimated.upper(ALPHAS)),
    }


def _attack() -> Numbers:
    """True positive rates, and the mu that covers a profile."""
    rates = np.array([1e-6, 1e-3, 0.1])
    found: Numbers = {}
    for name in ("gaussian", "laplace", "subsampled", "masses"):
        profile = PROFILES[name]()
        found |= summary(name, hs.fdp.true_positive_rate(profile, false_positive_rate=rates))
        found[f"mu of {name}"] = hs.fdp.tightest_mu(profile).mu
        found[f"mu of {name} with slack"] = hs.fdp.tightest_mu(profile, slack=1e-5).mu
    return found


def _limits() -> Numbers:
    """Moments of the loss, exact and approximate, and what the limit theorem asks for."""
    found: Numbers = {}
    step: dict[str, float] = {"rate": 0.05, "noise_multiplier": 1.1}
    for name, moments in (
        ("exact", hs.fdp.loss_moments(**step)),
        ("small", hs.fdp.approximate_moments(**step)),
        ("large", hs.fdp.approximate_moments(**step, regime="large")),
    ):
        found |= summary(name, [*moments.p, *moments.q])
    schedule = [hs.fdp.EqualSteps(0.05, 1.1, 100), hs.fdp.EqualSteps(0.1, 2.0, 20)]
    limit = hs.fdp.limit_quantities(schedule)
    names = ("m1", "v", "eta1", "eta2", "kappa", "rho", "mu", "phi", "distance")
    return found | {name: float(getattr(limit, name)) for name in names}


def _adaptive() -> Numbers:
    """Adaptive composition, its worst rule, and the test for chains."""
    first = hs.fdp.FirstStage.discrete(P, Q)
    seconds = [hs.fdp.from_pmfs(P, Q), hs.fdp.from_pmfs([0.6, 0.4], [0.3, 0.7])]
    curves = [one.curve() for one in seconds]
    worst = hs.fdp.worst_selection(first, curves, gamma=1.5)
    choice = [0, 1, 0, 1]
    height = hs.fdp.adaptive_height(first, curves, choice=choice, gamma=np.array([0.5, 2.0]))
    chain = hs.fdp.blackwell_chain(seconds, steps=3)
    found: Numbers = {
        "height": worst.height,
        "budget": worst.budget,
        "chain": str(chain.holds),
        "gaussian chain": str(hs.fdp.blackwell_chain([_gaussian(), _gaussian(2.0)], steps=3).holds),
    }
    if chain.witness is not None and chain.witness.counterexample is not None:
        found |= {"excess": chain.witness.counterexample.excess}
    tradeoff = hs.fdp.adaptive_tradeoff(first, seconds, choice=choice)
    return found | summary("heights", height) | summary("trade-off", tradeoff(ALPHAS))


QUESTIONS = [
    *(Question(f"profile: {name}", partial(_profile, name)) for name in PROFILES),
    Question("renyi divergences", _renyi),
    Question("order of profiles", _order),
    Question("exported profile", _exported),
    Question("gaussian trade-off", _gaussian_tradeoff),
    Question("polygons", _polygons),
    Question("sources of trade-offs", _sources),
    Question("attacks", _attack),
    Question("limit theorem", _limits),
    Question("adaptive composition", _adaptive),
]

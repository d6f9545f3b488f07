"""Users with several examples and no exclusion: binomial mixtures, composed exactly."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binom, norm

import hockeystick as hs
from hockeystick.schemes import UserMinSep
from hypothesis_strategies import thinned

# Together they take seconds; `make test` runs them.
pytestmark = pytest.mark.slow


def plan(rate, copies, *, steps, **options):
    """Users who are never excluded, independent noise."""
    sampling = UserMinSep(rate=rate, separation=1, examples_per_user=copies, **options)
    return hs.Plan(sampling=sampling, steps=steps)


def profile(rate, copies, *, steps, noise):
    """The whole profile of such a run."""
    return hs.account(plan(rate, copies, steps=steps), noise_multiplier=noise).profile


def integrated(rate, copies, noise, epsilon, *, reverse):
    """H of one step by numerical integration of its densities."""
    counts = np.arange(copies + 1)
    weights = binom.pmf(counts, copies, rate)

    def excess(y):
        with_user = weights @ norm.pdf(y, loc=counts, scale=noise)
        without = norm.pdf(y, scale=noise)
        first, second = (without, with_user) if reverse else (with_user, without)
        return max(first - math.exp(epsilon) * second, 0.0)

    ends = np.linspace(-12 * noise, copies + 12 * noise, 200)
    pieces = [quad(excess, a, b, epsabs=0, epsrel=1e-10)[0] for a, b in itertools.pairwise(ends)]
    return math.fsum(pieces)


@pytest.mark.parametrize("steps", [1, 30])
def test_one_example_is_poisson_sampling(steps):
    """The very same pair."""
    poisson = hs.Plan(sampling=hs.Poisson(rate=0.03), steps=steps)
    known = hs.account(poisson, noise_multiplier=0.8).profile
    users = profile(0.03, 1, steps=steps, noise=0.8)
    assert users.epsilon(1e-7) == known.epsilon(1e-7)
    assert users.reverse().delta(0.5) == known.reverse().delta(0.5)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    ("rate", "copies", "noise", "epsilon"),
    thinned(
        [(0.3, 2, 1.0, 0.2), (0.02, 2, 0.7, 1.0), (0.02, 2, 3.0, 0.01), (0.1, 4, 2.0, 0.1)],
        normal=2,
    ),
)
def test_one_step(rate, copies, noise, epsilon, reverse):
    """Direct numerical integration, in both directions."""
    one = profile(rate, copies, steps=1, noise=noise)
    found = (one.reverse() if reverse else one).delta_bounds(epsilon, accuracy=1e-4)
    truth = integrated(rate, copies, noise, epsilon, reverse=reverse)
    assert found.lower * (1 - 1e-7) <= truth <= found.upper * (1 + 1e-7)
    assert found.upper == pytest.approx(truth, rel=2e-3)


@pytest.mark.parametrize("reverse", [False, True])
def test_several_steps(reverse):
    """Simulated likelihood ratios of whole runs, in both directions."""
    rate, copies, noise, steps, epsilon, draws = 0.1, 3, 1.2, 10, 0.8, 200_000
    rng = np.random.default_rng(11)
    counts = np.arange(copies + 1)
    joined = 0 if reverse else rng.binomial(copies, rate, size=(draws, steps))
    y = joined + noise * rng.standard_normal((draws, steps))
    log = np.zeros(draws)
    for t in range(steps):
        exponents = counts * (2 * y[:, t, None] - counts) / (2 * noise**2)
        log += np.log(np.exp(exponents) @ binom.pmf(counts, copies, rate))
    values = np.maximum(-np.expm1(epsilon - (-log if reverse else log)), 0.0)
    error = values.std() / math.sqrt(draws)
    run = profile(rate, copies, steps=steps, noise=noise)
    found = (run.reverse() if reverse else run).delta(epsilon)
    assert abs(found - values.mean()) < 4 * error < 0.1 * values.mean()


def test_it_is_exact():
    """Upper and lower bound meet; a user that stops leaves only the upper one."""
    answer = hs.account(plan(0.02, 3, steps=200), noise_multiplier=1.5).answer(delta=1e-6)
    assert answer.method == "profile"
    assert answer.lower == pytest.approx(answer.value, rel=1e-3)
    stops = hs.account(plan(0.02, 3, steps=200, max_participations=5), noise_multiplier=1.5)
    assert stops.answer(delta=1e-6).lower is None


def test_more_examples_are_less_private():
    """Epsilon grows with the number of examples, and stays below that of one larger example."""
    values = [profile(0.01, copies, steps=100, noise=4.0).epsilon(1e-6) for copies in (1, 2, 4, 8)]
    assert values == sorted(values)
    assert values[0] < values[-1]
    all_at_once = hs.Profile.gaussian(noise_multiplier=4.0 / 8).subsample(1 - 0.99**8)
    assert values[-1] < all_at_once.self_compose(100).epsilon(1e-6)


def test_many_examples_and_rate_one():
    """Every example in every step is the Gaussian mechanism; many examples are no obstacle."""
    everything = profile(1.0, 50, steps=4, noise=30.0)
    known = hs.Profile.gaussian(noise_multiplier=30.0 / 50).self_compose(4)
    assert everything.epsilon(1e-6) == pytest.approx(known.epsilon(1e-6), rel=1e-9)
    assert 0 < profile(1e-3, 200, steps=20, noise=10.0).epsilon(1e-6) < 2


def test_unit():
    """The guarantee is about a user, and does not compose with one about an example."""
    users = hs.account(plan(0.02, 3, steps=20), noise_multiplier=1.5)
    examples = hs.account(hs.Plan(sampling=hs.Poisson(rate=0.02), steps=20), noise_multiplier=1.5)
    assert (users.unit, examples.unit) == ("user", "example")
    with pytest.raises(hs.errors.InvalidParameter, match="unit"):
        users.compose(examples)

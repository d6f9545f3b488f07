"""The mean over known participations: its numbers, and that it is a bound."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hockeystick as hs
from hockeystick import strategies
from hockeystick._numerics.divergence import delta_from_law
from hockeystick._numerics.law import Resolution, Side, reverse
from hockeystick.analyses.known_participation import RevealedCounts
from hockeystick.schemes import Attribution, ConjecturedUserMinSep, MinSep, UserMinSep
from hockeystick.schemes.capabilities import Participant
from hockeystick.schemes.simulation.participation_laws import binomial_weights
from in_one_test import in_one_test
from references.participation_patterns import min_sep_patterns, user_patterns

EPSILONS = (0.0, 0.3, 1.0, 4.0)


def mean_delta(patterns, norms, *, noise, epsilon):
    """Each pattern with its own length."""
    terms = []
    for chance, counts in patterns:
        length = math.sqrt(sum((c * norm) ** 2 for c, norm in zip(counts, norms, strict=True)))
        if length > 0:
            terms.append(
                chance * hs.Profile.gaussian(noise_multiplier=noise / length).delta(epsilon)
            )
    return math.fsum(terms)


def worst_pattern(plan, noise):
    """The Gaussian mechanism of the worst pattern."""
    scheme = plan.sampling
    most = scheme.most_participations(plan.steps)
    one = plan.strategy.sensitivity(separation=scheme.least_gap, participations=most)
    return hs.Profile.gaussian(noise_multiplier=noise / (one * scheme.most_copies))


def known(plan, noise, **options):
    """The guarantee of the method."""
    return hs.account(plan, noise_multiplier=noise, method="known-participation", **options)


# -- numbers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("noise", [0.4, 3.0])
def test_delta_is_the_mean(warm, noise):
    """A direct sum over all patterns."""
    scheme = MinSep(rate=0.25, separation=3, warm_start=warm)
    guarantee = known(hs.Plan(sampling=scheme, steps=8), noise)
    patterns = min_sep_patterns(8, rate=0.25, separation=3, warm=warm)
    for epsilon in EPSILONS:
        exact = mean_delta(patterns, [1.0] * 8, noise=noise, epsilon=epsilon)
        assert guarantee.delta(epsilon) == pytest.approx(exact, rel=1e-9)
    assert guarantee.delta(guarantee.epsilon(1e-7)) == pytest.approx(1e-7, rel=1e-6)
    assert guarantee.delta(guarantee.epsilon(1e-7)) <= 1e-7 * (1 + 1e-9)


@in_one_test
@pytest.mark.parametrize("separation", [2, 3, 5])
@pytest.mark.parametrize("warm_up", [0, 2, 3])
def test_numbers_of_resting_users(separation, warm_up):
    """Participation-based users: the mean over all patterns, the worst of all numbers held."""
    scheme = ConjecturedUserMinSep(
        rate=0.2, separation=separation, examples_per_user=2, warm_up=warm_up
    )
    guarantee = known(hs.Plan(sampling=scheme, steps=6), 1.5)
    size = {"rate": 0.2, "separation": separation, "warm_up": warm_up, "by_draws": False}
    for epsilon in EPSILONS:
        exact = max(
            mean_delta(user_patterns(6, examples=n, **size), [1.0] * 6, noise=1.5, epsilon=epsilon)
            for n in (1, 2)
        )
        assert guarantee.delta(epsilon) == pytest.approx(exact, rel=1e-9)


def test_columns_of_different_lengths():
    """At least the mean with each column's own length, and close to it."""
    strategy = strategies.bsr(8, bands=3)
    plan = hs.Plan(sampling=MinSep(rate=0.25, separation=3), steps=8, strategy=strategy)
    patterns = min_sep_patterns(8, rate=0.25, separation=3, warm=True)
    norms = strategy.column_norms
    for epsilon in EPSILONS:
        exact = mean_delta(patterns, norms, noise=1.0, epsilon=epsilon)
        assert exact <= known(plan, 1.0).delta(epsilon) <= 1.5 * exact


def test_the_worst_number_of_examples_counts():
    """At a high rate users with fewer examples rest less, and one example is worse than two."""
    scheme = UserMinSep(rate=0.6, separation=4, examples_per_user=2, warm_up=3)
    guarantee = known(hs.Plan(sampling=scheme, steps=6), 1.0)
    size = {"rate": 0.6, "separation": 4, "warm_up": 3}
    one, two = (
        mean_delta(user_patterns(6, examples=n, **size), [1.0] * 6, noise=1.0, epsilon=0.5)
        for n in (1, 2)
    )
    assert one > 1.1 * two
    assert guarantee.delta(0.5) == pytest.approx(one, rel=1e-9)


@pytest.mark.parametrize(
    "scheme",
    [
        MinSep(rate=0.02, separation=4),
        UserMinSep(rate=0.02, separation=4, examples_per_user=2, warm_up=3),
        ConjecturedUserMinSep(rate=0.02, separation=4, examples_per_user=2),
    ],
)
def test_long_runs_gain_in_both_directions(scheme):
    """Far below the worst pattern; both directions are equal; nothing is claimed from below."""
    plan = hs.Plan(sampling=scheme, steps=500, strategy=strategies.bsr(500, bands=4))
    values = [known(plan, 2.0, direction=d).epsilon(1e-6) for d in ("remove", "add", "both")]
    assert values[0] == pytest.approx(values[1], rel=1e-12)
    assert values[0] == pytest.approx(values[2], rel=1e-12)
    assert values[0] < worst_pattern(plan, 2.0).epsilon(1e-6) / 2
    assert known(plan, 2.0).answer(delta=1e-6).lower is None
    assert known(plan, 2.0).kind == "proven"


@in_one_test
@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-40])
@pytest.mark.parametrize("rate", [0.01, 0.9, 1.0])
def test_never_above_the_worst_pattern(rate, delta):
    """Also where limits and the end of the run make the worst pattern short."""
    scheme = UserMinSep(
        rate=rate, separation=4, examples_per_user=2, warm_up=1, max_participations=2
    )
    plan = hs.Plan(sampling=scheme, steps=30, strategy=strategies.bsr(30, bands=4))
    worst = worst_pattern(plan, 1.0).epsilon(delta)
    assert known(plan, 1.0).epsilon(delta) <= worst * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", [-1.0, 0.0, 0.5, 3.0])
def test_laws_enclose_the_formula(epsilon):
    """What is composed further lies on its own side of the closed form, and close to it."""
    participant = Participant(tuple(binomial_weights(2, 0.05).tolist()), 4, 60)
    pair = RevealedCounts(participant, 0.4, 3.0, 1e9)
    exact = pair.closed_form(epsilon, reverse=False)
    for side, sign in ((Side.UPPER, 1), (Side.LOWER, -1)):
        law = pair.law(side, Resolution(0.02, 1e-20, 6.0))
        for seen in (law, reverse(law)):
            found = delta_from_law(seen, epsilon)
            assert sign * found >= sign * exact * (1 - sign * 1e-9)
            assert found == pytest.approx(exact, rel=2e-3)


def test_composition():
    """Two runs: all pairs of patterns."""
    plan = hs.Plan(sampling=MinSep(rate=0.25, separation=3, warm_start=False), steps=4)
    guarantee = known(plan, 1.5)
    patterns = min_sep_patterns(4, rate=0.25, separation=3)
    both = [(p * q, (*x, *y)) for p, x in patterns for q, y in patterns]
    exact = mean_delta(both, [1.0] * 8, noise=1.5, epsilon=1.0)
    composed = guarantee.compose(guarantee).delta(1.0)
    assert exact <= composed <= exact * 1.01


def test_moments():
    """The mean of the moments of all patterns."""
    participant = Participant((0.75, 0.25), 3, 8, starts=(1.0, 0.0, 0.0))
    patterns = min_sep_patterns(8, rate=0.25, separation=3)
    profile = hs.Profile(RevealedCounts(participant, 0.5, 9.0, 1e9))
    exact = math.log(sum(c * math.exp(6 * 0.25 * sum(x) / 2) for c, x in patterns)) / 2
    assert profile.renyi(3) == pytest.approx(exact, rel=1e-9)


# -- users that share examples ------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("most", [None, 2])
def test_never_below_runs_with_shared_examples(most):
    """Draws revealed, on a graph where every example has two users: drawn and averaged."""
    of, who = [0, 0, 1, 1, 2, 2], [0, 1, 1, 2, 2, 0]
    ring = Attribution.from_pairs(examples=of, users=who, number_of_examples=3, number_of_users=3)
    scheme = UserMinSep(
        rate=0.2,
        separation=3,
        examples_per_user=2,
        max_participations=most,
        shared_examples=True,
    )
    strategy = strategies.bsr(12, bands=3)
    plan = hs.Plan(sampling=scheme, steps=12, strategy=strategy)
    rng = np.random.default_rng(5)
    own = [0, 2]
    lengths = []
    for _ in range(1000):
        batches = scheme.batches(examples=ring, steps=12, rng=rng)
        x = np.array([np.isin(batch, own).sum() for batch in batches])
        lengths.append(float(np.linalg.norm(strategy.to_matrix() @ x)))
    guarantee = known(plan, 1.0)
    for epsilon in EPSILONS:
        drawn = np.array(
            [
                hs.Profile.gaussian(noise_multiplier=1 / length).delta(epsilon) if length else 0.0
                for length in lengths
            ]
        )
        assert guarantee.delta(epsilon) >= drawn.mean() + 3 * drawn.std() / math.sqrt(1000) > 0


def test_sharing_changes_nothing_for_draws():
    """Algorithm 3: the same number, because all draws are revealed anyway."""
    found = []
    for shared in (False, True):
        scheme = UserMinSep(rate=0.02, separation=4, examples_per_user=2, shared_examples=shared)
        found.append(known(hs.Plan(sampling=scheme, steps=200), 2.0).epsilon(1e-6))
    assert found[0] == found[1]


def test_sharing_leaves_participation_based_users_the_worst_pattern():
    """Algorithm 4: other users may let a user join more than it would alone, so it is refused."""
    scheme = ConjecturedUserMinSep(
        rate=0.02, separation=4, examples_per_user=2, shared_examples=True
    )
    plan = hs.Plan(sampling=scheme, steps=200)
    with pytest.raises(hs.errors.UnsupportedPlan, match="would not join alone"):
        known(plan, 2.0)
    assert list(hs.methods(plan)) == ["gaussian"]


@pytest.mark.parametrize("examples", [2, 33])
def test_where_the_law_is_not_known(examples):
    """More bands than the separation, or too many examples: refused."""
    bands = 5 if examples == 2 else 2
    strategy = strategies.bsr(20, bands=bands)
    scheme = UserMinSep(rate=0.01, separation=3, examples_per_user=examples)
    plan = hs.Plan(sampling=scheme, steps=20, strategy=strategy)
    with pytest.raises(hs.errors.UnsupportedPlan, match=r"overlap|examples of a user"):
        known(plan, 9.0)


@pytest.mark.slow
def test_long_runs_are_left_to_closed_forms():
    """A billion steps are not gone through one by one, and still have numbers."""
    plan = hs.Plan(sampling=MinSep(rate=1e-9, separation=4), steps=10**9)
    kinds = hs.methods(plan)
    proven = [name for name in kinds if kinds[name] == "proven"]
    assert proven == ["gaussian", "poisson-reduction"]
    poisson = hs.Plan(sampling=hs.Poisson(rate=1e-9), steps=10**9)
    expected = hs.account(poisson, noise_multiplier=1.0).epsilon(1e-6)
    assert hs.account(plan, noise_multiplier=1.0).epsilon(1e-6) == pytest.approx(expected, rel=2e-3)

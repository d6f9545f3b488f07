"""What schemes offer to analyses: contracts over the whole registry, on runs of every kind."""

from __future__ import annotations

import ast
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.accounting.candidates import RunSize, candidates
from hockeystick.schemes import SCHEMES, DominatingPair, Missing, Sampling
from hockeystick.schemes.pairs import step_of
from hockeystick.schemes.simulation import Simulation, missing_simulation, runs_of
from in_one_test import in_one_test

SCHEME_RUNS: list[Sampling] = [
    hs.FullBatch(),
    hs.Poisson(rate=0.2),
    hs.Poisson(rate=0.2, max_participations=2),
    hs.CyclicPoisson(rate=0.3, groups=4),
    hs.CyclicPoisson(rate=1.0, groups=4),
    hs.CyclicPoisson(rate=0.3, groups=4, random_phase=True),
    hs.BallsInBins(bins=1),
    hs.BallsInBins(bins=4),
    hs.BallsInBins(bins=20),
    hs.RandomAllocation(picks=1, out_of=4),
    hs.RandomAllocation(picks=3, out_of=4),
    hs.RandomAllocation(picks=1, out_of=7, truncate=True),
    hs.RandomAllocation(picks=1, out_of=12),
    hs.MinSep(rate=0.3, separation=4),
    hs.MinSep(rate=0.3, separation=1),
    hs.MinSep(rate=1.0, separation=4),
    hs.MinSep(rate=1.0, separation=4, warm_start=False, max_participations=2),
    hs.UserMinSep(rate=0.2, separation=3, examples_per_user=2, warm_up=2),
    hs.UserMinSep(rate=0.2, separation=1, examples_per_user=2),
    hs.UserMinSep(rate=1.0, separation=2, examples_per_user=1),
    hs.UserMinSep(rate=0.2, separation=3, examples_per_user=2, shared_examples=True),
    hs.ConjecturedUserMinSep(rate=0.2, separation=3, examples_per_user=2, warm_up=4),
    hs.ConjecturedUserMinSep(rate=0.2, separation=3, examples_per_user=2, shared_examples=True),
    hs.FormedBatches(batch_size=5, separation=3),
    hs.Shuffle(batch_size=5),
]
STEPS = 12
STRATEGIES = [hs.strategies.identity(STEPS), hs.strategies.bsr(STEPS, bands=3)]
PLANS = [
    *(
        hs.Plan(sampling=scheme, steps=STEPS, strategy=strategy)
        for scheme, strategy in itertools.product(SCHEME_RUNS, STRATEGIES)
    ),
    *(
        hs.Plan(sampling=scheme, steps=STEPS, mechanism=hs.Profile.laplace(scale=1.0))
        for scheme in SCHEME_RUNS
    ),
]
CAPABILITIES = (
    "dominating_pair",
    "uniform_mixture",
    "mixture_blocks",
    "independent_sampling",
    "parallel_allocations",
    "participants",
    "renewal",
    "equivalent",
    "rate_for_filters",
    "simulation",
)


def offers(capability: str) -> list[tuple[hs.Plan, Any]]:
    """The plans whose scheme offers something, with what it offers."""
    found = [(plan, getattr(plan.sampling, capability)(plan)) for plan in PLANS]
    return [(plan, one) for plan, one in found if not isinstance(one, Missing)]


def test_every_scheme_is_covered() -> None:
    """A newly registered scheme needs a run here."""
    assert {scheme.name for scheme in SCHEME_RUNS} == SCHEMES.keys()


@in_one_test
@pytest.mark.parametrize("capability", CAPABILITIES)
def test_what_is_missing_has_a_reason(capability: str) -> None:
    """One clause without a full stop; what is always missing is missing for every run."""
    always: set[str] = set()
    some = {plan.sampling.name for plan, _ in offers(capability)}
    for plan in PLANS:
        found = getattr(plan.sampling, capability)(plan)
        if isinstance(found, Missing):
            assert len(found.reason) > 10
            assert not found.reason.endswith(".")
            always |= {plan.sampling.name} if found.always else set()
    assert some
    assert not always & some


def test_pairs_are_profiles_of_upper_bounds() -> None:
    """Whatever the step is."""
    for plan, build in offers("dominating_pair"):
        pair = build(step_of(plan, None if plan.mechanism is not None else 3.0))
        assert isinstance(pair, DominatingPair)
        assert pair.profile.bound == "upper"
        assert 0 < pair.profile.epsilon(1e-3) < float("inf")


def test_a_tight_pair_does_not_exceed_the_gaussian_mechanism() -> None:
    """Participation that is known can only leak more."""
    for plan, build in offers("dominating_pair"):
        if plan.mechanism is None:
            pair = build(step_of(plan, 3.0))
            known = hs.account(plan, noise_multiplier=3.0, method="gaussian").epsilon(1e-3)
            worst = max(pair.profile.epsilon(1e-3), pair.profile.reverse().epsilon(1e-3))
            assert not pair.tight or worst <= known * (1 + 2e-3)


def test_mixtures_have_the_gram_matrix_of_the_means() -> None:
    """Divided by the variance; a uniform mixture is a single block of the same means."""
    for plan, mixture in offers("uniform_mixture"):
        noisy = mixture.with_noise(2.0)
        means = plan.strategy.summed_columns(spacing=mixture.bins)
        assert noisy.used == means.shape[1]
        np.testing.assert_allclose(noisy.kernel, means.T @ means / 4, rtol=1e-12)
        np.testing.assert_allclose(noisy.levels, means / 2, rtol=1e-12)
        blocks = plan.sampling.mixture_blocks(plan)
        assert not isinstance(blocks, Missing)
        assert blocks.single
        assert (blocks.terms, blocks.share) == (mixture.used, mixture.share)
        np.testing.assert_array_equal(blocks.kernel(2.0), noisy.kernel)


def test_blocks_of_mixtures_cover_the_run() -> None:
    """Every mean is in one block, whose share is the part of it that is run."""
    for plan, blocks in offers("mixture_blocks"):
        assert blocks.kernel(1.0).shape == (blocks.means, blocks.means)
        assert 0 < blocks.share <= 1
        assert blocks.single == (blocks.means <= blocks.length)
        assert 1 / blocks.length == pytest.approx(plan.sampling.expected_batch_size(1))


def test_independent_draws_are_at_least_the_participations() -> None:
    """In every step; exactly, where the scheme says so."""
    for plan, sampling in offers("independent_sampling"):
        assert 0 < sampling.rate <= 1
        assert sampling.copies == plan.sampling.most_copies
        average = plan.sampling.expected_batch_size(1)
        assert average <= sampling.rate * (1 + 1e-12)
        if sampling.exact:
            assert average == sampling.rate
            assert sampling.most is None or sampling.most >= plan.sampling.most_participations(
                STEPS
            )


def test_allocations_have_the_participations_of_the_run() -> None:
    """On average; more only where a partial block is charged as a whole."""
    for plan, draws in offers("parallel_allocations"):
        average = sum(one.count * one.steps_run / one.length for one in draws)
        wanted = plan.sampling.expected_batch_size(1) * STEPS
        assert average >= wanted * (1 - 1e-12)
        if STEPS % draws[0].length == 0:
            assert average == pytest.approx(wanted)
        for one in draws:
            assert 1 <= one.steps_run <= one.length


def test_participants_have_probabilities() -> None:
    """They add up to one, and nobody has more examples than the scheme says."""
    for plan, found in offers("participants"):
        participants = list(found)
        assert participants
        assert (
            max(len(one.copy_probabilities) for one in participants)
            == plan.sampling.most_copies + 1
        )
        for one in participants:
            assert sum(one.copy_probabilities) == pytest.approx(1.0)
            assert one.starts is None or sum(one.starts) == pytest.approx(1.0)
            assert (one.separation, one.steps) == (plan.sampling.least_gap, STEPS)


def test_renewals_keep_the_separation() -> None:
    """The long-run rate of a renewal process is that of the scheme."""
    for plan, renewal in offers("renewal"):
        assert renewal.separation == plan.sampling.least_gap
        rate = renewal.rate / (1 + (renewal.separation - 1) * renewal.rate)
        assert plan.sampling.expected_batch_size(1) == pytest.approx(rate)


def test_equivalent_schemes_draw_the_same_batches() -> None:
    """As often on average, and with the same gaps; never fewer participations."""
    for plan, same in offers("equivalent"):
        other, here = same.sampling, plan.sampling
        assert other.expected_batch_size(1) == pytest.approx(here.expected_batch_size(1))
        assert other.least_gap == here.least_gap
        most = other.most_participations(STEPS), here.most_participations(STEPS)
        assert most[0] >= most[1]
        assert not same.exact or most[0] == most[1]


def test_filters_see_independent_steps() -> None:
    """At the rate of every step: of the registered schemes two kinds have that."""
    found = offers("rate_for_filters")
    assert {plan.sampling.name for plan, _ in found} == {"full-batch", "poisson"}
    for plan, rate in found:
        assert rate == plan.sampling.expected_batch_size(1)


def test_simulations_draw_finite_losses() -> None:
    """For every number of examples of a user, with and without them."""
    for plan, simulator in offers("simulation"):
        if plan.mechanism is not None:
            assert missing_simulation(plan) == "only the Gaussian mechanism is simulated"
            continue
        assert missing_simulation(plan) is None
        assert max(simulator.held) == plan.sampling.most_copies
        for present in (True, False):
            assert [run.held for run in runs_of(plan, present=present)] == list(simulator.held)
            run = Simulation(plan=plan, noise_multipliers=(2.0, 3.0), present=present)
            drawn = list(run.prepared().draws(20, np.random.default_rng(1)))
            losses = np.concatenate([one.losses for one in drawn], axis=1)
            assert losses.shape == (2, 20)
            assert np.isfinite(losses).all()


def test_a_refused_plan_has_no_methods() -> None:
    """And every other one has at least one."""
    for plan in PLANS:
        refused = plan.sampling.refusal(plan, None) is not None
        assert refused == (plan.sampling.name == "shuffle")
        if plan.mechanism is None:
            assert bool(hs.methods(plan)) != refused


def test_patterns_are_attained_only_where_participation_is_known() -> None:
    """A random participation has no pattern of its own."""
    for plan in PLANS:
        if plan.sampling.attains([0]):
            assert plan.sampling.participation_known
    assert hs.CyclicPoisson(rate=1.0, groups=4).attains([1, 5])
    cold = hs.MinSep(rate=1.0, separation=4, warm_start=False)
    assert cold.attains([0, 4])
    assert not cold.attains([1, 5])


def test_candidates_are_plans_of_their_own_scheme() -> None:
    """Every scheme proposes itself, with batches of the wanted size."""
    found = candidates(RunSize(examples=32, batch_size=8, steps=8))
    proposing = {plan.sampling.name for plan in found}
    assert proposing <= SCHEMES.keys()
    for name in proposing:
        own = list(SCHEMES[name].candidates(batch_size=8.0, examples=32, steps=8))
        assert {one.sampling.name for one in own} == {name}
    for plan in found:
        assert plan.sampling.expected_batch_size(32) == pytest.approx(8)


@pytest.mark.parametrize("room", ["analyses", "accounting", "montecarlo", "training", "cli"])
def test_no_scheme_is_named_outside_its_folder(room: str) -> None:
    """Analyses and commands ask what a scheme offers; they never import one by name."""
    classes = {scheme.__name__ for scheme in SCHEMES.values()}
    folders = {name.replace("-", "_") for name in SCHEMES}
    for path in (Path(hs.__file__).parent / room).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                assert not classes & {alias.name for alias in node.names}, path
                parts = node.module.split(".")
                named = parts[:2] == ["hockeystick", "schemes"] and folders & set(parts[2:])
                assert not named, path

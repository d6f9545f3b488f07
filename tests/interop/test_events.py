"""dp-accounting's events and Opacus' histories, accounted here."""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.pld import pld_privacy_accountant
from dp_accounting.privacy_accountant import NeighboringRelation
from dp_accounting.rdp import rdp_privacy_accountant

import hockeystick as hs
from hockeystick.schemes.full_batch import shuffle_epsilon_lower_bound

GAUSSIAN = dp_event.GaussianDpEvent(2.0)
POISSON = dp_event.PoissonSampledDpEvent(0.1, dp_event.GaussianDpEvent(1.0))
TIGHT = [
    GAUSSIAN,
    dp_event.LaplaceDpEvent(3.0),
    dp_event.DiscreteLaplaceDpEvent(0.4, 3),
    dp_event.SelfComposedDpEvent(POISSON, 10),
    dp_event.ComposedDpEvent([GAUSSIAN, POISSON, dp_event.NoOpDpEvent()]),
    dp_event.PoissonSampledDpEvent(0.2, dp_event.LaplaceDpEvent(1.0)),
    dp_event.MixtureOfGaussiansDpEvent(2.0, [0.0, 1.0, 2.0], [0.5, 0.3, 0.2]),
]
REFUSED = [
    dp_event.NonPrivateDpEvent(),
    dp_event.UnsupportedDpEvent(),
    dp_event.SampledWithReplacementDpEvent(100, 10, GAUSSIAN),
    dp_event.SampledWithoutReplacementDpEvent(100, 10, dp_event.LaplaceDpEvent(1.0)),
    dp_event.SampledWithoutReplacementDpEvent(10, 100, GAUSSIAN),
    dp_event.ComposedDpEvent([GAUSSIAN, dp_event.NonPrivateDpEvent()]),
    dp_event.RepeatAndSelectDpEvent(GAUSSIAN, 5.0, -0.5),
    dp_event.RandomizedResponseDpEvent(0.0, 4),
]


@pytest.mark.parametrize("event", TIGHT, ids=lambda event: type(event).__name__)
def test_events_have_the_numbers_of_their_own_accountant(event):
    """dp-accounting's pessimistic number is above our lower bound, and close to the upper one."""
    accountant = pld_privacy_accountant.PLDAccountant(value_discretization_interval=1e-3)
    theirs = accountant.compose(event).get_epsilon(1e-4)
    ours = hs.interop.from_dp_event(event).answer(delta=1e-4)
    assert ours.lower <= theirs * (1 + 1e-6)
    assert ours.value <= theirs * (1 + 2e-3) + 1e-3
    assert theirs <= ours.value * 1.01 + 5e-3


@pytest.mark.parametrize("event", REFUSED, ids=lambda event: type(event).__name__)
def test_events_without_a_bound_are_refused(event):
    """By name, with a reason."""
    with pytest.raises(hs.errors.UnsupportedPlan, match="DpEvent: "):
        hs.interop.from_dp_event(event)


def test_all_events_are_known():
    """Every event of the installed release is accounted or refused by name."""
    from hockeystick.interop.events import _PROFILES, _REFUSED

    classes = {name for name in vars(dp_event) if name.endswith("DpEvent") and name != "DpEvent"}
    assert classes == set(_PROFILES) | set(_REFUSED)


def test_concentrated_privacy_is_converted_after_composition():
    """Above the Gaussian mechanism with the same rho, at most as Renyi's best order converts."""
    found = hs.interop.from_dp_event(dp_event.SelfComposedDpEvent(dp_event.ZCDpEvent(0.005), 20))
    gaussian = hs.Profile.gaussian(noise_multiplier=math.sqrt(1 / 0.2))
    accountant = rdp_privacy_accountant.RdpAccountant(list(np.linspace(1.1, 60, 600)))
    accountant.compose(dp_event.GaussianDpEvent(math.sqrt(1 / 0.2)))
    for delta in (1e-2, 1e-6, 1e-9):
        theirs = accountant.get_epsilon(delta)
        assert gaussian.epsilon(delta) < found.epsilon(delta) < theirs * 1.02


def test_trees_count_completed_nodes():
    """One step lies in at most floor(log2 c) + 1 dyadic intervals within c steps: enumeration."""
    for steps in range(1, 20):
        nodes = [
            (start, start + 2**level)
            for level in range(6)
            for start in range(0, steps, 2**level)
            if start + 2**level <= steps
        ]
        most = max(sum(a <= step < b for a, b in nodes) for step in range(steps))
        found = hs.interop.from_dp_event(dp_event.SingleEpochTreeAggregationDpEvent(2.0, steps))
        exact = hs.Profile.gaussian(noise_multiplier=2.0 / math.sqrt(most))
        assert found.epsilon(1e-5) == pytest.approx(exact.epsilon(1e-5), rel=1e-9)
    several = dp_event.SingleEpochTreeAggregationDpEvent(2.0, [3, 16, 5])
    alone = dp_event.SingleEpochTreeAggregationDpEvent(2.0, 16)
    found = [hs.interop.from_dp_event(event).epsilon(1e-5) for event in (several, alone)]
    assert found[0] == found[1]


def test_repetitions_of_randomized_response_count():
    """dp-accounting 0.6.0 ignores the count there: half of our proven lower bound and less."""
    event = dp_event.RandomizedResponseDpEvent(0.5, 4)
    ours = hs.interop.from_dp_event(dp_event.SelfComposedDpEvent(event, 20)).answer(delta=1e-6)
    once = hs.interop.from_dp_event(event).epsilon(1e-6)
    assert ours.lower > 3 * once


def test_replaced_examples():
    """dp-accounting's PLD agrees with the pair that is proven here; its moments are too small."""
    relation = NeighboringRelation.REPLACE_ONE
    sampled = dp_event.PoissonSampledDpEvent(0.1, GAUSSIAN)
    theirs = pld_privacy_accountant.PLDAccountant(relation).compose(sampled, 4).get_epsilon(1e-5)
    ours = hs.Profile.replaced_gaussian(noise_multiplier=2.0, rate=0.1).self_compose(4)
    assert ours.epsilon(1e-5) == pytest.approx(theirs, rel=2e-3)
    moments = rdp_privacy_accountant.RdpAccountant(neighboring_relation=relation)
    full = hs.Profile.replaced_gaussian(noise_multiplier=2.0, rate=1.0, bound="lower")
    assert moments.compose(GAUSSIAN).get_epsilon(1e-5) < 0.6 * full.epsilon(1e-5)


def test_selected_runs():
    """As `RandomRuns` accounts them, and below dp-accounting's bound by moments."""
    event = dp_event.RepeatAndSelectDpEvent(GAUSSIAN, 10.0, 1.0)
    base = hs.account(hs.Plan(sampling=hs.FullBatch(), steps=1), noise_multiplier=2.0)
    ours = hs.interop.from_dp_event(event).epsilon(1e-5)
    direct = hs.tuning.RandomRuns(distribution="geometric", mean=10.0).guarantee(base)
    theirs = rdp_privacy_accountant.RdpAccountant().compose(event).get_epsilon(1e-5)
    assert direct.epsilon(1e-5) * (1 - 1e-6) <= ours < theirs


@pytest.mark.slow
def test_histories_of_opacus():
    """An accountant, its state and its history say the same; phases compose."""
    from opacus.accountants import RDPAccountant

    accountant = RDPAccountant()
    for _ in range(5):
        accountant.step(noise_multiplier=1.0, sample_rate=0.1)
    accountant.step(noise_multiplier=2.0, sample_rate=1.0)
    found = [
        hs.interop.from_opacus(one).epsilon(1e-5)
        for one in (accountant, accountant.state_dict(), accountant.history)
    ]
    assert len(set(found)) == 1
    assert found[0] < accountant.get_epsilon(1e-5)
    first = hs.account(hs.Plan(sampling=hs.Poisson(rate=0.1), steps=5), noise_multiplier=1.0)
    second = hs.account(hs.Plan(sampling=hs.FullBatch(), steps=1), noise_multiplier=2.0)
    assert found[0] == first.compose(second).epsilon(1e-5)


@pytest.mark.parametrize("bad", [[], {}, None, "run", [(1.0, 0.1)], {"history": [("a", 1, 1)]}])
def test_what_is_no_history(bad):
    """One sentence."""
    with pytest.raises(hs.errors.InvalidParameter, match="accountant"):
        hs.interop.from_opacus(bad)


def test_what_is_no_event():
    """One sentence."""
    with pytest.raises(hs.errors.InvalidParameter, match="event"):
        hs.interop.from_dp_event("gaussian")


def test_capped_batches_beside_their_own_bound():
    """dp-accounting prices them too [2508.15089]: where batches overflow rarely both agree."""
    event = dp_event.TruncatedSubsampledGaussianDpEvent(1_000, 0.02, 50, 1.0)
    run = dp_event.SelfComposedDpEvent(event, 50)
    accountant = pld_privacy_accountant.PLDAccountant(value_discretization_interval=1e-3)
    theirs = accountant.compose(run).get_epsilon(1e-5)
    assert hs.interop.from_dp_event(run).epsilon(1e-5) == pytest.approx(theirs, rel=5e-3)


@pytest.mark.parametrize(("size", "most"), [(1, 2), (2, 3), (2, 4)])
def test_fixed_sizes_against_enumeration(size, most):
    """All subsets, with the example and without it, beside others of several kinds, both orders."""
    noise, outputs = 1.0, np.linspace(-14, 14, 20_001)
    event = dp_event.SampledWithoutReplacementDpEvent(most, size, dp_event.GaussianDpEvent(noise))
    bound = hs.interop.from_dp_event(event)

    def density(gradients):
        batches = list(itertools.combinations(gradients, size))
        total = sum(np.exp(-((outputs - sum(b)) ** 2) / (2 * noise**2)) for b in batches)
        return total / len(batches) / (math.sqrt(2 * math.pi) * noise)

    for others in ([-1.0] * (most - 1), [1.0, -1.0, 0.3][: most - 1], [0.0] * (most - 1)):
        if len(others) < size:
            continue
        first, second = density([1.0, *others]), density(others)
        for epsilon in (0.0, 0.5, 1.5):
            for p, q in ((first, second), (second, first)):
                found = np.maximum(p - math.exp(epsilon) * q, 0).sum() * (outputs[1] - outputs[0])
                assert found <= bound.delta(epsilon) * (1 + 1e-6)


@pytest.mark.parametrize(("size", "noise"), [(10, 2.0), (50, 2.0), (10, 4.0)])
def test_fixed_sizes_and_replaced_examples(size, noise):
    """dp-accounting 0.6.0 claims less by moments than some data sets provably leak in one step.

    Where all others have the opposite gradient, the step is the pair of the lower bound. Its noise
    is over the clip norm, as ours; gradients that replace each other are twice that apart.
    """
    event = dp_event.SampledWithoutReplacementDpEvent(100, size, dp_event.GaussianDpEvent(noise))
    accountant = rdp_privacy_accountant.RdpAccountant(
        neighboring_relation=NeighboringRelation.REPLACE_ONE
    )
    claimed = accountant.compose(event).get_epsilon(1e-5)
    attained = hs.Profile.gaussian(noise_multiplier=noise / 2).subsample(size / 100)
    assert claimed < 0.5 * attained.epsilon_bounds(1e-5).lower


def opacus_epoch(*, batch_size, examples, noise):
    """The engine of a real epoch with a shuffled loader, and the number of its batches."""
    torch = pytest.importorskip("torch")
    opacus = pytest.importorskip("opacus")
    data = torch.utils.data.TensorDataset(torch.randn(examples, 2), torch.zeros(examples))
    loader = torch.utils.data.DataLoader(data, batch_size=batch_size, shuffle=True)
    model = torch.nn.Linear(2, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        engine = opacus.PrivacyEngine(accountant="prv")
        model, optimizer, loader = engine.make_private(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
            data_loader=loader,
            noise_multiplier=noise,
            max_grad_norm=1.0,
            poisson_sampling=False,
        )
        count = 0
        for x, y in loader:
            optimizer.zero_grad()
            (model(x)[:, 0] - y).square().mean().backward()
            optimizer.step()
            count += 1
        return engine, count


def test_opacus_prices_shuffled_batches_as_poisson():
    """What it claims for a shuffled epoch is below a proven lower bound of such an epoch."""
    engine, batches = opacus_epoch(batch_size=2, examples=200, noise=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        claimed = engine.get_epsilon(1e-6)
    attained = shuffle_epsilon_lower_bound(noise_multiplier=0.5, batches=batches, delta=1e-6)
    assert claimed < 0.9 * attained


def test_opacus_rounds_the_sample_rate():
    """It accounts one over the number of batches: 0.25 where 30 of 100 are in a full one."""
    engine, batches = opacus_epoch(batch_size=30, examples=100, noise=1.0)
    ((_, rate, steps),) = engine.accountant.history
    assert (rate, steps, batches) == (0.25, 4, 4)
    assert hs.interop.from_opacus(engine.accountant).epsilon(1e-5) < hs.account(
        hs.Plan(sampling=hs.Poisson(rate=0.3), steps=4), noise_multiplier=1.0
    ).epsilon(1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(("rate", "steps"), [(1.0, 1), (0.1, 50)])
def test_ten_runs_of_epsilon_one(rate, steps):
    """Geometric with mean 10 over (1, 1e-6): well below dp-accounting's bound by moments."""
    plan = hs.Plan(sampling=hs.FullBatch() if rate == 1 else hs.Poisson(rate=rate), steps=steps)
    noise = hs.calibrate(plan, epsilon=1.0, delta=1e-6).noise_multiplier
    step = dp_event.GaussianDpEvent(noise)
    if rate < 1:
        step = dp_event.PoissonSampledDpEvent(rate, step)
    event = dp_event.RepeatAndSelectDpEvent(dp_event.SelfComposedDpEvent(step, steps), 10.0, 1.0)
    theirs = rdp_privacy_accountant.RdpAccountant().compose(event).get_epsilon(1e-6)
    runs = hs.tuning.RandomRuns(distribution="geometric", mean=10)
    ours = runs.guarantee(hs.account(plan, noise_multiplier=noise)).epsilon(1e-6)
    assert 1 < ours < 0.72 * theirs

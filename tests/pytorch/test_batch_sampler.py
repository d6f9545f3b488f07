"""Batches of a plan as PyTorch takes them."""

from __future__ import annotations

import io

import numpy as np
import pytest
import torch

import hockeystick as hs
from hockeystick.errors import InvalidParameter, UnsupportedPlan
from hockeystick.torch import BatchSampler, Collate
from in_one_test import in_one_test

GRAPH = hs.Attribution.from_pairs(
    examples=np.arange(30), users=np.arange(30) // 2, number_of_examples=30, number_of_users=15
)
SCHEMES = [
    (hs.FullBatch(), 30),
    (hs.Poisson(rate=0.1), 30),
    (hs.Poisson(rate=0.5, max_participations=2), 30),
    (hs.CyclicPoisson(rate=0.3, groups=3), 30),
    (hs.CyclicPoisson(rate=0.3, groups=3, random_phase=True), 30),
    (hs.BallsInBins(bins=4), 30),
    (hs.RandomAllocation(picks=2, out_of=6), 30),
    (hs.MinSep(rate=0.2, separation=3), 30),
    (hs.UserMinSep(rate=0.1, separation=3, examples_per_user=2), GRAPH),
    (hs.ConjecturedUserMinSep(rate=0.1, separation=3, examples_per_user=2), GRAPH),
]


def plan_of(scheme: hs.Poisson) -> hs.Plan:
    """Twelve steps of it."""
    return hs.Plan(sampling=scheme, steps=12)


@in_one_test
@pytest.mark.parametrize(("scheme", "examples"), SCHEMES)
def test_it_hands_out_the_batches_of_the_plan(scheme, examples):
    """The same seed gives the same batches as the plan itself, as lists of Python integers."""
    mine = list(BatchSampler(plan_of(scheme), examples=examples, rng=7))
    wanted = [batch.tolist() for batch in plan_of(scheme).batches(examples=examples, rng=7)]
    assert mine == wanted
    assert all(type(index) is int for batch in mine for index in batch)


@in_one_test
@pytest.mark.parametrize(("scheme", "examples"), SCHEMES)
def test_a_saved_state_goes_on_with_the_same_batches(scheme, examples):
    """Also through a file that is read without trust, into a sampler with another seed."""
    first = BatchSampler(plan_of(scheme), examples=examples)
    used = [batch for _, batch in zip(range(5), first, strict=False)]
    file = io.BytesIO()
    torch.save(first.state_dict(), file)
    file.seek(0)
    second = BatchSampler(plan_of(scheme), examples=examples, rng=1)
    second.load_state_dict(torch.load(file))
    assert second.position == len(used) == 5
    assert list(second) == list(first)


def test_a_second_pass_goes_on_and_never_repeats():
    """Every batch is drawn once, whatever the number of passes."""
    sampler = BatchSampler(plan_of(hs.Poisson(rate=0.3)), examples=30, rng=2)
    together = [batch for _, batch in zip(range(4), sampler, strict=False)]
    assert len(sampler) == 8
    together += list(sampler)
    assert together == list(BatchSampler(sampler.plan, examples=30, rng=2))
    assert list(sampler) == []


def test_any_step_can_be_asked_for_again():
    """The latest, an earlier and a later one, each as it was."""
    sampler = BatchSampler(plan_of(hs.MinSep(rate=0.3, separation=3)), examples=30, rng=2)
    wanted = list(sampler.plan.batches(examples=30, rng=2))
    for step in (0, 1, 1, 7, 3, 3, 11, 0):
        assert sampler.batch(step).tolist() == wanted[step].tolist()


def test_a_position_other_than_the_own_can_be_saved():
    """A loader with workers is ahead of the training loop."""
    sampler = BatchSampler(plan_of(hs.Poisson(rate=0.3)), examples=30, rng=2)
    wanted = list(sampler)
    again = BatchSampler(sampler.plan, examples=30)
    again.load_state_dict(sampler.state_dict(position=4))
    assert list(again) == wanted[4:]


def test_a_generator_is_only_asked_for_a_seed():
    """What is drawn from it elsewhere does not change the batches, and is not the same stream."""
    rng = np.random.default_rng(5)
    sampler = BatchSampler(plan_of(hs.Poisson(rate=0.3)), examples=30, rng=rng)
    rng.random(100)
    again = BatchSampler(sampler.plan, examples=30, rng=np.random.default_rng(5))
    assert list(sampler) == list(again)


def test_other_states_are_refused():
    """Of another rate, other data, another graph, or no state at all."""
    sampler = BatchSampler(plan_of(hs.Poisson(rate=0.3)), examples=30, rng=2)
    others = [
        BatchSampler(plan_of(hs.Poisson(rate=0.2)), examples=30).state_dict(),
        BatchSampler(plan_of(hs.Poisson(rate=0.3)), examples=31).state_dict(),
        {**sampler.state_dict(), "position": 13},
        {**sampler.state_dict(), "generator": {"bit_generator": "other"}},
        {},
    ]
    for state in others:
        with pytest.raises(InvalidParameter):
            sampler.load_state_dict(state)
    users = plan_of(hs.UserMinSep(rate=0.1, separation=3, examples_per_user=2))
    with pytest.raises(InvalidParameter):
        BatchSampler(users, examples=GRAPH).load_state_dict(
            BatchSampler(users, examples=hs.Attribution.one_user_each(30)).state_dict()
        )


def test_shuffled_batches_are_refused_at_once():
    """No analysis covers them."""
    with pytest.raises(UnsupportedPlan, match="BallsInBins"):
        BatchSampler(plan_of(hs.Shuffle(batch_size=5)), examples=30)


def test_it_drives_an_ordinary_loader():
    """The low-level route: a loader of PyTorch with the plan's batches, empty ones included."""
    points = torch.utils.data.TensorDataset(torch.arange(30.0))
    sampler = BatchSampler(plan_of(hs.Poisson(rate=0.03)), examples=30, rng=4)
    wanted = [batch.tolist() for batch in sampler.plan.batches(examples=30, rng=4)]
    assert [] in wanted
    loader = torch.utils.data.DataLoader(points, batch_sampler=sampler, collate_fn=Collate(points))
    assert [batch[0].tolist() for batch in loader] == wanted

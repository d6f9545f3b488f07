"""A run goes on as what it was: its seed stays known, its filter is the same, or it does not."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import torch

import hockeystick as hs
from hockeystick.errors import HockeystickError, InvalidParameter, PlanMismatch
from hockeystick.torch import BatchSampler, TorchNoiseStream
from in_one_test import in_one_test
from references.forked import in_child

OURS = "hockeystick"


def ours(state):
    """The part of a run's state that is about batches and noise."""
    return state["optimizer"][OURS]


@pytest.mark.slow
@pytest.mark.parametrize(("saved", "restored"), [(3, None), (None, 3)])
def test_a_known_seed_stays_known(runs, saved, restored):
    """The statement says `seeded` whichever of the two runs had a seed."""
    run = runs.private(runs.banded(), rng=saved)
    runs.train(run, until=2)
    other = runs.private(runs.banded(), rng=restored)
    other.load_state_dict(run.state_dict())
    assert other.statement(delta=1e-5).seeded
    again = runs.private(runs.banded(), rng=None)
    again.load_state_dict(other.state_dict())
    assert again.statement(delta=1e-5).seeded


def test_a_secret_seed_stays_secret(runs):
    """Restoring one unseeded run into another does not call it seeded."""
    run = runs.private(runs.banded(), rng=None)
    runs.train(run, until=2)
    other = runs.private(runs.banded(), rng=None)
    other.load_state_dict(run.state_dict())
    assert not other.statement(delta=1e-5).seeded


EPSILON = {"epsilon": 1.0, "delta": 1e-5}
FILTERS = {
    "epsilon": lambda: hs.filters.Renyi(epsilon=2.0, delta=1e-5, order=30.0),
    "order": lambda: hs.filters.Renyi(**EPSILON, order=31.0),
    "gaussian": lambda: hs.filters.Gaussian(mu=5.0),
}


def with_filter(runs, privacy_filter):
    """A run of full batches that the filter governs."""
    plan = hs.Plan(sampling=hs.FullBatch(), steps=6)
    return runs.private(plan, filter=privacy_filter, noise_multiplier=40.0)


@pytest.mark.parametrize("make", FILTERS.values(), ids=FILTERS)
def test_another_filter_is_refused(runs, make):
    """Even one that has spent more than the saved run."""
    run = with_filter(runs, hs.filters.Renyi(**EPSILON, order=30.0))
    runs.train(run, until=1)
    other = make()
    while other.spent <= run.state_dict()["optimizer"][OURS]["budget"]["spent"]:
        other.request(noise_multiplier=20.0).commit()
    late = with_filter(runs, other)
    with pytest.raises(PlanMismatch, match="The saved run had another filter"):
        late.load_state_dict(run.state_dict())
    assert late.taken_steps == 0


def test_the_same_filter_under_another_name_is_refused(runs, tmp_path):
    """Two budgets in one ledger: the steps before would be in neither's statement."""

    def renyi(name):
        return hs.filters.Renyi(**EPSILON, order=30.0, ledger=tmp_path / "ledger.db", name=name)

    run = with_filter(runs, renyi("mine"))
    runs.train(run, until=1)
    theirs = renyi("theirs")
    theirs.request(noise_multiplier=40.0).commit()
    other = with_filter(runs, theirs)
    with pytest.raises(PlanMismatch, match="its name was 'mine', not 'theirs'"):
        other.load_state_dict(run.state_dict())
    same = with_filter(runs, renyi("mine"))
    same.load_state_dict(run.state_dict())
    assert same.taken_steps == 1


def test_individual_budgets_of_another_rule_are_refused(runs):
    """Their rule and its parameters are in the state."""

    def run(mu):
        made = hs.filters.Individual.gaussian(examples=runs.EXAMPLES, mu=mu)
        options = {"filter": made, "loss": lambda model, batch: runs.LinearLoss()(model(batch[0]))}
        return runs.private(hs.Plan(sampling=hs.FullBatch(), steps=3), **options)

    with pytest.raises(PlanMismatch, match="The saved run had another filter"):
        run(2.0).load_state_dict(run(1.0).state_dict())


def changed(state, *path, to):
    """A copy of a run's state with another value at the path; `...` for none at all."""
    state = copy.deepcopy(state)
    inner = ours(state)
    for name in path[:-1]:
        inner = inner[name]
    if to is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = to
    return state


BROKEN = {
    "no settings": (("settings",), ...),
    "settings as a list": (("settings",), [1]),
    "a setting less": (("settings", "clipping"), ...),
    "a setting as a tensor": (("settings", "noise_multiplier"), torch.ones(2)),
    "no taken": (("taken",), ...),
    "taken as text": (("taken",), "two"),
    "taken as a float": (("taken",), 2.0),
    "negative taken": (("taken",), -2),
    "NaN taken": (("taken",), float("nan")),
    "no noise": (("noise",), ...),
    "noise is None": (("noise",), None),
    "no memory": (("memory", "0:2000"), ...),
    "memory of another shape": (("memory", "0:2000"), torch.ones(2, 2)),
    "memory with NaN": (("memory", "0:2000"), torch.full((3, 2000), float("nan"))),
    "memory of halves": (("memory", "0:2000"), torch.ones(3, 2000, dtype=torch.bfloat16)),
    "no key": (("noise", "key"), []),
    "key as text": (("noise", "key"), "PCG64DXSM"),
    "no batches": (("batches",), ...),
    "batches as a list": (("batches",), [1, 2]),
    "no position": (("batches", "position"), ...),
    "position as a tensor": (("batches", "position"), torch.ones(3)),
    "batches of an even increment": (("batches", "generator", "state", "inc"), 2),
    "batches without a generator": (("batches", "generator"), ...),
    "changed batches": (("batches", "generator", "state", "state"), 5),
    "changed noise": (("noise", "key"), torch.ones(4, dtype=torch.uint64)),
    "no budget": (("budget",), ...),
    "budget as text": (("budget",), "none"),
    "no digest": (("digest",), ...),
    "another digest": (("digest",), "0" * 64),
    "unknown part": (("more",), torch.nn.Linear(1, 1)),
}


@pytest.fixture(scope="module", name="saved")
def _saved(runs):
    run = runs.private(runs.banded())
    runs.train(run, until=2)
    return run.state_dict()


@pytest.mark.slow
@pytest.mark.parametrize(("path", "value"), BROKEN.values(), ids=BROKEN)
def test_a_malformed_state_is_refused_in_one_sentence(runs, saved, path, value):
    """And the run is as it was, batches, noise and weights."""
    run = runs.private(runs.banded(), rng=4)
    other = runs.train(runs.private(runs.banded(), rng=4), until=3)
    before = runs.weights(run)
    with pytest.raises(HockeystickError) as caught:
        run.load_state_dict(changed(saved, *path, to=value))
    assert isinstance(caught.value, PlanMismatch)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500
    assert (run.taken_steps, run.record().seeded) == (0, True)
    assert torch.equal(runs.weights(run), before)
    same = runs.train(run, until=3)
    assert same[0] == other[0]
    assert all(torch.equal(a, b) for a, b in zip(same[1], other[1], strict=True))


def sampler(rng=None):
    """A sampler on its own."""
    return BatchSampler(hs.Plan(sampling=hs.Poisson(rate=0.5), steps=5), examples=9, rng=rng)


def noise(rng=None):
    """A stream of tensors on its own."""
    plan = hs.Plan(sampling=hs.Poisson(rate=0.5), steps=5)
    return TorchNoiseStream(
        plan, [torch.zeros(3)], noise_multiplier=1.0, max_grad_norm=1.0, rng=rng
    )


@in_one_test
@pytest.mark.parametrize("make", [sampler, noise])
@pytest.mark.parametrize(
    "state", [None, 3, {}, [], {"position": 1}, {"step": torch.ones(2)}, "text", {1: 2, "a": 3}]
)
def test_other_things_than_states(make, state):
    """`InvalidParameter`, never a raw exception."""
    with pytest.raises(InvalidParameter, match="state"):
        make().load_state_dict(state)


@pytest.mark.parametrize("make", [sampler, noise])
def test_streams_of_tensors_belong_to_their_process(make):
    """They are neither copied nor used after a fork, and say what came from a known seed."""
    made = make()
    assert not made.seeded
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(PlanMismatch, match="cannot be copied or pickled"):
            duplicate(made)
    said = in_child(lambda: next(iter(made)))
    assert said.startswith("PlanMismatch: The ")
    assert in_child(lambda: make().load_state_dict(make(3).state_dict())) == "returned"
    made.load_state_dict(make(3).state_dict())
    assert made.seeded


def test_a_run_takes_no_step_in_a_child(runs):
    """Neither a new pass nor the batch that was loaded before the fork."""
    run = runs.private(runs.banded(), rng=None)
    model, optimizer, loader = run
    points, _ = next(iter(loader))

    def step():
        run.loss(runs.LinearLoss())(model(points)).backward()
        optimizer.step()

    torch.set_num_threads(1)
    assert in_child(step).startswith("PlanMismatch: The noise stream belongs to process")
    assert in_child(lambda: next(iter(loader))).startswith("PlanMismatch: The batch sampler")
    assert in_child(run.state_dict).startswith("PlanMismatch")
    runs.train(run)
    assert run.finished


@pytest.mark.slow
def test_workers_of_a_loader_go_on_working(runs):
    """They are forked, but only read examples: the batches are those without workers."""
    options = {"num_workers": 2, "multiprocessing_context": "fork"}
    alone = runs.train(runs.private(runs.banded(5)))
    together = runs.train(runs.private(runs.banded(5), loader_options=options))
    assert alone[0] == together[0]
    assert np.array_equal(alone[1][-1].numpy(), together[1][-1].numpy())

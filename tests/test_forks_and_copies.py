"""Noise and batches are drawn once: not in a forked child, and not by a copy."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.errors import HockeystickError, LedgerError, PlanMismatch
from hockeystick.ledger import MemoryStore, open_store
from in_one_test import in_one_test
from references.forked import in_child

N = 6
GRAPH = hs.Attribution.from_pairs(
    examples=np.arange(10), users=np.arange(10) // 2, number_of_examples=10, number_of_users=5
)
SCHEMES = {
    "full": (hs.FullBatch(), 10),
    "poisson": (hs.Poisson(rate=0.5), 10),
    "stopping": (hs.Poisson(rate=0.5, max_participations=2), 10),
    "cyclic": (hs.CyclicPoisson(rate=0.5, groups=2), 10),
    "bins": (hs.BallsInBins(bins=3), 10),
    "allocation": (hs.RandomAllocation(picks=1, out_of=3), 10),
    "min-sep": (hs.MinSep(rate=0.2, separation=2), 10),
    "users": (hs.UserMinSep(rate=0.2, separation=2, examples_per_user=2), GRAPH),
}


def batches(name, rng=None):
    """The batches of a scheme, after the first."""
    scheme, examples = SCHEMES[name]
    made = hs.Plan(sampling=scheme, steps=N).batches(examples=examples, rng=rng)
    next(made)
    return made


def noise(strategy=None, rng=None):
    """A stream after its first row."""
    made = (strategy or hs.strategies.bsr(N, bands=2)).noise(3, rng=rng)
    next(made)
    return made


def run(rng=None):
    """A NumPy run after its first step."""
    plan = hs.Plan(sampling=hs.Poisson(rate=0.5), steps=N)
    made = hs.training.PrivateRun(
        plan, examples=8, dimension=2, noise_multiplier=1.0, max_grad_norm=1.0, rng=rng
    )
    made.step(gradients)
    return made


def gradients(batch):
    """Ones."""
    return np.ones((batch.size, 2))


def assert_refused(said, what):
    """One sentence that names the object and both processes."""
    assert said.startswith(f"PlanMismatch: {what} belongs to process ")
    assert said.count(".") == 1
    assert said.endswith("make a new one in this process.")


@in_one_test
@pytest.mark.parametrize("name", SCHEMES)
@pytest.mark.parametrize("rng", [None, 5])
def test_batches_are_not_drawn_in_a_child(name, rng):
    """Every scheme; the parent goes on."""
    made = batches(name, rng)
    assert_refused(in_child(lambda: next(made)), "The sequence of batches")
    assert len(list(made)) == N - 1


@pytest.mark.parametrize("call", [next, lambda stream: stream.state()], ids=["next", "state"])
def test_noise_is_not_drawn_in_a_child(call):
    """Nor saved there, to be drawn elsewhere; the parent goes on."""
    made = noise()
    assert_refused(in_child(lambda: call(made)), "The noise stream")
    assert len(list(made)) == N - 1


def test_a_saved_state_is_not_restored_into_the_copy_of_a_child():
    """The child makes a stream of its own; that one may be restored, and goes on."""
    made = noise(rng=1)
    saved = made.state()
    assert_refused(in_child(lambda: made.restore(saved)), "The noise stream")
    assert in_child(lambda: noise().restore(saved)) == "returned"


def test_a_numpy_run_takes_no_step_in_a_child():
    """And no permit is asked for there."""
    made = run()
    assert_refused(in_child(lambda: made.step(gradients)), "The private run")
    made.step(gradients)
    assert made.taken_steps == 2


def test_what_a_child_makes_itself_works_there():
    """Secret sources are seeded anew."""
    assert in_child(lambda: [noise(), batches("poisson"), run()]) == "returned"


@in_one_test
@pytest.mark.parametrize(
    "make",
    [noise, run, *(lambda name=name: batches(name) for name in SCHEMES)],
    ids=["noise", "run", *SCHEMES],
)
@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, pickle.dumps], ids=["copy", "deepcopy", "pickle"]
)
def test_nothing_is_copied(make, duplicate):
    """A copy would draw the same numbers; one sentence says so."""
    made = make()
    with pytest.raises(PlanMismatch, match="cannot be copied or pickled"):
        duplicate(made)


def budget_of(kind, directory):
    """Something that counts spending, with the error that its copies raise."""
    if kind == "individual":
        return hs.filters.Individual.gaussian(examples=4, mu=0.5), HockeystickError
    if kind == "memory":
        return MemoryStore(1.0), LedgerError
    file = directory / "ledger.db"
    if kind == "database":
        return open_store(file, name="x", budget=1.0, description={}), LedgerError
    filter_ = hs.filters.Gaussian(mu=1.0, ledger=file if "file" in kind else None)
    return (filter_.request(noise_multiplier=4.0) if "permit" in kind else filter_), (
        HockeystickError
    )


@pytest.mark.parametrize(
    "kind",
    ["individual", "memory", "database", "filter", "filter in file", "permit", "permit in file"],
)
@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, pickle.dumps], ids=["copy", "deepcopy", "pickle"]
)
def test_no_budget_is_copied(kind, duplicate, tmp_path):
    """A copy would spend it again, or give back what another one has reserved."""
    made, error = budget_of(kind, tmp_path)
    with pytest.raises(error, match=r"^[^.\n]* cannot be copied or pickled, because [^.\n]*\.$"):
        duplicate(made)

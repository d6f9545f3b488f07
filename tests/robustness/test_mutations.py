"""Statements, checkpoints and states with one random change: none says more than the truth.

Each change is refused in one sentence, found to be false, or harmless. Harmless is

* for a statement that still holds: its epsilon is that of the unchanged run at the delta that it
  states, or larger, for the same unit and adjacency, with no stronger kind;
* for a checkpoint of a false claim: the claim is still not accepted; of a true one: the answer is
  the same;
* for a state: it is equal to the unchanged one, or lacks nothing that counts, so that the restored
  run draws the same batches and noise.

A statement whose facts are changed *together* so that they describe another run consistently is
not found this way: it is not signed.
"""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.errors import InvalidParameter, VerificationFailed
from hockeystick.guarantee import KINDS
from hockeystick.training import RunRecord, Statement, check_statement, describe_filter, statement
from hockeystick.training.record import guarantee_of
from hypothesis_strategies import TIMES
from robustness.mutation import damaged_text, mutated
from robustness.outcomes import outcome, refused

pytestmark = pytest.mark.slow

STEPS = 6
POISSON = hs.Plan(sampling=hs.Poisson(rate=0.1), steps=STEPS)
BANDED = hs.Plan(
    sampling=hs.CyclicPoisson(rate=0.2, groups=2),
    steps=STEPS,
    strategy=hs.strategies.bsr(STEPS, bands=2),
)
FILTERS = {
    "renyi": lambda: hs.filters.Renyi(epsilon=1.0, delta=1e-5),
    "asymptotic": lambda: hs.filters.ApproximateGaussian(mu=0.5),
    "individual": lambda: hs.filters.Individual.gaussian(examples=4, mu=0.5),
}


@cache
def stated(name):
    """A true statement as text, and the guarantee of the run that it is about."""
    plan = BANDED if name == "banded" else POISSON
    described = describe_filter(FILTERS[name]()) if name in FILTERS else None
    record = RunRecord(
        plan=plan, taken_steps=4, noise_multiplier=1.2, max_grad_norm=1.0, filter=described
    )
    return statement(record, delta=1e-5).to_json(), guarantee_of(record)


@pytest.mark.parametrize("name", ["poisson", "banded", *FILTERS])
@pytest.mark.parametrize("kind", ["facts", "text"])
def test_statements(name, kind):
    """500 changes of five statements."""
    text, truth = stated(name)
    before = Statement.from_json(text)
    rng = np.random.default_rng([7, len(name), len(kind)])
    counted = {"refused": 0, "false": 0, "harmless": 0}
    for _ in range(50 * TIMES):
        changed = (
            damaged_text(text, rng)
            if kind == "text"
            else json.dumps(mutated(json.loads(text), rng), default=repr)
        )
        read = outcome(lambda changed=changed: Statement.from_json(changed))
        if refused(read):
            counted["refused"] += 1
            continue
        verdict = outcome(lambda read=read: check_statement(read))
        counted["harmless" if verdict.holds else "false"] += 1
        if verdict.holds:
            assert read.epsilon >= truth.epsilon(read.delta) * (1 - 2e-6)
            assert KINDS.index(read.kind) >= KINDS.index(before.kind)
            assert (read.unit, read.adjacency) == (before.unit, before.adjacency)
    assert counted["refused"] + counted["false"] >= 20 * TIMES, counted


FEW = hs.Plan(
    sampling=hs.MinSep(rate=0.1, separation=4), steps=20, strategy=hs.strategies.bsr(20, bands=4)
)
CLAIM = {"epsilon": 1.0, "delta": 0.2, "seed": 6}


@pytest.mark.parametrize("noise", [0.3, 1.5], ids=["false claim", "true claim"])
@pytest.mark.parametrize("kind", ["content", "text"])
def test_checkpoints(tmp_path, monkeypatch, noise, kind):
    """120 changes of the files of a claim that is false and of one that is true."""
    monkeypatch.setattr("hockeystick.montecarlo.draws.PIECE", 20 * 500)
    path = tmp_path / "draws.json"

    def ask():
        execution = hs.Execution(checkpoint=path, checkpoint_key=b"k" * 32)
        return hs.verify(FEW, noise_multiplier=noise, execution=execution, **CLAIM)

    first = outcome(ask)
    assert refused(first) == (noise == 0.3)
    text = path.read_text(encoding="utf-8")
    rng = np.random.default_rng([8, len(kind)])
    refusals = 0
    for _ in range(30 * TIMES):
        changed = (
            damaged_text(text, rng)
            if kind == "text"
            else json.dumps(mutated(json.loads(text), rng), default=repr)
        )
        path.write_text(changed, encoding="utf-8")
        found = outcome(ask)
        if isinstance(found, InvalidParameter):
            assert path.read_text(encoding="utf-8") == changed
            refusals += 1
        elif noise == 0.3:
            assert isinstance(found, VerificationFailed)
        else:
            assert found.answer(epsilon=1.0) == first.answer(epsilon=1.0)
    assert refusals >= 25 * TIMES


@pytest.mark.parametrize("source", [3, np.random.MT19937, np.random.Philox, np.random.SFC64])
def test_states_of_noise(source):
    """80 changes of NumPy's streams, in each kind of generator."""

    def stream(seed):
        made = hs.strategies.bsr(STEPS, bands=3).noise(7, rng=seed if source == 3 else source(seed))
        next(made)
        return made

    state = stream(5).state()
    expected = np.stack(list(stream(5)))
    rng = np.random.default_rng([9, 0 if source == 3 else len(source.__name__)])
    refusals, unchanged = 0, 0
    for _ in range(20 * TIMES):
        made = stream(6)
        before = made.state()["digest"]
        changed = mutated(state, rng)
        unchanged += repr(changed) == repr(state)
        if refused(outcome(lambda made=made, changed=changed: made.restore(changed))):
            assert made.state()["digest"] == before
            refusals += 1
        else:
            assert np.array_equal(np.stack(list(made)), expected)
    assert refusals >= 18 * TIMES - unchanged


def test_states_of_torch_runs():
    """80 changes of the part of a run's state that is about its batches and noise."""
    torch = pytest.importorskip("torch", reason="runs in PyTorch")

    from hockeystick.torch import make_private

    def run(seed):
        torch.manual_seed(1)
        model = torch.nn.Linear(3, 2)
        data = torch.utils.data.TensorDataset(torch.ones(12, 3))
        return make_private(
            model,
            torch.optim.SGD(model.parameters(), lr=1.0),
            data,
            BANDED,
            noise_multiplier=1.2,
            max_grad_norm=1.0,
            rng=seed,
        )

    state = run(5).state_dict()
    ours = state["optimizer"]["hockeystick"]
    rng = np.random.default_rng(10)
    refusals = 0
    made = run(6)
    before = made.state_dict()["optimizer"]["hockeystick"]["digest"]
    for _ in range(80 * TIMES):
        changed = mutated(ours, rng)
        whole = {**state, "optimizer": {**state["optimizer"], "hockeystick": changed}}
        if refused(outcome(lambda run=made, whole=whole: run.load_state_dict(whole))):
            refusals += 1
            assert made.state_dict()["optimizer"]["hockeystick"]["digest"] == before
        else:
            assert made.state_dict()["optimizer"]["hockeystick"]["digest"] == ours["digest"]
            # Every run has an id of its own.
            made = run(6)
            before = made.state_dict()["optimizer"]["hockeystick"]["digest"]
    assert refusals >= 60 * TIMES

"""The common case in one call: what is chosen, said and stated."""

from __future__ import annotations

import re
import time

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import hockeystick as hs
from hockeystick.errors import InvalidParameter, PlanMismatch
from hockeystick.torch import make_private
from hypothesis_strategies import thinned
from in_one_test import in_one_test

ASKED = {"epsilon": 3.0, "delta": 1e-5, "epochs": 3, "batch_size": 30, "max_grad_norm": 1.0}


def points(examples: int = 70) -> TensorDataset:
    """Points with labels."""
    source = torch.Generator().manual_seed(1)
    inputs = torch.randn(examples, 4, generator=source)
    return TensorDataset(inputs, (inputs[:, 0] > 0).long())


def private(make=None, source=None, **changes):
    """The common case, with a small network."""
    net = nn.Linear(4, 2)
    make = make or (lambda parameters: torch.optim.SGD(parameters, lr=0.5))
    options = {**ASKED, **changes}
    return make_private(net, make(net.parameters()), source or points(), **options)


@pytest.mark.slow
def test_what_is_chosen_is_run_and_stated(capsys):
    """ceil(3 * 70 / 30) steps, one line on standard error, epsilon at most what was asked."""
    run = private()
    line = capsys.readouterr().err
    assert line == f"{run.choice}\n"
    assert line.count("\n") == 1
    assert re.search(r"noise multiplier .* 7 steps for epsilon 3 at delta 1e-05", line)
    assert (run.plan.steps, run.delta, run.max_grad_norm) == (7, 1e-5, 1.0)
    assert sorted(len(epoch) for epoch in run.epochs()) == [2, 2, 3]
    assert run.expected_batch_size == pytest.approx(30, rel=0.3)
    criterion = run.loss(nn.CrossEntropyLoss())
    for _ in range(3):
        for inputs, labels in run.loader:
            run.optimizer.zero_grad()
            criterion(run.model(inputs), labels).backward()
            run.optimizer.step()
    assert run.finished
    stated = run.statement()
    assert (stated.delta, stated.kind) == (1e-5, "proven")
    assert 2.9 < stated.epsilon <= 3.0
    assert stated.noise_multiplier == run.noise_multiplier == run.optimizer.noise_multiplier
    assert hs.training.check_statement(stated).holds
    assert run.statement(delta=1e-3).epsilon < stated.epsilon


@pytest.mark.slow
def test_it_is_the_best_that_compare_finds():
    """In quick mode, with the momentum of the optimizer; less error than independent noise."""
    for momentum in (0.0, 0.9):
        run = private(lambda p, m=momentum: torch.optim.SGD(p, lr=0.5, momentum=m), verbose=False)
        found = hs.compare(
            examples=70, batch_size=30, epochs=3, epsilon=3.0, delta=1e-5, quick=True,
            momentum=momentum,
        )  # fmt: skip
        assert run.plan.describe() == found[0].plan.describe()
        assert run.noise_multiplier == found[0].calibration.noise_multiplier
        assert ("with momentum" in run.choice) == bool(momentum)


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        torch.optim.Adam,
        lambda p: torch.optim.SGD(p, lr=0.5, momentum=0.9, nesterov=True),
        lambda p: torch.optim.SGD(p, lr=0.5, momentum=0.9, dampening=0.5),
        lambda p: torch.optim.SGD(
            [{"params": [one], "momentum": 0.1 * i} for i, one in enumerate(p)], lr=0.5
        ),
    ],
)
def test_other_optimizers_have_independent_noise(make, capsys):
    """The error of correlated noise is known for linear iterates only; the line says so."""
    run = private(make)
    assert run.plan.strategy.name == "identity"
    assert "correlated noise was not tried" in capsys.readouterr().err
    assert run.statement().epsilon <= 3.0


@pytest.mark.slow
def test_the_choice_can_be_narrowed():
    """To independent noise, and to some schemes; the noise is what calibration finds for them."""
    run = private(strategy="independent", schemes=["poisson"], verbose=False)
    assert (run.plan.strategy.name, run.plan.sampling.name) == ("identity", "poisson")
    assert run.choice.endswith("correlated noise was not tried, as asked")
    found = hs.calibrate(run.plan, epsilon=3.0, delta=1e-5)
    assert run.noise_multiplier == found.noise_multiplier


@pytest.mark.slow
def test_with_an_attribution_the_guarantee_is_for_users():
    """The scheme protects users with as many examples as the graph says, and so does the claim."""
    graph = hs.Attribution.from_users([i // 2 for i in range(70)])
    run = private(attribution=graph, verbose=False, batch_size=10, epochs=1)
    assert (run.plan.sampling.unit, run.plan.sampling.examples_per_user) == ("user", 2)
    assert "for each user" in run.choice
    stated = run.statement()
    assert stated.unit == "user"
    assert stated.epsilon <= 3.0


def test_users_with_very_many_examples_are_told_of():
    """One of them decides the noise for all; users who have the same number need no word."""
    asked = {"verbose": False, "batch_size": 10, "epochs": 1}
    few, many = [0] * 60 + list(range(1, 11)), [i // 7 for i in range(70)]
    with pytest.warns(UserWarning, match=r"60 of the 70 examples.*bound_contributions"):
        private(attribution=hs.Attribution.from_users(few), **asked)
    private(attribution=hs.Attribution.from_users(many), **asked)


def test_a_plan_with_its_guarantee():
    """Noise is calibrated for it; its delta, also one beside noise, is that of the statement."""
    plan = hs.Plan(sampling=hs.Poisson(rate=0.1), steps=4)
    chosen = dict.fromkeys(("epochs", "batch_size"))
    run = private(**chosen, plan=plan)
    assert run.noise_multiplier == hs.calibrate(plan, epsilon=3.0, delta=1e-5).noise_multiplier
    assert run.statement().epsilon <= 3.0
    run.close()
    run = private(**chosen, plan=plan, epsilon=None, noise_multiplier=1.0)
    assert (run.delta, run.noise_multiplier) == (1e-5, 1.0)
    with pytest.raises(InvalidParameter, match="strategy must be left out beside a plan"):
        private(**chosen, plan=plan, strategy="independent")


def test_without_the_line(capsys):
    """It stays available."""
    run = private(torch.optim.Adam, verbose=False)
    assert capsys.readouterr().err == ""
    assert run.choice


def test_the_explicit_form_chooses_nothing(runs, capsys):
    """And needs a delta for its statement."""
    run = runs.private(runs.banded())
    assert (run.choice, run.delta) == (None, None)
    assert run.plan.steps == 16
    assert capsys.readouterr().err == ""
    with pytest.raises(InvalidParameter, match="delta must be in"):
        run.statement()


@in_one_test
@pytest.mark.parametrize(
    "changes",
    [
        {"epsilon": None},
        {"delta": None},
        {"epochs": None},
        {"batch_size": None},
        {"noise_multiplier": 1.0},
        {"plan": hs.Plan(sampling=hs.Poisson(rate=0.1), steps=4)},
        {"plan": hs.Plan(sampling=hs.Poisson(rate=0.1), steps=4), "noise_multiplier": 1.0},
        dict.fromkeys(("epsilon", "delta", "epochs", "batch_size")),
    ],
)
def test_one_form_at_a_time(changes):
    """Neither mixed nor incomplete: one sentence with both forms."""
    both = r"either plan and noise_multiplier, or plan, epsilon and delta \(.*\), or epsilon,"
    with pytest.raises(InvalidParameter, match=both):
        private(**changes)


def test_phases_are_runs_of_their_own():
    """A sequence is refused with the page that shows its runs."""
    phases = hs.Sequence([hs.Plan(sampling=hs.Poisson(rate=0.1), steps=n) for n in (4, 5)])
    explicit = {**dict.fromkeys(ASKED), "max_grad_norm": 1.0, "noise_multiplier": 1.0}
    with pytest.raises(InvalidParameter, match="each phase of a Sequence") as refused:
        private(**{**explicit, "plan": phases})
    assert refused.value.page == "docs/stopping.md#two-phases"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("epsilon", 0.0),
        ("epsilon", float("nan")),
        ("delta", 1.5),
        ("epochs", 0),
        ("epochs", 2.5),
        ("batch_size", 0),
        ("batch_size", 500),
        ("max_grad_norm", None),
        ("max_grad_norm", float("nan")),
        ("attribution", hs.Attribution.one_user_each(71)),
        ("strategy", hs.strategies.identity(7)),
        ("strategy", "correlated"),
        ("schemes", ["nowhere"]),
        ("filter", hs.filters.Gaussian(mu=1.0)),
    ],
)
def test_parameters_outside_their_range(name, value):
    """One sentence that names the parameter; the model stays free."""
    with pytest.raises(InvalidParameter, match=name):
        private(**{name: value})


@in_one_test
@pytest.mark.parametrize(
    ("name", "way_out"),
    [
        ("target_epsilon", "called epsilon"),
        ("target_delta", "called delta"),
        ("sample_rate", "batch_size="),
        ("poisson_sampling", "plan draws the batches"),
        ("data_loader", r"loader\.dataset"),
        ("module", "first argument"),
        ("alphas", r"run\.statement"),
        ("accountant", r"run\.statement"),
        ("noise_generator", "rng="),
        ("batch_first", "first dimension"),
        ("loss_reduction", r"run\.loss"),
        ("grad_sample_mode", "clipping="),
        ("gradient_accumulation_steps", "physical_batch_size"),
        ("max_physical_batch_size", "physical_batch_size"),
        ("num_workers", "loader_options"),
        ("dataset", "called data"),
        ("l2_norm_clip", "max_grad_norm"),
        ("max_grad_nrom", "max_grad_norm"),
        ("something_else", "it takes model, optimizer, data"),
    ],
)
def test_arguments_of_other_tools(name, way_out):
    """One sentence that says what to write, for any value, and still a TypeError."""
    for error in (InvalidParameter, TypeError):
        with pytest.raises(error, match=rf"make_private has no parameter {name}: .*{way_out}"):
            private(**{name: None})


def test_a_loader_in_place_of_the_data_set():
    """Its data set and the batch size are what is needed."""
    with pytest.raises(PlanMismatch, match=r"loader\.dataset.*batch_size="):
        private(source=DataLoader(points(), batch_size=30))


@pytest.mark.slow
@pytest.mark.parametrize(("epochs", "steps"), thinned([(1, 118), (5, 586), (20, 2344)], normal=1))
def test_the_choice_takes_seconds(epochs, steps):
    """60,000 examples, batches of 512, up to 20 epochs, epsilon 3: 30 seconds of CPU at most."""
    start = time.process_time()
    run = private(source=points(60_000), epochs=epochs, batch_size=512, verbose=False)
    assert time.process_time() - start < 30
    assert run.plan.steps == steps
    assert run.statement().epsilon <= 3.0

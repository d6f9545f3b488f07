"""Rules of clipping in PyTorch: ghost equals per-sample, and sensitivity is the clip norm."""

from __future__ import annotations

import copy
import math

import pytest
import torch
from torch import nn
from torch.utils.data import TensorDataset

import hockeystick as hs
from hockeystick.errors import InvalidParameter, PlanMismatch
from hockeystick.training import Automatic, Flat, PerLayer

CLIP = 0.3


class Scaled(nn.Module):
    """A layer without a formula of its own, which has another layer inside."""

    def __init__(self) -> None:
        super().__init__()
        self.scale, self.inner = nn.Parameter(torch.rand(5)), nn.Linear(5, 5)

    def forward(self, x):
        """Scaled outputs."""
        return self.inner(x) * self.scale


class Mixed(nn.Module):
    """Embedding, linear layers at several positions, a module with parameters of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.wide, self.scaled = nn.Embedding(7, 4), nn.Linear(4, 5), Scaled()
        self.norm, self.out = nn.LayerNorm(5), nn.Linear(5, 3)

    def forward(self, words):
        """Class scores."""
        return self.out(self.norm(torch.tanh(self.scaled(self.wide(self.words(words)))))).mean(1)


LAYERS = {"words": 0.1, "wide": 0.2, "scaled": 0.05, "scaled.inner": 0.3, "norm": 1.0, "out": 0.02}
RULES = [
    lambda computed: Flat(computed=computed),
    lambda computed: Automatic(gamma=0.05, computed=computed),
    lambda computed: PerLayer(computed=computed),
    lambda computed: PerLayer(norms="proportional", computed=computed),
    lambda computed: PerLayer(norms=LAYERS, computed=computed),
]
NAMES = ["flat", "automatic", "equal", "proportional", "fixed"]


@pytest.fixture(scope="module")
def mixed():
    """The model; all runs begin with the same weights."""
    torch.manual_seed(3)
    return Mixed()


@pytest.fixture(scope="module")
def words():
    """Twelve examples of six words."""
    found = torch.randint(7, (12, 6), generator=torch.Generator().manual_seed(4))
    return TensorDataset(found, found.sum(1) % 3)


def run_of(runs, model, dataset, rule, **options):
    """A run of two steps over all examples."""
    fixed = isinstance(rule, PerLayer) and not isinstance(rule.norms, str)
    return runs.private(
        hs.Plan(sampling=hs.FullBatch(), steps=2),
        model=copy.deepcopy(model),
        dataset=dataset,
        clipping=rule,
        max_grad_norm=None if fixed else CLIP,
        **options,
    )


def sums(run):
    """The clipped sum of all examples, for each parameter."""
    points, labels = next(iter(run.loader))
    run.loss(nn.CrossEntropyLoss())(run.model(points), labels).backward()
    return run._gradients.take(run._progress.current()[0])


def explicit(run, model, dataset, rule):
    """The same by a loop over examples, in double precision."""
    model = copy.deepcopy(model).double()
    names = [name for name, _ in model.named_parameters()]
    totals = [torch.zeros(p.numel(), dtype=torch.float64) for p in model.parameters()]
    layers = [name.rpartition(".")[0] for name in names]
    norms = run.record().clipping.get("norms")
    for x, y in dataset:
        model.zero_grad()
        nn.functional.cross_entropy(model(x[None]), y[None]).backward()
        rows = [p.grad.flatten() for p in model.parameters()]
        whole = math.sqrt(sum(float(r.square().sum()) for r in rows))
        for total, row, layer in zip(totals, rows, layers, strict=True):
            if norms is None:
                soft = isinstance(rule, Automatic)
                factor = CLIP / (whole + rule.gamma) if soft else min(1, CLIP / (whole + 1e-6))
            else:
                own = [r for r, name in zip(rows, layers, strict=True) if name == layer]
                length = math.sqrt(sum(float(r.square().sum()) for r in own))
                factor = min(1.0, norms[layer] / (length + 1e-6))
            total.add_(factor * row)
    return totals


@pytest.mark.parametrize("rule", RULES, ids=NAMES)
def test_sums_are_those_of_a_loop_and_ghost_is_per_sample(runs, mixed, words, rule):
    """Ghost and per-sample agree to 1e-6, both with a loop over examples to single precision."""
    found = {}
    for computed in ("per-sample", "ghost"):
        run = run_of(runs, mixed, words, rule(computed))
        found[computed] = torch.cat(sums(run))
    wanted = torch.cat(explicit(run, mixed, words, rule("ghost")))
    size = torch.linalg.vector_norm(wanted)
    assert torch.linalg.vector_norm(found["ghost"] - found["per-sample"]) <= 1e-6 * size
    assert torch.linalg.vector_norm(found["ghost"] - wanted) <= 1e-5 * size
    stated = run.statement(delta=1e-5)
    assert hs.training.check_statement(stated).holds
    assert stated.clipping["clipping"] in ("flat", "automatic", "per-layer")


@pytest.mark.parametrize("arithmetic", ["float", "exact"])
@pytest.mark.parametrize("rule", RULES, ids=NAMES)
def test_one_example_more_changes_the_sum_by_the_clip_norm(runs, mixed, words, rule, arithmetic):
    """For an example with a gradient of ordinary length, and for one that is huge."""
    computed = "ghost" if arithmetic == "float" else "per-sample"
    scaled = copy.deepcopy(mixed)
    with torch.no_grad():
        scaled.words.weight[6] *= 1e4
    points, labels = words.tensors
    points = torch.where(points == 6, 0, points)
    points[-1] = 6
    found = []
    for count in (12, 11):
        dataset = TensorDataset(points[:count], labels[:count])
        run = run_of(runs, scaled, dataset, rule(computed), arithmetic=arithmetic)
        unit = 1.0 if run._optimizer._noise.lattice is None else run._optimizer._noise.lattice
        found.append(torch.cat(sums(run)) * unit)
    change = float(torch.linalg.vector_norm(found[0] - found[1]))
    assert 0.05 * run.max_grad_norm <= change <= run.max_grad_norm


def test_noise_is_calibrated_to_all_layers_together(runs, mixed, words):
    """With norms of layers the standard deviation is noise_multiplier * root of their squares."""
    run = run_of(runs, mixed, words, PerLayer(norms=LAYERS))
    total = math.sqrt(sum(norm**2 for norm in LAYERS.values()))
    assert run.max_grad_norm == pytest.approx(total, rel=1e-12)
    assert run.statement(delta=1e-5).max_grad_norm == run.max_grad_norm
    drawn = torch.cat([n.flatten() for n in next(run._optimizer._noise)]) / runs.NOISE
    assert float(drawn.std()) == pytest.approx(total, rel=0.25)


def test_examples_that_are_not_finite_contribute_to_no_layer(runs, mixed, words):
    """A gradient that is not finite in one layer leaves the sums of all others as they are."""
    points, labels = words.tensors
    spoiled = copy.deepcopy(mixed)
    with torch.no_grad():
        spoiled.words.weight[6] = math.inf
    points = torch.where(points == 6, 0, points)
    points[3] = 6
    kept = torch.arange(12) != 3
    for computed in ("per-sample", "ghost"):
        one = run_of(runs, spoiled, TensorDataset(points, labels), PerLayer(computed=computed))
        other = run_of(
            runs, spoiled, TensorDataset(points[kept], labels[kept]), PerLayer(computed=computed)
        )
        together, without = torch.cat(sums(one)), torch.cat(sums(other))
        assert torch.isfinite(together).all()
        assert torch.linalg.vector_norm(together - without) <= 1e-6


def test_saved_runs_continue_with_the_same_rule_only(runs, mixed, words):
    """The rule is part of what a state has to agree with."""
    saved = run_of(runs, mixed, words, "per-layer").state_dict()
    run_of(runs, mixed, words, "per-layer").load_state_dict(saved)
    with pytest.raises(PlanMismatch, match="clip_rule"):
        run_of(runs, mixed, words, "automatic").load_state_dict(saved)


def test_individual_budgets_need_flat_clipping(runs, mixed, words):
    """They are charged by the clipped norm of the whole gradient."""
    budgets = hs.filters.Individual.gaussian(examples=12, mu=1.0)
    with pytest.raises(InvalidParameter, match="flat"):
        run_of(runs, mixed, words, "automatic", filter=budgets, loss=lambda m, b: m(b[0]).sum(1))

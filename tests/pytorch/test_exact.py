"""Runs with exact arithmetic in PyTorch: integers on a lattice, whatever clips and adds them."""

from __future__ import annotations

import copy
from fractions import Fraction

import pytest
import torch
from torch import nn

import hockeystick as hs
from hockeystick.errors import InvalidParameter, PlanMismatch
from hockeystick.torch.progress import ClipLimit, PhysicalBatch
from hockeystick.torch.sums import per_example_norms, weighted_sum
from hockeystick.training.sum_lattice import SumLattice
from in_one_test import in_one_test
from pytorch import group_program as program

CLIPPINGS = ["per-sample", "ghost"]


def made(plan="bsr", **options):
    """A run of the small network."""
    return program.made(plan=plan, **{"arithmetic": "exact", **options})


def trained(plan="bsr", **options):
    """The weights after all steps."""
    run, model = made(plan, **options)
    program.train(run)
    return program.weights(model)


@pytest.mark.parametrize("plan", ["bsr", "bisr", "0.3"])
def test_ghost_and_per_sample_clipping_give_the_same_bits(plan):
    """And, one example at a time, whatever the parts of a batch."""
    assert torch.equal(trained(plan), trained(plan, clipping="ghost"))
    single, pair = (trained(plan, physical_batch_size=1, clipping=c) for c in CLIPPINGS)
    assert torch.equal(single, pair)
    assert trained(plan) == pytest.approx(single, abs=1e-5)


@pytest.mark.parametrize("clipping", CLIPPINGS)
def test_updates_are_those_of_floats_without_noise(clipping):
    """With next to no noise the run is the same as in floating point, up to the lattice."""
    options = {"noise_multiplier": 1e-4, "clipping": clipping}
    exact, near = (trained("0.3", arithmetic=a, **options) for a in ("exact", "float"))
    # Eight steps of rate 0.1 and noise of 1e-4 over 18 examples, amplified by momentum.
    assert exact == pytest.approx(near, abs=2e-3)


def test_gradients_are_multiples_of_the_lattice():
    """What the optimizer gets is an integer times the spacing over the batch size."""
    run, model = made("0.3", dtype=torch.float64)
    lattice = run._progress.lattice.spacing
    criterion = run.loss(nn.CrossEntropyLoss())
    for inputs, labels in run.loader:
        run.optimizer.zero_grad()
        criterion(run.model(inputs.double()), labels).backward()
        run.optimizer.step()
        found = torch.cat([p.grad.flatten() for p in model.parameters()])
        points = found * run.expected_batch_size / lattice
        assert (points - points.round()).abs().max() < 1e-5
        assert points.abs().max() > 2**20


@in_one_test
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("clip", [1.0, 0.37, 1e-5])
def test_no_example_is_longer_than_the_clip_norm(dtype, clip):
    """After rounding, exactly, for gradients of all sizes and a row of halves."""
    lattice = SumLattice.of(noise_multiplier=1.1, max_grad_norm=clip, dimension=300, examples=50)
    torch.manual_seed(1)
    rows = torch.randn(50, 300) * torch.logspace(-4, 3, 50)[:, None]
    rows[0] = (clip / lattice.spacing / 300**0.5 // 1 + 0.55) * lattice.spacing
    gradients = rows.to(dtype)
    norms = per_example_norms([gradients])
    batch = PhysicalBatch(0, torch.arange(50), True, True, 50)
    factors = ClipLimit(clip).before_rounding(lattice).factors(norms, batch)
    longest = (Fraction(clip) / Fraction(lattice.spacing)) ** 2
    lengths = []
    for gradient, factor in zip(gradients, factors, strict=True):
        points = weighted_sum(gradient[None], factor[None], spacing=lattice.spacing)
        assert torch.equal(points, points.round())
        lengths.append(sum(int(n) ** 2 for n in points))
    assert max(lengths) <= longest
    assert max(lengths) >= 0.99 * longest
    whole = weighted_sum(gradients, factors, spacing=lattice.spacing)
    order = torch.randperm(50)
    assert torch.equal(
        whole, weighted_sum(gradients[order], factors[order], spacing=lattice.spacing)
    )


def test_lengths_of_single_examples_are_shortened():
    """Individual budgets charge lengths after rounding; nothing is left of the shortest."""
    lattice = SumLattice.of(noise_multiplier=1.0, max_grad_norm=1.0, dimension=9, examples=3)
    limit = ClipLimit(1.0, torch.tensor([0.0, 1e-9, 0.5], dtype=torch.float64))
    short = limit.before_rounding(lattice)
    assert short.lengths.tolist()[:2] == [0.0, 0.0]
    assert 0.4999 < short.lengths[2] < 0.5
    assert limit.before_rounding(None) is limit
    budgets = hs.filters.Individual.gaussian(mu=0.8, examples=program.EXAMPLES)
    run, _ = made(
        "0.3",
        filter=budgets,
        loss=lambda model, batch: nn.CrossEntropyLoss(reduction="none")(model(batch[0]), batch[1]),
    )
    program.train(run)
    assert run.taken_steps == program.STEPS


def test_a_saved_run_continues_bit_for_bit(tmp_path):
    """From a folder and from a state, in exact runs only."""
    run, model = made()
    program.train(run, 3)
    run.save(tmp_path / "folder")
    state = copy.deepcopy(run.state_dict())
    program.train(run)
    for load in (lambda other: other.load(tmp_path / "folder"), lambda o: o.load_state_dict(state)):
        other, same = made(seed=99)
        load(other)
        program.train(other)
        assert torch.equal(program.weights(same), program.weights(model))
        other.close()
    plain, _ = made(arithmetic="float")
    with pytest.raises(PlanMismatch):
        plain.load_state_dict(state)
    assert plain.taken_steps == 0


def test_the_plan_is_the_exact_one():
    """Chosen or given; the statement is about it and says so."""
    strategy = hs.strategies.band_mf(8, bands=2)
    plan = hs.Plan(sampling=hs.FullBatch(), steps=8, strategy=strategy)
    network = nn.Linear(5, 3)
    run = hs.torch.make_private(
        network,
        torch.optim.SGD(network.parameters(), lr=0.1),
        program.examples(),
        plan,
        noise_multiplier=9.0,
        max_grad_norm=1.0,
        arithmetic="exact",
    )
    assert run.arithmetic == "exact"
    assert run.plan.strategy == strategy.exact()
    stated = run.statement(delta=1e-5)
    assert stated.arithmetic == "exact"
    assert hs.training.check_statement(stated).holds
    run.close()
    chosen = hs.torch.make_private(
        network,
        torch.optim.SGD(network.parameters(), lr=0.1),
        program.examples(),
        epsilon=4.0,
        delta=1e-5,
        epochs=2,
        batch_size=20,
        max_grad_norm=1.0,
        arithmetic="exact",
        verbose=False,
    )
    assert chosen.plan.exact() is chosen.plan
    assert chosen.statement().epsilon <= 4.0


def test_what_cannot_be_exact_is_refused():
    """Before the model is touched."""
    with pytest.raises(InvalidParameter, match="as many rows of noise as C or its inverse"):
        made("blt")
    with pytest.raises(InvalidParameter, match="arithmetic"):
        made(arithmetic="fixed")
    assert trained("0.3").isfinite().all()

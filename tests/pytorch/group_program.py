"""What each rank runs in the tests of process groups.

Cases are functions of this file; `start_ranks.py` calls them. Each can also be called in a single
process, so that both are the same code.
"""

from __future__ import annotations

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

import hockeystick as hs
from hockeystick.errors import HockeystickError
from hockeystick.torch import noise_stream

STEPS = 8
EXAMPLES = 60
WRAPPERS = {}


def rank() -> int:
    """The number of this rank; 0 in a single process."""
    return dist.get_rank() if dist.is_initialized() else 0


def examples(count=EXAMPLES):
    """The same on all ranks."""
    generator = torch.Generator().manual_seed(5)
    inputs = torch.randn(count, 5, generator=generator)
    return torch.utils.data.TensorDataset(inputs, torch.randint(3, (count,), generator=generator))


def network(wrapping="plain", dtype=torch.float32):
    """A small network; before the run the ranks of a plain one differ."""
    torch.manual_seed(rank() if wrapping != "sharded" else 0)
    model = nn.Sequential(nn.Linear(5, 7), nn.LayerNorm(7), nn.ReLU(), nn.Linear(7, 3)).to(dtype)
    if wrapping == "ddp" and dist.is_initialized():
        WRAPPERS[model] = nn.parallel.DistributedDataParallel(model)
        return WRAPPERS[model]
    if wrapping == "sharded" and dist.is_initialized():
        for layer in (model[0], model[3]):
            fully_shard(layer)
        fully_shard(model)
    return model


def plan_of(name):
    """Correlated noise under balls-in-bins, or Poisson batches of which some are empty."""
    if name == "bsr":
        strategy = hs.strategies.bsr(STEPS, bands=4)
        return hs.Plan(sampling=hs.BallsInBins(bins=4), steps=STEPS, strategy=strategy)
    if name in ("bisr", "blt"):
        inverse = hs.strategies.bisr(STEPS, bands=3)
        strategy = inverse if name == "bisr" else hs.strategies.blt(STEPS, buffers=2)
        return hs.Plan(sampling=hs.BallsInBins(bins=4), steps=STEPS, strategy=strategy)
    return hs.Plan(sampling=hs.Poisson(rate=float(name)), steps=STEPS)


def made(wrapping="plain", plan="bsr", dtype=torch.float32, seed=3, adam=False, **options):
    """A run, not begun."""
    model = network(wrapping, dtype)
    optimizer = (
        torch.optim.AdamW(model.parameters(), lr=0.01)
        if adam
        else torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    )
    settings = {"noise_multiplier": 1.0, "max_grad_norm": 1.0, "rng": seed, **options}
    run = hs.torch.make_private(model, optimizer, examples(), plan_of(plan), **settings)
    return run, getattr(model, "module", model)


def train(run, until=STEPS, each=lambda: None):
    """The loop that users write."""
    criterion = run.loss(nn.CrossEntropyLoss())
    if run.taken_steps >= until:
        return
    for inputs, labels in run.loader:
        run.optimizer.zero_grad()
        criterion(run.model(inputs), labels).backward()
        run.optimizer.step()
        each()
        if run.taken_steps == until:
            return


def weights(model):
    """All parameters, whole, in order."""
    parts = [getattr(p, "full_tensor", lambda p=p: p)() for p in model.parameters()]
    return torch.cat([p.detach().double().flatten() for p in parts])


def outcome(work):
    """What a call returned, or its refusal."""
    try:
        return {"value": work()}
    except HockeystickError as error:
        return {"refused": f"{type(error).__name__}: {error}"}


# -- cases ----------------------------------------------------------------------------------------


def updates(wrapping, plan, clipping, most, noise_memory="rows"):
    """Weights after all steps, what was probed, and the size of the remembered noise here."""
    run, model = made(
        wrapping,
        plan,
        clipping=clipping,
        physical_batch_size=most,
        noise_memory=noise_memory,
    )
    train(run)
    memory = run.optimizer._noise.memory
    return {
        "weights": weights(model),
        "probed": (run.record().probe or {"examples": 0})["examples"],
        "memory": memory.numel(),
    }


def drawn_by_torch(*case):
    """`updates` with noise that PyTorch draws, as if the CPU were another device."""
    chosen, noise_stream.drawing_device = noise_stream.drawing_device, lambda devices: devices[0]
    try:
        return updates(*case)
    finally:
        noise_stream.drawing_device = chosen


def exact_updates(wrapping, plan, clipping, folder=None, part="whole"):
    """Weights after all steps with exact arithmetic.

    Losses are linear: gradients of single examples are the inputs, whatever they are computed with.
    The first part is saved in the folder after three steps, and the rest goes on from there.
    """
    torch.manual_seed(0)
    model = nn.Linear(5, 30, bias=False)
    if wrapping == "sharded" and dist.is_initialized():
        fully_shard(model)
    run = hs.torch.make_private(
        model,
        torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9),
        examples(),
        plan_of(plan),
        noise_multiplier=1.0,
        max_grad_norm=7.0,
        rng=3 if part != "rest" else 99,
        clipping=clipping,
        arithmetic="exact",
    )
    if part == "rest":
        run.load(folder)
    criterion = run.loss(lambda outputs, _: outputs.sum(dim=1))
    for inputs, labels in run.loader:
        run.optimizer.zero_grad()
        criterion(run.model(inputs), labels).backward()
        run.optimizer.step()
        if part == "first" and run.taken_steps == 3:
            run.save(folder)
            break
    memory = run.optimizer._noise.memory
    return {"weights": weights(model), "memory": memory.numel(), "type": str(memory.dtype)}


def saved(folder, wrapping, plan="bsr", until=3, adam=False):
    """A folder after some steps; then the run goes on to its end."""
    run, model = made(wrapping, plan, adam=adam)
    train(run, until)
    run.save(folder)
    train(run)
    return {"weights": weights(model)}


def continued(folder, wrapping, plan="bsr", adam=False):
    """From the folder to the end, in a run that was made with another seed."""
    run, model = made(wrapping, plan, seed=99, adam=adam)
    run.load(folder)
    taken = run.taken_steps
    train(run)
    return {"weights": weights(model), "from": taken, "epsilon": epsilon(run, method="gaussian")}


def epsilon(run, **options):
    """The stated one."""
    return run.statement(delta=1e-3, **options).epsilon


def noise_rows(wrapping):
    """The noise of four steps on a million coordinates, from the gradients of the optimizer.

    Losses do not depend on the parameters, so that nothing else is in them.
    """
    model = nn.Linear(1000, 1000, bias=False)
    if wrapping == "sharded" and dist.is_initialized():
        fully_shard(model)
    plan = hs.Plan(sampling=hs.FullBatch(), steps=4, strategy=hs.strategies.bsr(4, bands=3))
    run = hs.torch.make_private(
        model,
        torch.optim.SGD(model.parameters(), lr=0.1),
        torch.utils.data.TensorDataset(torch.zeros(6, 1000)),
        plan,
        noise_multiplier=2.0,
        max_grad_norm=0.5,
        rng=11,
    )
    criterion = run.loss(lambda outputs: outputs.sum(dim=1))
    rows = []
    for (inputs,) in run.loader:
        run.optimizer.zero_grad()
        criterion(run.model(inputs)).backward()
        run.optimizer.step()
        found = next(model.parameters()).grad
        rows.append(getattr(found, "full_tensor", lambda found=found: found)().flatten() * 6)
    return {"rows": torch.stack(rows), "memory": run.optimizer._noise.memory.numel()}


def charged(ledger, wrapping, until=STEPS, folder=None):
    """A run that a filter with a ledger governs: what was spent, and after how many steps."""
    run, model, budget = charging(ledger, wrapping)
    train(run, until)
    if folder is not None:
        run.save(folder)
    return spent_by(run, model, budget)


def continued_charges(ledger, folder, wrapping):
    """From a folder, with what the ledger remembers."""
    run, model, budget = charging(ledger, wrapping, seed=99)
    run.load(folder)
    train(run)
    return spent_by(run, model, budget)


def charging(ledger, wrapping, **options):
    """A run with a filter that all ranks open, and one of them charges."""
    budget = hs.filters.Renyi(epsilon=3.0, delta=1e-5, order=8.0, ledger=ledger, name="run")
    run, model = made(wrapping, "0.3", filter=budget, noise_multiplier=1.5, **options)
    return run, model, budget


def spent_by(run, model, budget):
    """What has to be the same for an uninterrupted run."""
    found = {"taken": run.taken_steps, "stopped": run.stopped_by, "weights": weights(model)}
    stated = run.statement(delta=1e-3).to_object()
    # The number of the run is its own, weights differ in their last digits.
    for own in ("run_id", "parameters", "probe"):
        stated.pop(own, None)
    entries = [
        (e.number, e.charge, e.status, {k: v for k, v in e.request.items() if k != "note"})
        for e in (budget.history if rank() == 0 else ())
    ]
    return {**found, "run": run.record().run_id, "entries": entries, "stated": stated}


def adapted(wrapping, clipping, arithmetic):
    """Weights and history of a run whose settings change twice and whose clip norm is adapted."""
    run, model = made(
        wrapping,
        "0.4",
        clipping=clipping,
        arithmetic=arithmetic,
        filter=hs.filters.Gaussian(mu=4.0),
        max_grad_norm=hs.training.AdaptiveClipping(start=0.2),
    )

    def each():
        if run.taken_steps == 3:
            run.set(rate=1.0, noise_multiplier=2.0)
        if run.taken_steps == 5:
            run.set(noise_multiplier=1.5)

    train(run, each=each)
    return {"weights": weights(model), "history": [tuple(part) for part in run.history]}


def other_change():
    """Refused on all ranks if they do not agree; the run goes on as it was."""
    run, _ = made("plain", "0.4", filter=hs.filters.Gaussian(mu=4.0))
    found = outcome(lambda: run.set(noise_multiplier=2.0 + rank()))
    train(run, until=1)
    return {**found, "history": [tuple(part) for part in run.history]}


def other_noise():
    """The ranks do not agree."""
    return made(noise_multiplier=1.0 + rank())[0].taken_steps


def other_model():
    """Nor here."""
    model = nn.Linear(5, 3 + rank())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    settings = {"noise_multiplier": 1.0, "max_grad_norm": 1.0}
    return hs.torch.make_private(model, optimizer, examples(), plan_of("0.1"), **settings)


class Shards(torch.utils.data.IterableDataset):
    """A stream that shares itself out over the ranks."""

    def __len__(self):
        return 30

    def __iter__(self):
        return iter([example for i, example in enumerate(examples()) if i % 2 == rank() % 2])


class Flipped(torch.utils.data.TensorDataset):
    """Turned around by chance, as images are."""

    def __getitem__(self, index):
        inputs, label = super().__getitem__(index)
        return (-inputs if torch.rand(()) < 0.5 else inputs), label


def other_data(kind):
    """Ranks with other examples, or with the same ones and augmentation of their own."""
    data = examples()
    if kind == "flipped":
        torch.manual_seed(rank())
        data = Flipped(*data.tensors)
    elif kind == "stream":
        data = Shards()
    elif rank():
        data.tensors[0][57, 0] += 1.0
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    settings = {"noise_multiplier": 1.0, "max_grad_norm": 1.0, "rng": 3}
    run = hs.torch.make_private(model, optimizer, data, plan_of("0.1"), **settings)
    return run.taken_steps


def one_refuses():
    """One rank gives something that is refused at once."""
    return made(max_grad_norm=1.0 - 2 * rank())[0].taken_steps


def forgotten_backward():
    """One rank leaves out the backward pass of the third step."""
    run, _ = made()
    criterion = run.loss(nn.CrossEntropyLoss())
    for step, (inputs, labels) in enumerate(run.loader):
        losses = criterion(run.model(inputs), labels)
        if not (rank() == 1 and step == 2):
            losses.backward()
        run.optimizer.step()


class Centred(nn.Module):
    """Mixes examples."""

    def forward(self, inputs):
        """Without their mean."""
        return inputs - inputs.mean(dim=0)


def mixing(wrapping):
    """The probe refuses it on all ranks."""
    model = nn.Sequential(nn.Linear(5, 4), Centred(), nn.Linear(4, 3))
    if wrapping == "sharded":
        fully_shard(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    settings = {"noise_multiplier": 1.0, "max_grad_norm": 1.0, "rng": 3}
    run = hs.torch.make_private(model, optimizer, examples(), plan_of("bsr"), **settings)
    train(run)


def individual():
    """Budgets of single examples need one process."""
    budgets = hs.filters.Individual.gaussian(mu=1.0, examples=EXAMPLES)
    return made(plan="0.3", filter=budgets, loss=lambda model, batch: None)


def parallel_call():
    """The wrapper is called instead of the run's model."""
    run, inner = made("ddp")
    wrapper = WRAPPERS[inner]
    inputs, _ = next(iter(run.loader))
    return wrapper(inputs)


def dying(at, wrapping, folder, ledger, whole_group=False):
    """The last rank is gone after some steps, or all ranks; a folder was saved two steps before."""
    run, model, budget = charging(ledger, wrapping)

    def each():
        if run.taken_steps == at - 2:
            run.save(folder)
        if run.taken_steps == at and (whole_group or rank() == dist.get_world_size() - 1):
            os._exit(9)

    train(run, each=each)
    return spent_by(run, model, budget)


CASES = {name: value for name, value in list(globals().items()) if callable(value)}

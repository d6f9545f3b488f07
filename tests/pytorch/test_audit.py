"""Audits of PyTorch loops, this library's and Opacus', through canaries in one more parameter."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from torch import nn

import hockeystick as hs

EXAMPLES, CANARIES, NOISE = 400, 200, 1.0
MEMBERS = np.arange(CANARIES) < CANARIES // 2


class WithCanaries(nn.Module):
    """A model with an entry for each canary; it returns one loss for each example."""

    def __init__(self):
        super().__init__()
        self.model, self.entries = nn.Linear(3, 1), nn.Embedding(CANARIES + 1, 1)

    def forward(self, x):
        """The last column says which canary a row is; rows of data have the last entry."""
        number = x[:, -1].long()
        entry = self.entries(number)[:, 0]
        return torch.where(number < CANARIES, 1e3 * entry, self.model(x[:, :-1])[:, 0])


def data():
    """Examples and the canaries that are members."""
    rows = torch.cat((torch.randn(EXAMPLES, 3), torch.full((EXAMPLES, 1), float(CANARIES))), dim=1)
    own = torch.arange(CANARIES // 2)[:, None].float()
    return torch.utils.data.TensorDataset(
        torch.cat((rows, torch.cat((torch.zeros(len(own), 3), own), dim=1)))
    )


def recorder_of(plan):
    """For the noise and clip norm of all runs here."""
    return hs.audit.Recorder(plan, noise_multiplier=NOISE, max_grad_norm=1.0, members=MEMBERS)


@pytest.mark.slow
def test_a_run_of_this_library():
    """Correlated noise, batches and clipping of `make_private` are those of the plan."""
    torch.manual_seed(0)
    plan = hs.Plan(
        sampling=hs.MinSep(rate=0.1, separation=4),
        steps=30,
        strategy=hs.strategies.bsr(30, bands=4),
    )
    model = WithCanaries()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    run = hs.torch.make_private(
        model, optimizer, data(), plan=plan, noise_multiplier=NOISE, max_grad_norm=1.0, rng=3
    )
    recorder = recorder_of(plan)

    def record(*_):
        entries = model.entries.weight.grad[:CANARIES, 0]
        recorder.add((entries * run.expected_batch_size).double().numpy())

    run.optimizer.register_step_post_hook(record)
    criterion = run.loss(lambda output, target: output - target)
    for (batch,) in run.loader:
        run.optimizer.zero_grad()
        output = run.model(batch)
        criterion(output, torch.zeros_like(output)).backward()
        run.optimizer.step()
    report = recorder.audit()
    assert report.consistent
    assert report.fit.noise_factor == pytest.approx(1, abs=0.05)


def opacus_run(*, poisson, noise=NOISE, steps=40):
    """What Opacus releases along the canaries, in batches of a twentieth."""
    opacus = pytest.importorskip("opacus")
    torch.manual_seed(1)
    model, dataset = WithCanaries(), data()
    loader = torch.utils.data.DataLoader(dataset, batch_size=len(dataset) // 20, shuffle=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        private, optimizer, loader = opacus.PrivacyEngine(accountant="rdp").make_private(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=0.01),
            data_loader=loader,
            noise_multiplier=noise,
            max_grad_norm=1.0,
            poisson_sampling=poisson,
        )
        plan = hs.Plan(sampling=hs.Poisson(rate=0.05), steps=steps)
        recorder = recorder_of(plan)
        while len(recorder.projections[0]) < steps:
            for (batch,) in loader:
                optimizer.zero_grad()
                private(batch).mean().backward()
                optimizer.step()
                entries = model.entries.weight.grad[:CANARIES, 0]
                recorder.add((entries * optimizer.expected_batch_size).double().numpy())
    return recorder


@pytest.mark.slow
def test_a_run_of_opacus():
    """Poisson batches are consistent; noise that is a tenth too small is noticed."""
    assert opacus_run(poisson=True).audit().consistent
    report = opacus_run(poisson=True, noise=0.9 * NOISE).audit()
    assert not report.consistent
    assert report.fit.noise_factor == pytest.approx(0.9, abs=0.02)

"""Policies: when they change a run, and that they see nothing but what they are told."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.errors import BudgetExceeded, InvalidParameter, PlanMismatch
from hockeystick.training import PrivateRun
from hockeystick.training.policies import ChangeAtLoss, ChangeOnPlateau, StopOnPlateau
from hockeystick.training.private_losses import private_loss


def made(filtered=True):
    """A run at rate 0.25 and noise 2."""
    return PrivateRun(
        hs.Plan(sampling=hs.Poisson(rate=0.25), steps=9),
        examples=20,
        dimension=1,
        noise_multiplier=2.0,
        max_grad_norm=1.0,
        filter=hs.filters.Gaussian(mu=3.0) if filtered else None,
    )


def test_settings_change_on_a_plateau():
    """After so many losses that are no better; a loss that is no number is none."""
    run = made()
    policy = ChangeOnPlateau(
        noise_multiplier=0.5, rate=2.0, patience=2, threshold=0.1, limits={"rate": (0.1, 0.6)}
    )
    losses = (1.0, 0.95, 0.8, 0.75, math.nan, 0.9, 0.9, 0.1)
    assert [policy(run, loss) for loss in losses] == [
        *(False, False, False, False),
        *(True, False, True, False),
    ]
    assert (run.noise_multiplier, run.rate, run.max_grad_norm) == (0.5, 0.6, 1.0)
    other = ChangeOnPlateau(rate=1.5, patience=1)
    other.load_state_dict(policy.state_dict())
    assert other(run, 0.2)
    assert run.rate == pytest.approx(0.9)
    # At its limit nothing changes any more.
    limited = ChangeOnPlateau(rate=2.0, patience=1, limits={"rate": (0.1, run.rate)})
    assert not limited(run, math.nan)
    with pytest.raises(PlanMismatch, match="filter"):
        ChangeOnPlateau(rate=0.5, patience=1)(made(filtered=False), math.nan)
    with pytest.raises(InvalidParameter):
        ChangeOnPlateau()
    with pytest.raises(InvalidParameter):
        ChangeOnPlateau(rate=0.5, limits={"clip": (0, 1)})


def test_stages_begin_at_their_losses():
    """Also two at once, and each once."""
    run = made()
    stages = ChangeAtLoss(
        [(0.9, {"rate": 0.5}), (0.5, {"noise_multiplier": 1.5}), (0.2, {"rate": 1.0})]
    )
    assert [stages(run, loss) for loss in (1.0, 0.4, 0.4, math.nan)] == [False, True, False, False]
    assert (run.rate, run.noise_multiplier) == (0.5, 1.5)
    assert stages.state_dict() == {"reached": 2}
    stages.load_state_dict({"reached": 3})
    assert not stages(run, 0.0)
    with pytest.raises(InvalidParameter, match="falling"):
        ChangeAtLoss([(0.5, {"rate": 0.5}), (0.9, {"rate": 0.5})])


def test_when_to_stop():
    """The same rule without a run, and again after a restored state."""
    stop = StopOnPlateau(patience=2)
    assert [stop(loss) for loss in (1.0, 1.0)] == [False, False]
    other = StopOnPlateau(patience=2)
    other.load_state_dict(stop.state_dict())
    assert other(2.0)


def test_a_private_loss_is_charged():
    """Like a step at rate 1; what is left shortens it, and after that nothing is released."""
    budget = hs.filters.Gaussian(mu=math.sqrt(2.5) / 50)
    losses = np.append(np.full(999, 0.25), math.nan)
    rng = np.random.default_rng(1)
    options = {"largest": 1.0, "noise_multiplier": 50.0}
    found = [private_loss(budget, losses, rng=rng, **options) for _ in range(3)]
    # Noise of 0.05, on the last one of 0.07.
    assert np.allclose(found, 0.25075, atol=0.3)
    assert len(set(found)) == 3
    assert budget.remaining == 0
    with pytest.raises(BudgetExceeded):
        private_loss(budget, losses, **options)
    with pytest.raises(InvalidParameter, match="rng"):
        private_loss(budget, losses, rng=7, **options)
    with pytest.raises(InvalidParameter, match="losses"):
        private_loss(budget, [], **options)

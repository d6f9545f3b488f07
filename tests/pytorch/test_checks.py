"""Process groups that do not fit the run, and parallel wrappers that are refused."""

from __future__ import annotations

import pytest
import torch.distributed as dist
from torch import nn

from hockeystick.errors import InvalidParameter, PlanMismatch


@pytest.fixture
def group():
    """Begins a group of two without a second process."""
    from torch.testing._internal.distributed import fake_pg  # noqa: F401 - registers the backend

    def begin():
        dist.init_process_group("fake", rank=0, world_size=2, store=dist.HashStore())

    yield begin
    if dist.is_initialized():
        dist.destroy_process_group()


def test_a_group_that_comes_into_being_during_the_run(runs, group):
    """The next step is refused: each rank would have a run of its own."""
    run = runs.private(runs.independent())
    runs.train(run, until=1)
    group()
    with pytest.raises(PlanMismatch, match="made before the process group"):
        runs.train(run)
    assert run.taken_steps == 1


def test_a_rank_that_makes_no_run(runs, group, monkeypatch):
    """The first one waits for it, and says which it is; its model stays as it was."""
    from datetime import timedelta

    from hockeystick.torch import run_group

    monkeypatch.setattr(run_group, "PATIENCE", timedelta(milliseconds=50))
    group()
    model = runs.linear_model()
    with pytest.raises(PlanMismatch, match="rank 1 has not called make_private"):
        runs.private(runs.independent(), model=model)
    assert not hasattr(model, "autograd_grad_sample_hooks")


def test_parallel_wrappers_are_refused_by_name(runs, group):
    """They exchange gradients that are not clipped."""
    with pytest.raises(InvalidParameter, match="the model: DataParallel"):
        runs.private(runs.banded(), model=nn.DataParallel(runs.linear_model()))
    group()
    inside = nn.Sequential(nn.parallel.DistributedDataParallel(runs.linear_model()))
    with pytest.raises(InvalidParameter, match="0: DistributedDataParallel"):
        runs.private(runs.banded(), model=inside)

"""Several processes: one of them may make a run, and parallel wrappers are refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch.distributed as dist
from torch import nn

from hockeystick.errors import InvalidParameter, PlanMismatch
from hockeystick.torch.checks import KEY

SCRIPT = """
import sys, warnings
warnings.filterwarnings("ignore")
import torch, torch.distributed as dist
sys.path.insert(0, {folder!r})
import small_runs as runs
from hockeystick.errors import HockeystickError
dist.init_process_group(
    "gloo", init_method="file://" + sys.argv[2], rank=int(sys.argv[1]), world_size=2
)
try:
    runs.train(runs.private(runs.independent(), rng=None), until=2)
    print("ran")
except HockeystickError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.slow
def test_two_processes(tmp_path):
    """One makes the run; the other would make a second one on the same data."""
    script = tmp_path / "ranks.py"
    script.write_text(SCRIPT.format(folder=str(Path(__file__).parent)))
    ranks = [
        subprocess.Popen(
            [sys.executable, script, str(rank), tmp_path / "store"],
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in (0, 1)
    ]
    refused, ran = sorted(rank.communicate(timeout=240)[0].strip() for rank in ranks)
    assert ran == "ran"
    assert refused.startswith("PlanMismatch A run is made in one process")


@pytest.fixture
def group():
    """A group of two without a second process: begins it, and gives its store."""
    from torch.testing._internal.distributed import fake_pg  # noqa: F401 - registers the backend

    store = dist.HashStore()

    def begin():
        dist.init_process_group("fake", rank=0, world_size=2, store=store)
        return dist.distributed_c10d._get_default_store()

    yield begin
    if dist.is_initialized():
        dist.destroy_process_group()


def test_a_run_on_one_rank(runs, group):
    """Another one after it, in the same process, is fine."""
    store = group()
    for _ in range(2):
        runs.train(runs.private(runs.independent()), until=1)
    assert store.get(KEY) == b"0"


def test_a_rank_that_is_not_the_first(runs, group):
    """Before the model is touched."""
    group().set(KEY, "1")
    model = runs.linear_model()
    with pytest.raises(PlanMismatch, match="rank 1 of this process group has made one"):
        runs.private(runs.independent(), model=model)
    assert not hasattr(model, "autograd_grad_sample_hooks")


def test_a_group_that_comes_into_being_during_the_run(runs, group):
    """The next step is refused if another rank has a run."""
    run = runs.private(runs.independent())
    runs.train(run, until=1)
    group().set(KEY, "1")
    with pytest.raises(PlanMismatch, match="rank 1 of this process group has made one"):
        runs.train(run)
    assert run.taken_steps == 1


def test_parallel_wrappers_are_refused_by_name(runs, group):
    """They exchange gradients that are not clipped."""
    with pytest.raises(InvalidParameter, match="the model: DataParallel"):
        runs.private(runs.banded(), model=nn.DataParallel(runs.linear_model()))
    group()
    parallel = nn.parallel.DistributedDataParallel(runs.linear_model())
    with pytest.raises(InvalidParameter, match="the model: DistributedDataParallel"):
        runs.private(runs.banded(), model=parallel)

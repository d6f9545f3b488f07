"""Starts ranks, and reads what they found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import torch

PROGRAM = Path(__file__).with_name("start_ranks.py")
# Importing PyTorch on a busy machine takes a while.
SECONDS = 400


def run_torchrun(ranks, arguments, folder=None):
    """The finished process of torchrun, which has to succeed."""
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(ranks)]
    return _done([*command, "--standalone", *map(str, arguments)], folder)


def run_jobs(jobs):
    """The jobs of `start_ranks.py`, one after the other."""
    for job in jobs:
        Path(job["folder"]).mkdir(exist_ok=True)
    _done([sys.executable, str(PROGRAM), json.dumps(jobs)], None)


def found_by(job):
    """What each rank found in each case, `found[rank][case]`, until it died."""
    folder = Path(job["folder"])
    found = [folder / f"rank{rank}.pt" for rank in range(job["ranks"])]
    assert all(path.exists() for path in found), printed_by(job)[-3000:]
    return [torch.load(path) for path in found]


def printed_by(job):
    """The output of all ranks."""
    folder = Path(job["folder"])
    return "\n".join((folder / f"rank{rank}.txt").read_text() for rank in range(job["ranks"]))


def _done(command, folder):
    """One thread for each process."""
    done = subprocess.run(
        command,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done

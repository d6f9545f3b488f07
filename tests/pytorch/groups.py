"""Starts the ranks of `group_program.py`, and reads what they found."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import torch

PROGRAM = Path(__file__).with_name("group_program.py")
# Importing PyTorch in several processes on a busy machine takes a while.
SECONDS = 400


def run_torchrun(ranks, arguments, folder=None):
    """The finished process of torchrun, which has to succeed."""
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(ranks)]
    command += ["--master-port", str(free_port()), *map(str, arguments)]
    done = subprocess.run(
        command,
        env=environment(),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done


def ranks_of(count, cases, folder):
    """What each rank found in each case, `found[rank][case]`, until it died; output of each rank.

    Without torchrun, which would end all ranks when one dies, and imports PyTorch once more.
    """
    folder.mkdir()
    port = str(free_port())
    where = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": str(count)}
    processes = [
        subprocess.Popen(
            [sys.executable, str(PROGRAM), json.dumps(cases), str(folder)],
            env={**environment(), **where, "RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(count)
    ]
    output = [process.communicate(timeout=SECONDS)[0] for process in processes]
    found = [folder / f"rank{rank}.pt" for rank in range(count)]
    assert all(path.exists() for path in found), "\n".join(output)[-3000:]
    return [torch.load(path) for path in found], output


def environment():
    """One thread for each rank."""
    return {**os.environ, "OMP_NUM_THREADS": "1"}


def free_port():
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]

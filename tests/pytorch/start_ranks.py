"""Starts ranks as copies of a process that has imported PyTorch: `start_ranks.py jobs`.

A job is a number of ranks, a folder, and either cases of `group_program.py` or a script. Jobs run
one after the other. PyTorch is imported once for all of them, which is most of what starting costs.
"""

from __future__ import annotations

import json
import os
import runpy
import socket
import sys
import traceback
import warnings
from pathlib import Path

import group_program
import torch
import torch.distributed as dist


def free_port():
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run_job(job):
    """All ranks of a job, until the last one has ended."""
    port = str(free_port())
    where = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": str(job["ranks"])}
    ranks = []
    for rank in range(job["ranks"]):
        child = os.fork()
        if child == 0:
            os.environ.update(where, RANK=str(rank), LOCAL_RANK=str(rank))
            run_rank(job, rank)
        ranks.append(child)
    for child in ranks:
        os.waitpid(child, 0)


def run_rank(job, rank):
    """The work of one rank; what it prints goes to a file."""
    folder = Path(job["folder"])
    status = 1
    try:
        output = os.open(folder / f"rank{rank}.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        torch.set_num_threads(1)
        if "script" in job:
            os.chdir(folder)
            runpy.run_path(job["script"], run_name="__main__")
        else:
            run_cases(job["cases"], folder / f"rank{rank}.pt")
        status = 0
    except BaseException:  # noqa: BLE001 - whatever it is, it ends this rank and no other
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        # A group of which a rank is gone cannot be ended in the usual way.
        os._exit(status)


def run_cases(cases, path):
    """Each case in turn; what this rank found goes to a file."""
    warnings.filterwarnings("ignore")
    dist.init_process_group("gloo")
    found = []
    for name, *arguments in cases:
        # What was found before is not lost with a rank.
        torch.save(found, path)
        case = group_program.CASES[name]
        found.append(group_program.outcome(lambda case=case, a=arguments: case(*a)))
    torch.save(found, path)


if __name__ == "__main__":
    for one in json.loads(sys.argv[1]):
        run_job(one)

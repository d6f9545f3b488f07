"""Random allocation as parallel draws of one step each.

Several picks out of t: draw a uniformly random partition of the block into one part per pick and
pick one step in each part. That is a uniform set of steps, and revealing the partition, which does
not depend on the data, can only help the adversary; so the block is dominated by one allocation per
part, composed (random_allocation, Lemma 3.11, with part sizes that differ by at most one). Steps of
different parts are interleaved, but given the partition the run is a step-by-step post-processing
of independent pairs. An upper bound only, unless there is one part or all parts are single steps.
"""

from __future__ import annotations

from dataclasses import dataclass

from hockeystick.schemes import RandomAllocation

__all__ = ["Allocation", "parallel_allocations"]


@dataclass(frozen=True)
class Allocation:
    """One step drawn out of `length`, of which only the first `run` are run; `count` times."""

    length: int
    run: int
    count: int


def parallel_allocations(scheme: RandomAllocation, steps: int) -> list[Allocation]:
    """The draws that together dominate `steps` steps of the scheme.

    What is left of a truncated last block: one pick falls inside it with probability rest/out_of
    and is uniform there; if all steps are picked, every step takes part; otherwise the whole block
    is charged, of which the truncated one is a post-processing.
    """
    blocks, rest = divmod(steps, scheme.out_of)
    short, longer = divmod(scheme.out_of, scheme.picks)
    ending: list[Allocation] = []
    if rest and scheme.picks == 1:
        ending.append(Allocation(scheme.out_of, rest, 1))
    elif rest and scheme.picks == scheme.out_of:
        ending.append(Allocation(1, 1, rest))
    elif rest:
        blocks += 1
    whole = [
        Allocation(short, short, blocks * (scheme.picks - longer)),
        Allocation(short + 1, short + 1, blocks * longer),
    ]
    return [allocation for allocation in (*whole, *ending) if allocation.count]

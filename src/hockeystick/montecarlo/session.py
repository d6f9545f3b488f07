"""One question put to Monte Carlo: its seed, who draws, and what was drawn before."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from hockeystick import _validate as check
from hockeystick.errors import UnsupportedPlan
from hockeystick.montecarlo.checkpoint import Checkpoint
from hockeystick.montecarlo.drawing import Drawer
from hockeystick.montecarlo.execution import Execution, open_pool
from hockeystick.plan import Plan, require_plan
from hockeystick.schemes.simulation import missing_simulation
from hockeystick.strategies import Strategy

__all__ = ["check_simulated", "open_drawer"]


@contextmanager
def open_drawer(
    plan: Plan, *, execution: Execution | None, seed: int | None, **question: Any
) -> Iterator[Drawer]:
    """Somebody who draws for this question; `drawer.checkpoint.seed` is its seed.

    Without a seed one is taken from the operating system's cryptographic source.
    """
    check_simulated(plan)
    execution = execution or Execution()
    content = {"plan": plan.describe(), "strategy": _digest(plan.strategy), **question}
    checkpoint = Checkpoint(
        execution.checkpoint_path,
        content,
        check.seed("seed", seed),
        rescuable=execution.rescue is not None,
        key=execution.checkpoint_key,
    )
    try:
        with open_pool(execution) as pool:
            yield Drawer(pool, checkpoint, execution)
    except KeyboardInterrupt:
        kept = None if execution.rescue is None else checkpoint.rescue(Path(execution.rescue))
        if kept is None:
            raise
        raise KeyboardInterrupt(f"go on with --checkpoint {kept}") from None
    finally:
        checkpoint.write()


def _digest(strategy: Strategy) -> str:
    """Tells apart strategies that have the same description."""
    known = strategy.coefficients
    entries = strategy.to_matrix() if known is None else known
    return hashlib.sha256(np.ascontiguousarray(entries).tobytes()).hexdigest()


def check_simulated(plan: Plan) -> None:
    """`UnsupportedPlan` if the plan cannot be simulated."""
    require_plan(plan)
    reason = missing_simulation(plan)
    if reason is not None:
        raise UnsupportedPlan(f"Monte Carlo accounting does not apply: {reason}.")

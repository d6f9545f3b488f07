"""Getting draws made: by the cores of this machine or a cluster, with a checkpoint on the way."""

from __future__ import annotations

import hashlib
import importlib
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hockeystick import _validate as check
from hockeystick._numerics.threads import processors
from hockeystick.errors import InvalidParameter, MissingExtra, UnsupportedPlan
from hockeystick.montecarlo import Execution
from hockeystick.montecarlo.checkpoint import Checkpoint
from hockeystick.montecarlo.draws import Job, Piece, Sums, draw_piece, pieces_of
from hockeystick.plan import Plan, require_plan
from hockeystick.schemes.simulation import missing_simulation
from hockeystick.strategies import Strategy

__all__ = ["Drawer", "Pool", "check_simulated", "open_drawer", "open_pool"]

# Seconds to wait for a cluster, and how often it may lose a piece before it is drawn here.
PATIENCE, RETRIES = 15, 3
# Pieces that wait for each worker, so that none is idle while results are added up.
WAITING = 2


@contextmanager
def open_drawer(
    plan: Plan, *, execution: Execution | None, seed: int | None, **question: Any
) -> Iterator[Drawer]:
    """A drawer for one question, which tells its checkpoint apart from others.

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
        raise UnsupportedPlan(
            f"Monte Carlo accounting does not apply: {reason}; account(plan, ...) takes the "
            "tightest proven method that does.",
            page="docs/how-to-choose.md#draws",
        )


@dataclass(frozen=True)
class Drawer:
    """Makes draws on a pool, keeps their sums in a checkpoint and reports progress."""

    pool: Pool
    checkpoint: Checkpoint
    execution: Execution

    @property
    def seed(self) -> int:
        """From which every job has its random numbers: the request's, or the checkpoint's."""
        return self.checkpoint.seed

    def sums(
        self, job: Job, *, text: str = "Drawing", enough: Callable[[Sums], bool] | None = None
    ) -> Sums:
        """All draws of the job, added up in the order of the pieces.

        `enough(sums)` may end the work early. It is called for every prefix of the pieces in turn,
        so that the answer does not depend on which worker was fastest.
        """
        progress = _Progress(self.execution, text, job.draws)
        done: dict[int, Sums] = {}
        number, total = 0, Sums.nothing(job.payoffs, job.simulation.noise_multipliers)
        pending: dict[Future[Sums], Piece] = {}
        waiting = pieces_of(job)
        upcoming = next(waiting, None)
        try:
            while upcoming is not None or pending:
                while upcoming is not None and len(pending) < WAITING * self.pool.width:
                    known = self.checkpoint.find(upcoming)
                    if known is None:
                        pending[self.pool.executor.submit(draw_piece, upcoming)] = upcoming
                    else:
                        done[upcoming.number] = known
                        progress.count(known.draws, fresh=False)
                    upcoming = next(waiting, None)
                for future in self._finished(pending):
                    piece = pending.pop(future)
                    done[piece.number] = self._result(future, piece)
                    progress.count(piece.draws)
                while number in done:
                    total = total.plus(done.pop(number))
                    number += 1
                    if enough is not None and enough(total):
                        return total
        except BaseException:
            # Interrupted: nothing that was drawn is lost.
            self.checkpoint.write()
            raise
        finally:
            for future in pending:
                future.cancel()
        return total

    def _finished(self, pending: dict[Future[Sums], Piece]) -> set[Future[Sums]]:
        return wait(pending, return_when=FIRST_COMPLETED).done if pending else set()

    def _result(self, future: Future[Sums], piece: Piece) -> Sums:
        """The sums of the piece; one that the cluster has lost for good is drawn here."""
        error = future.exception()
        if error is not None and type(error).__module__.startswith("distributed"):
            sums = draw_piece(piece)
        else:
            sums = future.result()
        self.checkpoint.keep(piece, sums)
        return sums


class _Progress:
    """Reports how far the draws are and how long the others will take."""

    def __init__(self, execution: Execution, text: str, draws: int) -> None:
        self._execution, self._text, self._draws = execution, text, draws
        self._done = self._fresh = 0
        self._start = time.monotonic()

    def count(self, draws: int, *, fresh: bool = True) -> None:
        self._done += draws
        self._fresh += draws if fresh else 0
        share = self._done / self._draws
        text = f"{self._text}: {share:.0%} of {self._draws:,} draws"
        if self._fresh:
            speed = self._fresh / max(time.monotonic() - self._start, 1e-9)
            text += f", {_duration((self._draws - self._done) / speed)} left"
        self._execution.tell(text + " ...")


def _duration(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


class Pool(NamedTuple):
    """Something that takes pieces of work, this many at a time."""

    executor: Executor
    width: int


@contextmanager
def open_pool(execution: Execution) -> Iterator[Pool]:
    """Threads of this machine (draws release the interpreter), or a cluster."""
    if execution.scheduler is None:
        workers = execution.workers or processors()
        executor = ThreadPoolExecutor(workers)
        try:
            yield Pool(executor, workers)
        finally:
            executor.shutdown(wait=True, cancel_futures=True)
    else:
        with _client(execution.scheduler) as client:
            width = max(1, sum(client.nthreads().values()))
            yield Pool(client.get_executor(pure=False, retries=RETRIES), width)


@contextmanager
def _client(scheduler: Any) -> Iterator[Any]:
    """A client of the cluster; one that was given is not closed."""
    if not isinstance(scheduler, str):
        if not hasattr(scheduler, "get_executor"):
            allowed = "the address of a Dask scheduler or a distributed.Client"
            raise InvalidParameter("scheduler", allowed, scheduler)
        yield scheduler
        return
    try:
        distributed = importlib.import_module("distributed")
    except ImportError:
        raise MissingExtra("A cluster needs Dask", extra="dask") from None
    try:
        client = distributed.Client(scheduler, timeout=PATIENCE)
    except (OSError, TimeoutError, ValueError) as error:
        allowed = f"the address of a Dask scheduler that answers within {PATIENCE} seconds"
        raise InvalidParameter("scheduler", allowed, scheduler) from error
    with client:
        yield client

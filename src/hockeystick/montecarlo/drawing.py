"""Getting the draws of a job made, by whoever draws."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass

from hockeystick.montecarlo.checkpoint import Checkpoint
from hockeystick.montecarlo.execution import Execution, Pool
from hockeystick.montecarlo.tally import Tally
from hockeystick.montecarlo.work import Job, Piece, draw_piece, pieces_of

__all__ = ["Drawer"]

# Pieces that wait for each worker, so that none is idle.
WAITING = 2


@dataclass(frozen=True)
class Drawer:
    """Makes draws on a pool, remembers them in a checkpoint and tells how far it is."""

    pool: Pool
    checkpoint: Checkpoint
    execution: Execution

    def tally(
        self, job: Job, *, text: str = "Drawing", enough: Callable[[Tally], bool] | None = None
    ) -> Tally:
        """All draws of the job, added up in the order of the pieces.

        `enough(tally)` may end the work early; it is asked about every prefix of the pieces in
        turn, so that the answer does not depend on who was fastest.
        """
        clock = _Clock(self.execution, text, job.draws)
        done: dict[int, Tally] = {}
        number, total = 0, Tally.nothing(job.payoffs, job.simulation.noise_multipliers)
        pending: dict[Future[Tally], Piece] = {}
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
                        clock.count(known.draws, fresh=False)
                    upcoming = next(waiting, None)
                for future in self._finished(pending):
                    piece = pending.pop(future)
                    done[piece.number] = self._result(future, piece)
                    clock.count(piece.draws)
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

    def _finished(self, pending: dict[Future[Tally], Piece]) -> set[Future[Tally]]:
        return wait(pending, return_when=FIRST_COMPLETED).done if pending else set()

    def _result(self, future: Future[Tally], piece: Piece) -> Tally:
        """What the piece came to; one that the cluster has lost for good is drawn here."""
        error = future.exception()
        if error is not None and type(error).__module__.startswith("distributed"):
            tally = draw_piece(piece)
        else:
            tally = future.result()
        self.checkpoint.keep(piece, tally)
        return tally


class _Clock:
    """Tells how far the draws are and how long the rest will take."""

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

"""RunGroup: the ranks of a process group that make one run together."""

from __future__ import annotations

import hashlib
import json
import pickle
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from itertools import count
from typing import Any, NoReturn, TypeVar

import torch
import torch.distributed as dist
from torch.distributed.distributed_c10d import _get_default_store

from hockeystick.errors import HockeystickError, PlanMismatch

__all__ = ["RunGroup", "agreed", "in_group", "told_to_other_ranks"]

T = TypeVar("T")

# How long a rank waits for the others to call make_private, which may choose a plan before.
PATIENCE = timedelta(minutes=10)
# Runs of a process group are numbered in the order in which every rank makes them.
_NUMBERS = count(1)
# Their names before and since PyTorch 2.13.
_SUM_OF_PART = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor
_JOIN = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor


def in_group() -> bool:
    """Whether this process is in a group of PyTorch's."""
    return dist.is_available() and dist.is_initialized()


@contextmanager
def told_to_other_ranks(group: RunGroup | None) -> Iterator[None]:
    """If this rank cannot make the run, the others need not wait for it."""
    try:
        yield
    except HockeystickError as error:
        if group is not None:
            group.refuse(error)
        raise


def agreed(group: RunGroup | None, work: Callable[[], T]) -> T:
    """What each rank computes on its own; `PlanMismatch` on all if one of them cannot."""
    if group is None:
        return work()
    found: list[T] = []
    error: HockeystickError | None = None
    try:
        found.append(work())
    except HockeystickError as refusal:
        error = refusal
    reasons = group.of_all(None if error is None else str(error))
    if error is not None:
        raise error
    for rank, reason in enumerate(reasons):
        if reason is not None:
            raise PlanMismatch(f"On rank {rank}: {reason}")
    return found[0]


class RunGroup:
    """Communication between the ranks of one run; every method is called by all of them.

    A rank that dies closes its connections, and PyTorch raises on the others. That, and a refusal
    that another rank has sent, ends the run here with one sentence.

    Attributes
    ----------
    rank, size
        The number of this rank, and how many there are.
    device
        Where tensors are that are exchanged: that of the parameters.
    """

    def __init__(self) -> None:
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self.device = torch.device("cpu")
        self._store = dist.PrefixStore(f"hockeystick/run {next(_NUMBERS)}", _get_default_store())
        self._ended: Exception | None = None

    @property
    def first(self) -> bool:
        """Whether this rank decides what has to be decided once."""
        return self.rank == 0

    # -- beginning and end ------------------------------------------------------------------------

    def join(self, facts: Mapping[str, Any]) -> None:
        """Wait for all ranks; `PlanMismatch` unless they are making the same run.

        Parameters
        ----------
        facts
            What has to be the same on all ranks. Only digests leave the process.
        """
        mine = {name: _digest(value) for name, value in facts.items()}
        self._store.set(str(self.rank), json.dumps(mine))
        for other in range(self.size):
            theirs = json.loads(self._wait(str(other), other))
            if "refused" in theirs:
                raise PlanMismatch(f"Rank {other} makes no run: {theirs['refused']}")
            for name, digest in mine.items():
                if theirs.get(name) != digest:
                    raise PlanMismatch(
                        f"All ranks make one run, but {name} is not the same on rank {self.rank} "
                        f"and rank {other}."
                    )

    def chosen(self, choose: Callable[[], T]) -> T:
        """What the first rank chooses before the ranks join: a choice may depend on the time."""
        if self.first:
            found = choose()
            self._store.set("chosen", pickle.dumps([found]))
            return found
        given = pickle.loads(self._waited("chosen", 0))
        if isinstance(given, str):
            raise PlanMismatch(f"Rank 0 makes no run: {given}")
        return given[0]

    def refuse(self, error: HockeystickError) -> None:
        """The others need not wait: there is no run on this rank."""
        self._store.set(str(self.rank), json.dumps({"refused": str(error)}))
        if self.first:
            self._store.set("chosen", pickle.dumps(str(error)))

    def end(self, error: Exception, *, tell: bool) -> None:
        """End the run on this rank; the others learn why.

        Parameters
        ----------
        error
            Why.
        tell
            Whether the others are waiting for this rank in `check`, or will.
        """
        if self._ended is not None:
            return
        self._ended = error
        self._store.set("end", f"Rank {self.rank} has ended the run. {error}")
        if tell:
            try:
                self._failures(1)
            except RuntimeError:  # They are gone.
                return

    def check(self) -> None:
        """`PlanMismatch` if a rank has ended the run, with its reason."""
        with self._exchange():
            failures = self._failures(0)
        if failures:
            self._stop(PlanMismatch(self._wait("end", None)))

    def _failures(self, mine: int) -> int:
        found = torch.tensor([mine], dtype=torch.int32, device=self.device)
        dist.all_reduce(found)
        return int(found)

    # -- values -----------------------------------------------------------------------------------

    def of_first(self, value: Any) -> Any:
        """What the first rank has; a value of plain types."""
        held = [value if self.first else None]
        with self._exchange():
            dist.broadcast_object_list(held, src=0)
        return held[0]

    def of_all(self, value: Any) -> list[Any]:
        """What each rank has, in order; values of plain types."""
        held: list[Any] = [None] * self.size
        with self._exchange():
            dist.all_gather_object(held, value)
        return held

    def copy_of_first(self, tensors: list[torch.Tensor]) -> None:
        """The tensors of the first rank are copied to those of the others."""
        with self._exchange(), torch.no_grad():
            for tensor in tensors:
                dist.broadcast(tensor, src=0)

    def sum_of_part(self, everything: torch.Tensor) -> torch.Tensor:
        """The sum over the ranks of this rank's part: one of `size` parts of equal length."""
        part = everything.new_empty(len(everything) // self.size)
        with self._exchange():
            _SUM_OF_PART(part, everything)
        return part

    def joined(self, part: torch.Tensor) -> torch.Tensor:
        """The parts of all ranks, one after the other."""
        everything = part.new_empty(len(part) * self.size)
        with self._exchange():
            _JOIN(everything, part)
        return everything

    def total(self, value: torch.Tensor) -> torch.Tensor:
        """The sum over the ranks."""
        found = value.to(self.device)
        with self._exchange():
            dist.all_reduce(found)
        return found.cpu()

    # -- errors -----------------------------------------------------------------------------------

    @contextmanager
    def _exchange(self) -> Iterator[None]:
        """One sentence if another rank is gone."""
        if self._ended is not None:
            raise PlanMismatch(f"The run is over. {self._ended}")
        try:
            yield
        except RuntimeError as error:
            self.lost(error)

    @contextmanager
    def telling(self, *, waiting: bool) -> Iterator[None]:
        """Whatever goes wrong inside ends the run on all ranks (`end`)."""
        try:
            yield
        except Exception as error:
            self.end(error, tell=waiting)
            raise

    @contextmanager
    def passes(self) -> Iterator[None]:
        """Exchanges that PyTorch makes by itself."""
        try:
            yield
        except RuntimeError as error:
            if not self.is_loss(error):
                raise
            self.lost(error)

    @staticmethod
    def is_loss(error: RuntimeError) -> bool:
        """Whether it is one of PyTorch's communication."""
        return isinstance(error, dist.DistError) or "gloo" in str(error)

    def lost(self, error: BaseException) -> NoReturn:
        """The sentence for an error of PyTorch's communication."""
        reason = f"({type(error).__name__}: {' '.join(str(error).split())[:120]})"
        # The first rank hosts the store: it may be gone too.
        with suppress(RuntimeError):
            if self._store.check(["end"]):
                reason = self._store.get("end").decode()
        self._stop(
            HockeystickError(
                "Another rank of the process group has died or left the run, which is over on "
                "this rank too; start all ranks again and restore the last saved state. "
                f"{reason}"
            ),
            error,
        )

    def _stop(self, error: HockeystickError, cause: BaseException | None = None) -> NoReturn:
        self._ended = error
        raise error from cause

    def _wait(self, key: str, rank: int | None) -> str:
        return self._waited(key, rank).decode()

    def _waited(self, key: str, rank: int | None) -> bytes:
        try:
            self._store.wait([key], PATIENCE)
            found: bytes = self._store.get(key)
            return found
        except RuntimeError as error:
            if rank is None:
                return b"Another rank has ended the run."
            raise PlanMismatch(
                f"Inside a process group all ranks make one run, and rank {rank} has not called "
                f"make_private within {PATIENCE.total_seconds() / 60:.0f} minutes."
            ) from error


def _digest(value: Any) -> str:
    return hashlib.sha256(str(value).encode()).hexdigest()

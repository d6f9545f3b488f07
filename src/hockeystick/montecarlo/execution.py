"""Who draws: the cores of this machine, or a cluster."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from hockeystick import _validate as check
from hockeystick._numerics.threads import processors
from hockeystick.errors import InvalidParameter, MissingExtra
from hockeystick.montecarlo.checkpoint_key import KEY_BYTES

__all__ = ["Execution", "Pool", "open_pool"]

# Seconds to wait for a cluster, and how often it may lose a piece before it is drawn here.
PATIENCE, RETRIES = 15, 3


@dataclass(frozen=True, kw_only=True)
class Execution:
    """Where draws are made and what happens on the way; results do not depend on it.

    By default all cores of this machine draw, or `workers` of them. `scheduler` is the address of a
    Dask scheduler ("tcp://host:8786") or a `distributed.Client`. With a `checkpoint` file an
    interrupted computation goes on where it was when it is asked again; without one, what was drawn
    before Ctrl-C goes to a new file in the directory `rescue`, if there is one. A checkpoint is
    only taken if its tag was made with the same key: `checkpoint_key`, of 32 bytes or more, or a
    key of this user that is made once. `progress` is told in a sentence how far it is.
    """

    workers: int | None = None
    scheduler: Any = None
    checkpoint: str | os.PathLike[str] | None = None
    rescue: str | os.PathLike[str] | None = None
    progress: Callable[[str], None] | None = None
    checkpoint_key: bytes | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        key: Any = self.checkpoint_key
        if key is not None and not (isinstance(key, bytes) and len(key) >= KEY_BYTES):
            # What was given may be a secret.
            raise InvalidParameter(
                "checkpoint_key", f"None or {KEY_BYTES} bytes or more", type(key).__name__
            )
        if self.workers is not None:
            object.__setattr__(self, "workers", check.positive_integer("workers", self.workers))
        if self.workers is not None and self.scheduler is not None:
            raise InvalidParameter("workers", "None for work on a cluster", self.workers)

    @property
    def checkpoint_path(self) -> Path | None:
        """The file, if there is to be one."""
        return None if self.checkpoint is None else Path(self.checkpoint)

    def tell(self, text: str) -> None:
        """Pass on how far it is."""
        if self.progress is not None:
            self.progress(text)


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
        raise MissingExtra(
            "A cluster needs Dask; install it with the extra `dask`: hockeystick[dask]."
        ) from None
    try:
        client = distributed.Client(scheduler, timeout=PATIENCE)
    except (OSError, TimeoutError, ValueError) as error:
        allowed = f"the address of a Dask scheduler that answers within {PATIENCE} seconds"
        raise InvalidParameter("scheduler", allowed, scheduler) from error
    with client:
        yield client

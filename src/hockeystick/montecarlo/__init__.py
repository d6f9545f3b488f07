"""What users say about draws: `MonteCarlo`, the method, and `Execution`, where draws are made."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from hockeystick import _validate as check
from hockeystick.errors import InvalidParameter
from hockeystick.montecarlo.checkpoint import KEY_BYTES

__all__ = ["Execution", "MonteCarlo"]


@dataclass(frozen=True, kw_only=True)
class Execution:
    """Where draws are made, and what happens on the way. Results do not depend on it.

    Parameters
    ----------
    workers
        How many cores of this machine draw; by default all of them.
    scheduler
        The address of a Dask scheduler ("tcp://host:8786"), or a `distributed.Client`, in the place
        of this machine.
    checkpoint
        A file. A computation that was interrupted continues there when it is requested again.
    rescue
        A directory. Without a checkpoint, what was drawn before Ctrl-C goes to a new file there.
    progress
        Is called with a sentence that says how far the draws are.
    checkpoint_key
        32 bytes or more that authenticate the checkpoint: one with the tag of another key is
        refused. By default a key of this user, which is made once.

    Examples
    --------
    >>> import hockeystick as hs
    >>> hs.Execution(workers=2).workers
    2
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


@check.with_known_names
@dataclass(frozen=True, kw_only=True)
class MonteCarlo:
    """Accounting by draws of whole runs, with the exact likelihood ratio of each draw.

    Given as `method=` to `account` or `calibrate`. The name "monte-carlo" stands for
    `MonteCarlo()`.

    - `account(plan, noise_multiplier=..., method=MonteCarlo(epsilon=...))` bounds delta at that
      epsilon. The bound is wrong with probability at most `failure_probability`. Its kind is
      "confidence": it is no privacy guarantee of its own.
    - `calibrate(plan, epsilon=..., delta=..., method=MonteCarlo(...))` tests candidates for the
      noise before the run. The probability of accepting too little noise is a part of delta, so
      that the result is a guarantee, of kind "verified".

    Parameters
    ----------
    draws
        For `account`, the number of draws; by default 100 000. For `calibrate`, about how many
        draws all tests make together: by default 100 000 or more where tuples of replicas are
        drawn (b-min-sep, Poisson sampling, balls-in-bins), otherwise 100 / delta. With far fewer,
        the answer of `calibrate` is the proven noise.
    epsilon
        Where `account` bounds delta, at least 0. `calibrate` takes its own epsilon.
    seed
        An integer that makes the draws reproducible. By default it comes from the operating
        system.
    failure_probability
        Of the bound of `account`.
    execution
        Where the draws are made (`Execution`). The result does not depend on it.
    choices
        For `calibrate`: of how many calibrations the one to run with will be chosen. They share the
        probability of a wrong acceptance, so that choosing the best of them is covered.

    Examples
    --------
    >>> import hockeystick as hs
    >>> plan = hs.Plan(sampling=hs.MinSep(rate=0.1, separation=4), steps=24)
    >>> method = hs.MonteCarlo(epsilon=1.0, draws=2_000, seed=1)
    >>> bound = hs.account(plan, noise_multiplier=2.0, method=method)
    >>> bound.kind, bound.delta(1.0) < 0.02
    ('confidence', True)
    """

    name: ClassVar[str] = "monte-carlo"

    draws: int | None = None
    epsilon: float | None = None
    seed: int | None = None
    failure_probability: float = 0.001
    execution: Execution | None = None
    choices: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "choices", check.positive_integer("choices", self.choices))
        failure = check.small_probability("failure_probability", self.failure_probability)
        object.__setattr__(self, "failure_probability", failure)
        object.__setattr__(self, "seed", check.seed("seed", self.seed))
        if self.draws is not None:
            object.__setattr__(self, "draws", check.positive_integer("draws", self.draws))
        if self.epsilon is not None:
            object.__setattr__(self, "epsilon", check.at_least("epsilon", self.epsilon, 0.0))
        if not (self.execution is None or isinstance(self.execution, Execution)):
            raise InvalidParameter("execution", "an Execution or None", self.execution)

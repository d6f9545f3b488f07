"""BatchSampler: the batches of a plan for PyTorch loaders."""

from __future__ import annotations

import hashlib
import json
import operator
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import Any

import numpy as np
from torch.utils.data import Sampler

from hockeystick import _validate as check
from hockeystick._process import SingleUse
from hockeystick._states import MALFORMED, check_digest, restored_generator, state_digest
from hockeystick.errors import InvalidParameter, UnsupportedPlan
from hockeystick.plan import Plan
from hockeystick.randomness import Key, RandomSource, generator, is_secret
from hockeystick.schemes import Attribution, Indices
from hockeystick.torch.original_state import as_arrays, as_tensors
from hockeystick.training.filtered import rate_for_filters, scheme_at

__all__ = ["BatchSampler"]


class BatchSampler(SingleUse, Sampler[list[int]]):
    """The plan's batches as lists of indices, each of them once: a loader's `batch_sampler`.

    A batch may be empty. An iteration continues where the last one ended and stops after the plan's
    steps: a second pass over the loader does not repeat batches.

    `state_dict` and `load_state_dict` continue in another process, by drawing all batches again
    from the start and leaving out those that were used. A state reveals who is in which batch and
    must be kept as secret as the data. A loader with workers requests batches in advance:
    `state_dict(position=...)` then says how many were really used. A sampler works only in the
    process that made it, and cannot be copied or pickled; workers of a loader only get indices.

    Parameters
    ----------
    plan
        Whose batches are drawn.
    examples
        Their number, or for schemes that protect users the graph of examples and users.
    rng
        What `plan.batches` takes, with the same batches; of a generator only a seed is drawn.

    Examples
    --------
    >>> import hockeystick as hs
    >>> plan = hs.Plan(sampling=hs.BallsInBins(bins=2), steps=4)
    >>> batches = list(hs.torch.BatchSampler(plan, examples=6))
    >>> len(batches), sorted(batches[0] + batches[1])
    (4, [0, 1, 2, 3, 4, 5])
    """

    what = "The batch sampler"
    instead = "let one follow the other by state_dict() and load_state_dict()"

    def __init__(
        self, plan: Plan, *, examples: int | Attribution, rng: RandomSource = None
    ) -> None:
        if not isinstance(plan, Plan):
            raise InvalidParameter("plan", "a Plan", plan)
        self._plan = plan
        self._graph = examples
        self._seeded = not is_secret(rng)
        self._source = _own_generator(rng).bit_generator
        self._start = deepcopy(self._source.state)
        # Since when batches are drawn from this start, and at which rate if it has changed.
        self._since, self._rate = 0, rate_of(plan)
        self._position = 0
        self._latest: Indices | None = None
        self._live = self._from_start()

    @property
    def plan(self) -> Plan:
        """Whose batches these are."""
        return self._plan

    @property
    def seeded(self) -> bool:
        """Whether batches came from a seed of the caller, here or before a state was saved."""
        return self._seeded

    @property
    def position(self) -> int:
        """How many batches were drawn."""
        return self._position

    def __len__(self) -> int:
        return self._plan.steps - self._position

    def __iter__(self) -> Iterator[list[int]]:
        while self._position < self._plan.steps:
            yield self.batch(self._position).tolist()

    def batch(self, step: int) -> Indices:
        """The batch of one step, counted from 0; the next iteration continues after it.

        The latest batch and the next cost what drawing one costs, others a new start.
        """
        self.check_here()
        step = _step_within(step, self._plan.steps - 1)
        if step == self._position - 1 and self._latest is not None:
            return self._latest.copy()
        if step < self._since:
            raise InvalidParameter("step", f"at least {self._since}, the last change", step)
        if step < self._position:
            self._live, self._position = self._from_start(), self._since
        for _ in range(step - self._position):
            next(self._live)
        self._latest = next(self._live)
        self._position = step + 1
        return self._latest.copy()

    def change(self, *, step: int, rate: float | None, reason: str) -> None:
        """From this step on batches follow from another generator, at another rate.

        The generator follows from the present one and the text. Batches that were drawn ahead are
        not the run's any more: the next iteration draws them again.

        Parameters
        ----------
        step
            The first one that changes, counted from 0.
        rate
            Its sampling rate; None for that of the plan.
        reason
            What changes, as a text.
        """
        self.check_here()
        scheme = None if rate is None else scheme_at(self._plan, rate)
        digest = hashlib.sha256(f"{reason} {state_digest({'start': self._start})}".encode())
        words = np.frombuffer(digest.digest(), dtype=np.uint64)
        a, b, c, d = (int(word) for word in words)
        key = Key((a, b, c, d), cryptographic=type(self._source).__name__ == "ChaCha")
        self._start = deepcopy(key.generator(step).bit_generator.state)
        self._since, self._rate = step, self._rate if scheme is None else rate
        self._live, self._position, self._latest = self._from_start(), step, None

    def state_dict(self, *, position: int | None = None) -> dict[str, Any]:
        """Everything needed to continue from here, or from another position.

        Parameters
        ----------
        position
            The number of batches that were used; by default those that were drawn.
        """
        self.check_here()
        here = self._position if position is None else _step_within(position, self._plan.steps)
        content = {
            "position": here,
            "since": self._since,
            "rate": self._rate,
            "seeded": self.seeded,
            "generator": deepcopy(self._start),
            **self._description(),
        }
        state: dict[str, Any] = as_tensors({**content, "digest": state_digest(content)})
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a saved state.

        Parameters
        ----------
        state
            What `state_dict()` returned.

        Raises
        ------
        InvalidParameter
            If the state is of another plan or other data, was changed, or has a generator that
            cannot draw. The sampler is not changed then.
        """
        self.prepared(state)()

    def prepared(self, state: Mapping[str, Any]) -> Callable[[], None]:
        """`load_state_dict` in two parts: everything is checked now, and changed by the result."""
        self.check_here()
        try:
            saved = as_arrays(dict(state))
            for name, value in self._description().items():
                if saved[name] != value:
                    raise InvalidParameter(
                        "state", f"of a sampler with {name} {value}", saved[name]
                    )
            position = _step_within(saved["position"], self._plan.steps)
            since, rate = _step_within(saved["since"], position), saved["rate"]
            if rate != self._rate:
                scheme_at(self._plan, check.sampling_rate("rate", rate))
            start = restored_generator(self._source, saved["generator"]).bit_generator.state
            check_digest(saved)
            seeded = bool(saved["seeded"])
        except InvalidParameter:
            raise
        except MALFORMED as error:
            raise InvalidParameter("state", "what `state_dict()` returned", type(state)) from error

        def change() -> None:
            self._start, self._seeded = start, self._seeded or seeded
            self._since, self._rate = since, rate
            self._live, self._position, self._latest = self._from_start(), since, None
            for _ in range(position - since):
                next(self._live)
            self._position = position

        return change

    def _from_start(self) -> Iterator[Indices]:
        source = type(self._source)()
        source.state = deepcopy(self._start)
        rng, plan = np.random.Generator(source), self._plan
        if self._since == 0 and self._rate == rate_of(plan):
            return plan.batches(examples=self._graph, rng=rng)
        scheme = plan.sampling if self._rate is None else scheme_at(plan, self._rate)
        if self._since == plan.steps:
            return iter(())
        return scheme.batches(examples=self._graph, steps=plan.steps - self._since, rng=rng)

    def _description(self) -> dict[str, Any]:
        """What two samplers must have in common to exchange states."""
        graph = self._graph
        return {
            "scheme": json.dumps(self._plan.sampling.describe(), sort_keys=True),
            "steps": self._plan.steps,
            "examples": _digest(graph) if isinstance(graph, Attribution) else int(graph),
        }


def rate_of(plan: Plan) -> float | None:
    """The rate of a plan whose rate may change in a run with a filter; None for others."""
    try:
        return rate_for_filters(plan)
    except UnsupportedPlan:
        return None


def _own_generator(rng: RandomSource) -> np.random.Generator:
    """A generator that nothing else draws from."""
    if not isinstance(rng, (np.random.Generator, np.random.BitGenerator)):
        return generator(rng)
    # Others may draw from it too, so only a seed is taken from it.
    words = generator(rng).integers(2**32, size=8, dtype=np.uint64).tolist()
    return generator(np.random.SeedSequence(words, pool_size=8))


def _digest(graph: Attribution) -> str:
    """A text that two graphs share exactly if they are the same."""
    digest = hashlib.sha256(str((graph.examples, graph.users)).encode())
    digest.update(graph.starts.tobytes())
    digest.update(graph.members.tobytes())
    return digest.hexdigest()


def _step_within(value: Any, most: int) -> int:
    """An integer in [0, most]."""
    allowed = f"an integer in [0, {most}]"
    try:
        number = operator.index(value)
    except TypeError:
        raise InvalidParameter("step", allowed, value) from None
    if not 0 <= number <= most:
        raise InvalidParameter("step", allowed, value)
    return number

"""What each example has left: in memory, in a file, or in a ledger."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict

import numpy as np

from hockeystick import _validate as check
from hockeystick._numerics.law import BoolArray, FloatArray
from hockeystick._process import OwnProcess, SetOnce
from hockeystick.errors import InvalidParameter
from hockeystick.filters.individual.rules import Rule
from hockeystick.filters.individual.spending import IndividualReport, load_state, save_state
from hockeystick.guarantee import Kind
from hockeystick.ledger.heads import Where
from hockeystick.ledger.names import DEFAULT_NAME
from hockeystick.ledger.store import checked_budget
from hockeystick.randomness import cryptographic_if_secret, generator

if TYPE_CHECKING:
    from hockeystick.ledger.individual import IndividualStore

__all__ = ["ChargedExamples", "KeptIn"]


class KeptIn(TypedDict, total=False):
    """What differs from example to example, and where budgets are kept."""

    shares: Any
    participation: Any
    ledger: Where | None
    name: str
    must_exist: bool | None


class ChargedExamples(SetOnce, ABC):
    """The state of individual budgets: what is left, and where that is kept."""

    what: ClassVar[str] = "The state of individual budgets"
    instead: ClassVar[str] = "`save` and `load` keep it"

    def __init__(
        self,
        *,
        examples: int,
        rule: Rule,
        shares: Any = None,
        participation: Any = None,
        ledger: Where | None = None,
        name: str = DEFAULT_NAME,
        must_exist: bool | None = None,
    ) -> None:
        self.rule = rule
        self._steps = 0
        budget = checked_budget(rule.budget)
        count = check.storable("examples", check.positive_integer("examples", examples))
        self._full: FloatArray = np.full(count, budget)
        # What tells these budgets from others of the same rule; nothing of it is released.
        self._differing: dict[str, object] = {}
        if shares is not None:
            place = math.ulp(budget)
            # Multiples of the last place of the largest budget, as charges are.
            self._full = np.floor(self._own("shares", shares) * budget / place) * place
        self._participation = None
        if participation is not None:
            self._participation = self._own("participation", participation)
            # Who takes part is a secret, and drawn anew whatever was restored.
            self._secret = generator(cryptographic_if_secret(None))
        self._remaining = self._full.copy()
        self._owner = OwnProcess()
        self._store: IndividualStore | None = None
        if ledger is not None:
            self._open(ledger, name, must_exist)
        elif must_exist:
            raise InvalidParameter("must_exist", "left out without a ledger", must_exist)

    def _own(self, name: str, given: Any) -> FloatArray:
        """A number in (0, 1] for each example."""
        allowed = f"{self._full.size} numbers in (0, 1], one for each example"
        values = check.vector(name, given, allowed)
        if values.shape != self._full.shape or not (values.min() > 0 and values.max() <= 1):
            raise InvalidParameter(name, allowed, given)
        self._differing[name] = sha256(values.astype("<f8").tobytes()).hexdigest()
        return values

    @abstractmethod
    def describe(self) -> dict[str, object]:
        """The rule and its parameters."""

    @property
    def steps(self) -> int:
        """How many steps were charged."""
        return self._steps

    @property
    def kind(self) -> Kind:
        """How far the claim is established."""
        return self.rule.kind

    @property
    def examples(self) -> int:
        """How many examples there are."""
        return self._remaining.size

    @property
    def budget(self) -> float:
        """What an example may spend at most, in the unit of the rule."""
        return self.rule.budget

    @property
    def budgets(self) -> FloatArray:
        """What each example may spend."""
        return self._full.copy()

    @property
    def spent(self) -> FloatArray:
        """What each example has spent. Not releasable: it depends on the data."""
        spent: FloatArray = self._full - self._remaining
        return spent

    @property
    def remaining(self) -> FloatArray:
        """What each example has left. Not releasable: it depends on the data."""
        return self._remaining.copy()

    @property
    def active(self) -> BoolArray:
        """Which examples can still contribute. Not releasable: it depends on the data."""
        return self._remaining > 0

    def report(self) -> IndividualReport:
        """The spending of every example, for inspection only."""
        return IndividualReport(self.spent, budgets=self._full, steps=self.steps)

    def save(self, path: str | Path) -> None:
        """Keep the state in a file, which is replaced in one piece and is its owner's alone.

        Call it after `step` and before anything of that step is released: charges that are lost in
        a crash would be spent twice.
        """
        self._check_owner()
        save_state(Path(path), rule=self._rule(), remaining=self._remaining, steps=self.steps)

    def load(self, path: str | Path) -> None:
        """Continue from a file that was saved with the same rule and as many examples.

        A state in which any example has more left than now, or that has fewer steps, is refused:
        loading it would give budget back. New budgets have spent nothing, so that they take every
        state: which of several files is the latest is for the caller to know. Budgets with a ledger
        go on by themselves, and take none.
        """
        self._check_owner()
        if self._store is not None:
            raise InvalidParameter("path", "left out: the ledger keeps these budgets", str(path))
        remaining, steps = load_state(
            Path(path), rule=self._rule(), full=self._full, place=math.ulp(self.budget)
        )
        if steps < self.steps or np.any(remaining > self._remaining):
            allowed = f"a state that is not behind these budgets, which have {self.steps} steps"
            raise InvalidParameter("path", allowed, f"{path} with {steps} steps")
        self._remaining, self._steps = remaining, steps

    def _parameters(self) -> dict[str, object]:
        return {name: getattr(self.rule, name) for name in self.rule.parameters}

    def _rule(self) -> Mapping[str, object]:
        """As a saved state names it."""
        return {"rule": self.rule.name, **self._parameters(), **self._differing}

    def _open(self, ledger: Where, name: str, must_exist: bool | None) -> None:
        from hockeystick.ledger.individual import IndividualStore

        description = {**self.describe(), "kind": self.kind, "examples": self.examples}
        description |= self._differing
        self._store = IndividualStore(
            ledger, name=name, description=description, full=self._full, must_exist=must_exist
        )
        self._remaining, self._steps = self._store.remaining, self._store.steps

    def _charge(self, charges: FloatArray) -> None:
        """One step; with a ledger it is on the disk before it counts here."""
        left = self._remaining - charges
        if self._store is not None:
            self._store.charge(left)
        self._remaining = left
        self._steps += 1

    def _check_owner(self) -> None:
        """A child process has a copy, and would spend every budget once more."""
        self._owner.check(self.what, instead="spend it in one process only")

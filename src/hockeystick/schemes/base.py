"""What every sampling scheme can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from hockeystick._validate import positive, positive_integer
from hockeystick.errors import InvalidParameter
from hockeystick.randomness import RandomSource, generator
from hockeystick.schemes.batches import Batches, Indices

if TYPE_CHECKING:
    from hockeystick.schemes.user_min_sep.attribution import Attribution

__all__ = ["Indices", "Sampling", "batch_size_within", "participations_within"]


@dataclass(frozen=True, kw_only=True)
class Sampling(ABC):
    """How the batches of a run are drawn: a frozen description that also draws them.

    The object that is accounted is the object that yields the batches, so that the two cannot
    disagree. A scheme is a frozen, keyword-only dataclass with a kebab-case `name`; it checks and
    normalises its fields in `__post_init__` and implements the abstract methods below.
    """

    name: ClassVar[str]
    unit: ClassVar[str] = "example"
    """Whose participation is limited and protected: that of an example, or of a user."""
    conjectured: ClassVar[bool] = False
    """Whether an argument that the amplification rests on is only conjectured."""

    @classmethod
    @abstractmethod
    def for_batch_size(cls, *args: Any, **options: Any) -> Self:
        """The scheme with a wanted expected batch size: `for_batch_size(batch_size, *, examples)`.

        Schemes with further parameters take them as keywords (`groups=`, `picks=`). A batch larger
        than the data is refused.
        """

    @abstractmethod
    def expected_batch_size(self, examples: int) -> float:
        """Expected number of examples in a batch, averaged over the steps."""

    @abstractmethod
    def most_participations(self, steps: int) -> int:
        """Largest number of steps, out of `steps`, that one example can take part in."""

    @property
    def least_gap(self) -> int:
        """Smallest possible number of steps from one participation of an example to its next."""
        return 1

    @property
    def most_copies(self) -> int:
        """How many examples of the `unit` that is protected can be in one batch."""
        return 1

    @property
    def others_are_independent(self) -> bool:
        """Whether others take part independently of the coins of the unit that is protected.

        If not, what others contribute may reveal those coins, and they amplify nothing.
        """
        return True

    @property
    def participation_known(self) -> bool:
        """Whether chance has no part in which steps an example joins."""
        return False

    @abstractmethod
    def _draw(self, examples: int, steps: int, rng: np.random.Generator) -> Iterator[Indices]:
        """The batches, for arguments that are already checked."""

    def check_steps(self, steps: int) -> int:
        """The number of steps as an `int`; `InvalidParameter` if this scheme cannot run it."""
        return positive_integer("steps", steps)

    def batches(
        self, *, examples: int | Attribution, steps: int, rng: RandomSource = None
    ) -> Iterator[Indices]:
        """Exactly `steps` batches, each a sorted int64 array of distinct indices below `examples`.

        A batch may be empty. Arguments are checked at the call, batches are drawn as they are asked
        for. `rng` is anything that `generator` takes; the default is seeded cryptographically. Only
        schemes whose unit is a user take a graph of examples and users as `examples`. The iterator
        works only in the process that made it, and cannot be copied or pickled.
        """
        count = positive_integer("examples", examples)
        return Batches(self._draw(count, self.check_steps(steps), generator(rng)))

    def describe(self) -> dict[str, object]:
        """The scheme's name and parameters, ready for JSON; what is None does not apply."""
        parameters = {field.name: getattr(self, field.name) for field in fields(self)}
        known = {name: value for name, value in parameters.items() if value is not None}
        return {"scheme": self.name, **known}


def participations_within(steps: int, *, gap: int, most: int | None) -> int:
    """How often one can take part in so many steps, `gap` apart, and `most` times at most."""
    fitting = -(-steps // gap)
    return fitting if most is None else min(fitting, most)


def batch_size_within(batch_size: float, *, examples: int) -> tuple[float, int]:
    """Both arguments checked: 0 < batch_size <= examples."""
    examples = positive_integer("examples", examples)
    number = positive("batch_size", batch_size)
    if not number <= examples:
        raise InvalidParameter("batch_size", f"in (0, examples={examples}]", batch_size)
    return number, examples

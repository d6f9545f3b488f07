"""Data sets that differ in several examples, or in one that is replaced: chains of profiles."""

from __future__ import annotations

from typing import Self

from hockeystick import _validate as check
from hockeystick.errors import InvalidParameter
from hockeystick.profile.constructors import ProfileConstructors
from hockeystick.profile.expressions import Expression
from hockeystick.profile.expressions.replaced import Chained

__all__ = ["NeighbourChains"]

# Every member of a group adds the atoms of its law.
LARGEST_GROUP = 100


class NeighbourChains(ProfileConstructors):
    """Chains of neighbouring data sets; see `Profile`."""

    def chain(self, other: Self) -> Self:
        """From P over some M to Q, where this profile bounds (P, M) and `other` bounds (M, Q).

        Trade-off functions are put into each other [DongRothSu22]. To replace one example is to
        remove it and to add another one: `run.chain(run.reverse())`.

        Parameters
        ----------
        other
            A profile with the same kind of bound.

        Returns
        -------
        Profile
            A pair that dominates (P, Q), whatever M is.

        Examples
        --------
        >>> import hockeystick as hs
        >>> step = hs.Profile.gaussian(noise_multiplier=2.0)
        >>> once = hs.Profile.gaussian(noise_multiplier=1.0)
        >>> abs(step.chain(step.reverse()).epsilon(1e-5) / once.epsilon(1e-5) - 1) < 2e-3
        True
        """
        self._require_same_bound(other)
        return self._like(Chained(self.expression, other.expression))

    def group(self, size: int) -> Self:
        """The privacy of a group of examples that are all removed; `reverse()`: all added.

        Parameters
        ----------
        size
            How many examples.

        Returns
        -------
        Profile
            The chain of `size` profiles.

        Examples
        --------
        >>> import hockeystick as hs
        >>> step = hs.Profile.gaussian(noise_multiplier=3.0)
        >>> alone = hs.Profile.gaussian(noise_multiplier=1.0)
        >>> abs(step.group(3).epsilon(1e-5) / alone.epsilon(1e-5) - 1) < 3e-3
        True
        """
        count = check.positive_integer("size", size, largest=LARGEST_GROUP)
        expression = self.expression
        for _ in range(count - 1):
            expression = Chained(self.expression, expression)
        return self._like(expression)

    def _like(self, expression: Expression) -> Self:
        return type(self)(expression, bound=self.bound)

    def _require_same_bound(self, other: Self) -> None:
        if self.bound != other.bound:
            raise InvalidParameter("other", f"a profile with bound={self.bound!r}", other.bound)

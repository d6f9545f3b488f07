"""What was compared, in families: one scheme with one factorization, whatever its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hockeystick.accounting.compare import Compared

__all__ = ["Family", "families", "family_of", "scheme_of"]


@dataclass(frozen=True)
class Family:
    """Candidates with the same scheme and factorization; the one with the least error is first."""

    label: str
    members: tuple[Compared, ...]

    @property
    def best(self) -> Compared:
        """The member with the least error."""
        return self.members[0]


def scheme_of(one: Compared) -> str:
    """The scheme by name; batches without chance are called fixed."""
    sampling = one.plan.sampling
    return "fixed batches" if sampling.participation_known else sampling.name


def family_of(one: Compared) -> str:
    """Scheme and strategy by name."""
    return f"{scheme_of(one)}, {one.plan.strategy.name}"


def families(compared: Sequence[Compared]) -> list[Family]:
    """All families in the order of their best members; `compared` is sorted by error."""
    found: dict[str, list[Compared]] = {}
    for one in compared:
        found.setdefault(family_of(one), []).append(one)
    return [Family(label, tuple(members)) for label, members in found.items()]

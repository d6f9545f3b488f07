"""The realised schedule, priced afterwards and shown beside the claim."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hockeystick.evaluation import Direction
from hockeystick.expressions.composed import compose
from hockeystick.fdp.schedules import Stretch
from hockeystick.filters.asked import as_number
from hockeystick.guarantee import Guarantee, directions_for
from hockeystick.ledger.store import Entry
from hockeystick.profile import DEFAULT_ACCURACY, Profile

__all__ = ["DIAGNOSTIC", "Audit", "Compared", "audit_of", "profile_of", "schedule_of"]

DIAGNOSTIC = (
    "diagnostic only: the steps were chosen while the run went on, so the price of the realised "
    "schedule is no guarantee"
)
DELTAS = (1e-4, 1e-5, 1e-6, 1e-8)
# More settings than this are rounded together, to the first of these relative widths that helps.
MOST_SETTINGS, WIDTHS = 64, (1e-3, 5e-3, 0.02, 0.1)


class Compared(NamedTuple):
    """One delta: what the filter claims, and what the realised schedule costs."""

    delta: float
    claimed: float
    realised: float


@dataclass(frozen=True, eq=False)
class Audit:
    """The price of what was permitted, beside the filter's claim; printing it shows both.

    `realised` is None if nothing ran. `unpriced` counts requests whose profile this process does
    not know.
    """

    claim: Guarantee
    schedule: tuple[Stretch, ...]
    realised: Profile | None
    unpriced: int
    directions: tuple[Direction, ...]
    diagnostic = DIAGNOSTIC

    def epsilon(self, delta: float) -> Compared:
        """Both epsilons at one delta."""
        return Compared(delta, self.claim.epsilon(delta), self._realised(delta))

    def exceeds_claim(self, delta: float) -> bool:
        """Whether the realised schedule alone already costs more than the filter claims."""
        compared = self.epsilon(delta)
        return compared.realised > compared.claimed * (1 + DEFAULT_ACCURACY)

    def __str__(self) -> str:
        steps = sum(stretch.steps for stretch in self.schedule)
        lines = [
            f"claim: {self.claim.method}, {self.claim.kind}; realised: {steps} sampled Gaussian "
            f"steps in {len(self.schedule)} settings, {' and '.join(self.directions)}",
            f"{'delta':>10} {'claimed':>10} {'realised':>10}",
        ]
        lines += [
            f"{row.delta:>10.0e} {row.claimed:>10.4f} {row.realised:>10.4f}"
            for row in map(self.epsilon, DELTAS)
        ]
        if self.unpriced:
            lines.append(f"{self.unpriced} requests with profiles unknown here are not priced")
        if self.claim.note is not None:
            lines.append(f"claim: {self.claim.note}")
        return "\n".join([*lines, DIAGNOSTIC])

    def _realised(self, delta: float) -> float:
        if self.realised is None:
            return 0.0
        return self.realised.epsilon_bounds(delta, directions=self.directions).upper


def audit_of(
    history: Iterable[Entry],
    *,
    claim: Guarantee,
    profiles: Mapping[int, Profile],
    direction: str,
) -> Audit:
    """The audit of everything reserved or committed."""
    counted = [entry for entry in history if entry.status != "cancelled"]
    schedule = schedule_of(counted)
    others = [entry for entry in counted if "profile" in entry.request]
    known = [
        profiles[entry.number].self_compose(int(as_number(entry.request["steps"])))
        for entry in others
        if entry.number in profiles
    ]
    return Audit(
        claim=claim,
        schedule=schedule,
        realised=profile_of(schedule, others=known),
        unpriced=len(others) - len(known),
        directions=directions_for(direction),
    )


def schedule_of(entries: Iterable[Entry]) -> tuple[Stretch, ...]:
    """The sampled Gaussian steps, equal ones counted together, with their effective noise."""
    counts: dict[tuple[float, float], int] = {}
    for entry in entries:
        request = entry.request
        if "profile" in request:
            continue
        contribution = as_number(request["sensitivity"]) * as_number(request["clip_scale"])
        key = (as_number(request["rate"]), as_number(request["noise_multiplier"]) / contribution)
        counts[key] = counts.get(key, 0) + int(as_number(request["steps"]))
    return tuple(Stretch(rate, noise, steps) for (rate, noise), steps in counts.items())


def profile_of(schedule: Sequence[Stretch], *, others: Sequence[Profile] = ()) -> Profile | None:
    """The composition of a schedule that is fixed in advance; None for an empty one."""
    parts = [
        (Profile.gaussian(noise_multiplier=noise).subsample(rate).expression, steps)
        for rate, noise, steps in _rounded_together(schedule)
    ]
    parts += [(profile.expression, 1) for profile in others]
    return Profile(compose(parts)) if parts else None


def _rounded_together(schedule: Sequence[Stretch]) -> Sequence[Stretch]:
    """Few settings: rates are rounded up and noise down, so that a bound stays one."""
    for width in WIDTHS:
        if len(schedule) <= MOST_SETTINGS:
            break
        counts: dict[tuple[float, float], int] = {}
        for rate, noise, steps in schedule:
            key = (
                min(math.exp(width * math.ceil(math.log(rate) / width)), 1.0),
                math.exp(width * math.floor(math.log(noise) / width)),
            )
            counts[key] = counts.get(key, 0) + steps
        schedule = [Stretch(*key, steps) for key, steps in counts.items()]
    return schedule

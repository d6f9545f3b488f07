"""The worst rules against the natural filters and against budgets of single examples."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import pytest

import hockeystick as hs
from hockeystick import filters
from hockeystick.errors import BudgetExceeded
from references.worst_rules import Pair, binned, both_directions, worst_height

RESPONSE: Pair = (np.array([0.5, 0.3, 0.2]), np.array([0.25, 0.35, 0.4]))


def squared(pair: Pair) -> Pair:
    """Two runs of a discrete mechanism."""
    p, q = (np.outer(one, one).ravel() for one in pair)
    return p, q


class Permitted:
    """The choices that a filter permits, asked once, and the mechanisms that they get."""

    def __init__(self, make: Callable[[], Any], ask: Callable[[Any, int], object]) -> None:
        self._make, self._ask = make, ask
        self.allows = cache(self._allows)

    def _allows(self, chosen: tuple[int, ...]) -> bool:
        f = self._make()
        try:
            for index in chosen:
                self._ask(f, index)
        except BudgetExceeded:
            return False
        return True

    def worst(self, pairs: list[Pair], *, epsilon: float, longest: int) -> float:
        """The height of the worst rule, in the worse direction."""
        return max(
            worst_height(
                lambda chosen, known=members: known[chosen[-1]] if self.allows(chosen) else None,
                choices=len(members),
                epsilon=epsilon,
                longest=longest,
            )
            for members in both_directions(pairs)
        )


def test_powers_of_one_mechanism_hold() -> None:
    """Runs one by one or two at once, chosen after every output: no rule exceeds the budget."""
    one = hs.Profile.from_pmfs(*RESPONSE)
    members = [one, one.self_compose(2)]
    budget = one.self_compose(5)
    game = Permitted(
        lambda: filters.NaturalFDP(family=members, budget=budget),
        lambda f, index: f.request(profile=members[index]),
    )
    for epsilon in (0.0, 0.6, 1.4):
        found = game.worst([RESPONSE, squared(RESPONSE)], epsilon=epsilon, longest=5)
        limit = budget.delta_bounds(epsilon, directions=("remove", "add")).upper
        assert 0.999 * limit < found <= limit * (1 + 1e-9)


def test_gaussian_families_hold() -> None:
    """Binned Gaussians of two strengths: no rule exceeds the budget's profile."""
    mus = (0.4, 0.8)
    family = [hs.Profile.gaussian(noise_multiplier=1 / mu) for mu in mus]
    budget = hs.Profile.gaussian(noise_multiplier=1.0)
    game = Permitted(
        lambda: filters.NaturalFDP(family=family, budget=budget),
        lambda f, index: f.request(profile=family[index]),
    )
    pairs = [binned(mu, (mu / 2 - 0.7, mu / 2 + 0.7)) for mu in mus]
    for epsilon in (0.0, 1.0):
        found = game.worst(pairs, epsilon=epsilon, longest=6)
        assert 0.5 * budget.delta(epsilon) < found <= budget.delta(epsilon)


@pytest.mark.parametrize(
    ("fixed", "kinds"),
    [
        ({"rate": 0.5}, [(0.5, 0.93), (0.5, 1.0), (0.5, 1.4)]),
        ({"noise_multiplier": 1.0}, [(0.55, 1.0), (0.5, 1.0), (0.3, 1.0)]),
    ],
)
def test_two_rounds_hold(fixed: dict[str, float], kinds: list[tuple[float, float]]) -> None:
    """Seen through twelve bins, the second step chosen by the first: within the budget, nearly it.

    The strongest kind is permitted after the weakest one, and not after itself.
    """
    step = hs.Profile.gaussian(noise_multiplier=1.0).subsample(0.5)
    budget = step.self_compose(2)
    cuts = np.linspace(-2.0, 4.0, 11)
    pairs = [binned(1 / noise, cuts / noise, rate) for rate, noise in kinds]

    def ask(f: Any, index: int) -> object:
        return f.request(rate=kinds[index][0], noise_multiplier=kinds[index][1])

    game = Permitted(lambda: filters.TwoRounds(**fixed, budget=budget), ask)
    assert not game.allows((0, 0))
    assert game.allows((2, 0))
    for epsilon in (0.3, 1.0):
        found = game.worst(pairs, epsilon=epsilon, longest=2)
        assert 0.5 * budget.delta(epsilon) < found <= budget.delta(epsilon)


MAKE = {
    "renyi": lambda **more: filters.Individual.renyi(epsilon=1.0, delta=0.1, order=4, **more),
    "gaussian": lambda **more: filters.Individual.gaussian(mu=1.0, **more),
}
# What is asked for: the rate, the noise multiplier, and the norm of the examples' contributions.
ASKED = {
    "renyi": [(0.5, 1.0, 0.7), (0.5, 2.0, 5.0), (1.0, 2.5, 1.0)],
    "gaussian": [(1.0, 1.5, 1.0), (1.0, 2.0, 0.6), (1.0, 3.0, 9.0)],
}
# All alike; so many that of those that take part half of the time one does.
EXAMPLES, CLIP, LONGEST = 50, 1.3, 4


@pytest.mark.parametrize("rule", MAKE)
@pytest.mark.parametrize(("name", "part"), [("", 1.0), ("shares", 0.4), ("participation", 0.5)])
def test_individual_budgets_hold(rule: str, name: str, part: float) -> None:
    """An adversary picks the contributions of an example, and the noise, after every output.

    They are clipped as the filter says, in the end to nothing. Seen through three bins, no rule
    exceeds the guarantee of the example's share; and a twice larger contribution would.
    """
    more = {name: np.full(EXAMPLES, part)} if name else {}
    share = part if name == "shares" else 1.0
    rarer = part if name == "participation" else 1.0

    def after(chosen: tuple[int, ...], longer: float = 1.0) -> Pair | None:
        if len(chosen) > LONGEST:
            return None
        f = MAKE[rule](examples=EXAMPLES, **more)
        for index in chosen:
            rate, noise, norm = ASKED[rule][index]
            step = f.step([norm] * EXAMPLES, rate=rate, noise_multiplier=noise, clip_norm=CLIP)
        # Zero for those that do not take part in this step; that is in the rate.
        mu = longer * float(step.factors.max()) * norm / (noise * CLIP)
        return binned(mu, (mu / 2 - 0.6, mu / 2 + 0.8), rate * rarer)

    guarantee = MAKE[rule](examples=1).guarantee(share=share)

    def nearest(longer: float) -> float:
        """The largest H of a rule over what is claimed, for two epsilons and both directions."""
        run = cache(partial(after, longer=longer))
        both = (run, lambda chosen: (run(chosen) or ())[::-1] or None)
        return max(
            worst_height(one, choices=3, epsilon=epsilon, longest=LONGEST)
            / guarantee.delta(epsilon)
            for one in both
            for epsilon in (0.5, 1.0)
        )

    assert nearest(1.0) <= 1
    assert nearest(8.0) > 1

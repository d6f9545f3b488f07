"""Every adaptive strategy against a residual filter that clips what was expected."""

from __future__ import annotations

import itertools
from functools import cache

import pytest

from hockeystick import filters
from hockeystick.errors import BudgetExceeded
from references.worst_rules import Pair, binned, worst_height

EPSILON, DELTA = 0.4, 0.7
# Requests: expected ones, one a little stronger than any class, a weak one, and two off the menu.
KINDS = ((0.5, 0.9), (0.5, 0.95), (0.5, 0.895), (0.5, 1.6), (0.3, 1.0), (0.6, 1.2))
ONE_MENU = filters.MenuDesign(menus=[[(0.5, 0.9, 1), (0.5, 1.0, 2), (0.5, 1.5, 1)]])
TWO_MENUS = filters.MenuDesign(menus=[[(0.5, 0.9, 1), (0.5, 1.0, 1)], [(0.5, 1.1, 3)]])
EXCHANGED = filters.MenuDesign(
    menus=[[(0.5, 0.9, 1), (0.5, 1.0, 2)], [(0.6, 1.2, 2)]], exchanges=2, slack=1e-3
)


class Game:
    """What the filter permits after each history of requests, and at which clip scale."""

    def __init__(self, design: filters.MenuDesign, *, cancelled: bool) -> None:
        self._design, self._cancelled = design, cancelled
        self.scales = cache(self._scales)

    def filter(self) -> filters.Residual:
        """A fresh one."""
        return filters.Residual(epsilon=EPSILON, delta=DELTA, design=self._design)

    def _scales(self, chosen: tuple[int, ...]) -> tuple[float, ...] | None:
        f, found = self.filter(), []
        try:
            for index in chosen:
                rate, noise = KINDS[index]
                asked = {"rate": rate, "noise_multiplier": noise}
                if self._cancelled:
                    # Reserve a strong step as well and give it back after this one.
                    try:
                        other = f.request(rate=0.5, noise_multiplier=0.9)
                    except BudgetExceeded:
                        other = None
                found.append(f.request(**asked).clip_scale)
                if self._cancelled and other is not None:
                    other.cancel()
        except BudgetExceeded:
            return None
        return tuple(found)

    def worst(self, used: tuple[int, ...], longest: int, *, clipped: bool, back: bool) -> float:
        """The height of the worst rule over these kinds, seen through seven bins.

        Without clipping it is that of a run that does not do what the permit says.
        """

        def after(chosen: tuple[int, ...]) -> Pair | None:
            scales = self.scales(tuple(used[one] for one in chosen))
            if scales is None:
                return None
            rate, noise = KINDS[used[chosen[-1]]]
            mu = (scales[-1] if clipped else 1.0) / noise
            cuts = [mu / 2 + at for at in (-1.5, -0.7, 0.0, 0.7, 1.5, 2.5)]
            p, q = binned(mu, cuts, rate)
            return (q, p) if back else (p, q)

        return worst_height(after, choices=len(used), epsilon=EPSILON, longest=longest)


@pytest.mark.parametrize("cancelled", [False, True])
@pytest.mark.parametrize(
    ("design", "used", "longest"),
    [(ONE_MENU, (0, 1, 2, 3), 4), (TWO_MENUS, (1, 2, 3, 4), 3), (EXCHANGED, (0, 2, 5), 8)],
)
def test_clipping_holds(
    design: filters.MenuDesign, used: tuple[int, ...], longest: int, cancelled: bool
) -> None:
    """No rule exceeds the claim, in either direction, whatever it asks for and gives back."""
    game = Game(design, cancelled=cancelled)
    claim = game.filter().guarantee().delta(EPSILON)
    found = [game.worst(used, longest, clipped=True, back=back) for back in (False, True)]
    assert 0.2 * claim < max(found) <= claim
    scales = [game.scales(chosen) for chosen in itertools.product(used, repeat=2)]
    assert cancelled or any(one and min(one) < 1 for one in scales)


def test_the_worst_rule_is_near_the_claim() -> None:
    """Within 5 %; and if nobody clipped the claim would not hold."""
    game = Game(ONE_MENU, cancelled=False)
    claim = game.filter().guarantee().delta(EPSILON)
    used = (0, 1, 2, 3)
    assert 0.95 * claim < game.worst(used, 4, clipped=True, back=False) <= claim
    assert game.worst(used, 4, clipped=False, back=False) > 1.1 * claim

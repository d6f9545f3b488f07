"""What tunes the search for designs and exchanges; benchmarks/residual_filter.py measures it."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["SETTINGS", "Settings"]


class Settings(NamedTuple):
    """All tunables of the search.

    Attributes
    ----------
    classes
        Into which all ranges together are cut, about.
    covered
        Share of the expected steps, the strongest, for which there are steps as strong.
    cuts, enough
        Shares of the classes, from the strongest on, that are left out where fewer than `enough`
        steps would fit otherwise.
    side_menus
        For steps that are not as expected, at most.
    side_share
        Of delta, for all of them together.
    exchange_share, exchanges
        Of delta, for all exchanges, and how many there may be.
    coarse_step
        Of the grid on which sizes are searched.
    waste
        A step is served by a class with at most this many times its variance, if it can be had.
    first_part
        Of the menu that the first exchange for steps of a kind converts; then twice as much.
    streak
        Equal requests after which every menu that is left may exchange for them.
    near
        Steps with this share of the variance of the strongest class are near it.
    efficiencies
        How much of the variance an exchange gives back, in the order in which it is tried.
    at_once
        Steps that an exchange for stronger ones gives, as a share of those that there are.
    part_step
        By how much the part grows where it does not pay for the steps.
    retry
        A failed exchange is tried again when the menu has lost this share of its variance.
    """

    classes: int = 40
    covered: float = 0.86
    cuts: tuple[float, ...] = (0.0, 0.05, 0.1, 0.2)
    enough: int = 20
    side_menus: int = 6
    side_share: float = 0.06
    exchange_share: float = 0.03
    exchanges: int = 24
    coarse_step: float = 0.02
    waste: float = 2.0
    first_part: float = 0.08
    streak: int = 4
    near: float = 0.6
    efficiencies: tuple[float, ...] = (0.92, 0.84, 0.75, 0.62, 0.48, 0.3)
    at_once: float = 0.015
    part_step: float = 1.4
    retry: float = 0.2


SETTINGS = Settings()

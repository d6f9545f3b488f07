"""What tunes the search for designs and exchanges; benchmarks/residual_filter.py measures it."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["SETTINGS", "Settings"]


class Settings(NamedTuple):
    """All tunables of the search.

    Attributes
    ----------
    classes
        Into which all ranges together are cut, at most about.
    estimated_classes
        The same where the number of steps is only estimated.
    separate
        Up to so many steps each is a class of its own.
    margin
        By how much the number of more steps may be underestimated.
    densities, most_of_them
        How dense the menu for a range is beside the steps that are allowed if fixed: the first that
        leaves this part of them.
    even_part
        Of the largest slope, added to that of all classes of a range.
    cuts, enough
        Parts of ranges, at the strongest end, that are left out where fewer than `enough` steps
        would fit otherwise.
    side_places, side_menus
        Where in a range there are menus for steps of one kind, from its strongest end on; how many
        of them there are, at most, the weakest kinds first.
    side_share, side_least
        Of delta, for each of them; dropped if it pays for a smaller part than the second of what
        all of delta pays for.
    exchange_share, exchanges
        Of delta, for all exchanges, and into how many units of slack it is divided.
    coarse_step
        Of the grid on which sizes are searched.
    waste
        A step is served by a class with at most this many times its variance, if it can be had.
    first_part
        Of the menu that the first exchange for steps of a kind converts; then twice as much.
    streak
        Equal requests after which every menu that is left may exchange for them.
    copies
        How many steps are tried in the place of one that is a little stronger.
    wholes
        Exchanges that compare whole menus, if nothing else takes slack.
    compared
        Classes of a menu in a comparison, beside those that are near the wanted steps.
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

    classes: int = 140
    estimated_classes: int = 40
    separate: int = 300
    margin: float = 1.002
    densities: tuple[float, ...] = (1.0, 0.98, 0.96, 0.93)
    most_of_them: float = 0.8
    even_part: float = 0.02
    cuts: tuple[float, ...] = (0.0, 0.03, 0.06, 0.1, 0.2)
    enough: int = 20
    side_places: tuple[float, ...] = (0.5, 0.75, 1.0)
    side_menus: int = 4
    side_share: float = 0.0025
    side_least: float = 0.3
    exchange_share: float = 0.005
    exchanges: int = 500
    coarse_step: float = 0.02
    waste: float = 2.0
    first_part: float = 0.08
    streak: int = 4
    copies: tuple[int, ...] = (2, 3, 4, 6, 9)
    wholes: int = 25
    compared: int = 30
    near: float = 0.6
    efficiencies: tuple[float, ...] = (0.92, 0.84, 0.75, 0.62, 0.48, 0.3)
    at_once: float = 0.015
    part_step: float = 1.4
    retry: float = 0.2


SETTINGS = Settings()

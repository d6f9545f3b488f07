"""Algorithms 3 and 4 of the b-min-sep paper, with sets and without any state.

Also the preparation of the data: dropping examples until no user has too many.
"""

from __future__ import annotations

from collections.abc import Sequence

Owners = Sequence[set[int]]


def neighbourhood(owners: Owners, example: int) -> set[int]:
    """N(e): the examples that share a user with e."""
    return {other for other, users in enumerate(owners) if users & owners[example]}


def user_batches(
    owners: Owners, drawn: Sequence[set[int]], *, separation: int, draws_exclude: bool
) -> list[set[int]]:
    """The batches for given draws S_i; what blocks are the draws (3) or the batches (4)."""
    batches: list[set[int]] = []
    for step, chosen in enumerate(drawn):
        blocking = drawn if draws_exclude else batches
        recent = blocking[max(0, step - separation + 1) : step]
        excluded = {f for past in recent for e in past for f in neighbourhood(owners, e)}
        batches.append(chosen - excluded)
    return batches


def fitting_examples(owners: Owners, order: Sequence[int], most: int) -> set[int]:
    """In the given order, those that leave every user with at most `most`."""
    kept: set[int] = set()
    for example in order:
        bigger = kept | {example}
        if all(sum(u in owners[e] for e in bigger) <= most for u in owners[example]):
            kept = bigger
    return kept

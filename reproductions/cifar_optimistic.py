"""Accuracy on CIFAR-10 with noise that is only estimated, beside verified noise: Figure 5.

As `cifar`, whose runs it reads where they are stored. Noise of balls-in-bins and b-min-sep is once
that of `cifar`, and once what exact accounting would give, as estimated by draws: no guarantee, so
these runs have no statement. Proven noise of the others is that of exact accounting. Learning rates
are those of `cifar`; two epsilons, three seeds. Takes some minutes after `cifar`; needs the extra
`train`.

Usage: python reproductions/cifar_optimistic.py [--data DIR] [--small] [--output DIR]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import cifar
import hockeystick as hs
from accuracy_table import Accuracies, Entry
from head_comparison import Comparison, Experiment, compare, panels, run_on_data
from head_mechanisms import Target
from linear_heads import Heads, Priced, plan_key

__all__ = ["FULL", "OPTIMISTIC", "draw", "main"]

FULL = replace(cifar.FULL, epsilons=(2.0, 8.0), seeds=3)
# Of the draws that estimate noise; they are repeatable.
SEED = 5
OPTIMISTIC = ", optimistic"


def estimated(verified: Priced, target: Target, heads: Heads) -> Priced:
    """The same plan with the noise that exact accounting would give, about."""
    plan = verified.plan

    def found() -> float:
        near = verified.noise_multiplier
        execution = hs.Execution(workers=1)
        noise = hs.estimate_noise(
            plan, **target._asdict(), start=near, seed=SEED, execution=execution
        )
        return noise.noise_multiplier

    key: dict[str, Any] = {"estimate": plan_key(plan), "target": target, "seed": SEED}
    noise = heads.store.get("noise", key, found)
    return Priced(plan, noise, "estimate", "estimate", heads.store.took("noise", key))


def both(heads: Heads, comparison: Comparison) -> tuple[Accuracies, list[dict[str, Any]]]:
    """All mechanisms, and those with draws once more; statements of the private ones."""
    found, stated = compare(heads, comparison)
    entries = list(found.entries)
    for entry in found.entries:
        if comparison.mechanisms[entry.scheme].by_draws:
            target = Target(entry.epsilon, comparison.delta)
            guess = estimated(entry.calibrated, target, heads)
            runs = heads.accuracies(guess, entry.learning_rate, range(comparison.seeds))
            accuracies = [one["accuracy"] for one in runs]
            name = entry.scheme + OPTIMISTIC
            entries.append(Entry(name, entry.epsilon, guess, entry.learning_rate, accuracies))
    return replace(found, entries=entries), stated


def draw(folder: Path | None, small: bool) -> Experiment:
    """All epsilons; in small mode one, for 20 steps."""
    heads, comparison = cifar.prepared(folder, small=small, full=FULL)
    found, stated = both(heads, comparison)
    title = "CIFAR-10, linear heads on fixed features, optimistic noise is no guarantee"
    return Experiment(panels("cifar_optimistic", title, found, heads, comparison), stated)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; with --output also write picture, numbers and statements."""
    return run_on_data(draw, __doc__ or "", arguments)


if __name__ == "__main__":
    sys.exit(main())

"""What neighbours reveal, by enumeration of all draws of small graphs, from the definition."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.analyses.known_participation.counts import count_law
from hockeystick.analyses.renyi.counted import counted_lower
from hypothesis_strategies import thinned

USER = 0


def graphs(rng, number):
    """Stars, paths, random graphs and duplicates: for each example the set of its users."""
    for kind in itertools.islice(itertools.cycle(range(4)), number):
        if kind == 0:
            n = int(rng.integers(1, 4))
            yield [set(range(n + 1)), *({i} for i in range(1, n + 1))]
        elif kind == 1:
            order = rng.permutation(5)
            yield [{int(order[i]), int(order[i + 1])} for i in range(int(rng.integers(2, 5)))]
        elif kind == 2:
            sizes = rng.integers(1, 4, size=4)
            yield [set(rng.choice(4, size=size, replace=False).tolist()) for size in sizes]
        else:
            pair = [set(rng.choice(3, size=2, replace=False).tolist()) for _ in range(2)]
            yield [pair[int(rng.integers(2))] for _ in range(4)]


class Runs:
    """All draws of a graph under Algorithm 3: who joins, and which of the user's are counted."""

    def __init__(self, owners, rate, separation, steps):
        index = np.arange(2 ** (len(owners) * steps))
        self.drawn = np.array(
            [
                [index >> (t * len(owners) + e) & 1 == 1 for e in range(len(owners))]
                for t in range(steps)
            ]
        )
        times = self.drawn.sum(axis=(0, 1))
        self.chances = rate**times * (1 - rate) ** (self.drawn[:, :, 0].size - times)
        self.own = [e for e, who in enumerate(owners) if USER in who]
        others = [e for e in range(len(owners)) if e not in self.own]
        self.near = [e for e in others if any(owners[e] & owners[f] for f in self.own)]
        users = set().union(*owners)
        hit = {
            (t, u): np.any([self.drawn[t, e] for e, who in enumerate(owners) if u in who], axis=0)
            for t in range(steps)
            for u in users
        }
        joins = self.drawn.copy()
        for t, (e, who) in itertools.product(range(steps), enumerate(owners)):
            for s, u in itertools.product(range(max(0, t - separation + 1), t), who):
                joins[t, e] &= ~hit[s, u]
        self.copies = joins[:, self.own].sum(axis=1)
        self.seen = np.zeros(index.size, dtype=int)
        for t, e in itertools.product(range(steps), others):
            self.seen = 2 * self.seen + joins[t, e]
        self.counted = np.zeros(index.size, dtype=int)
        last = np.full(index.size, -separation)
        for t in range(steps):
            later = self.drawn[t + 1 : t + separation, self.near].any(axis=(0, 1))
            now = later & hit.get((t, USER), False) & (t - last >= separation)
            last = np.where(now, t, last)
            self.counted += now * self.drawn[t, self.own].sum(axis=0) ** 2


def scheme(owners, rate, separation):
    """As a plan would have it, with the true number of neighbours."""
    runs = Runs(owners, rate, separation, 1)
    return hs.UserMinSep(
        rate=rate,
        separation=separation,
        examples_per_user=max(1, len(runs.own)),
        shared_examples=True,
        neighbours=max(1, len(runs.near)),
    )


@pytest.mark.parametrize("seed", thinned(range(8), normal=2))
def test_less_is_revealed_than_is_charged(seed):
    """The law of the counted copies, exactly, at every rate."""
    rng = np.random.default_rng(seed)
    for owners in graphs(rng, 24):
        separation, steps = int(rng.integers(2, 5)), int(rng.integers(2, 4))
        rate = float(rng.choice([0.03, 0.2, 0.5, 0.9]))
        runs = Runs(owners, rate, separation, steps)
        if not runs.own or not runs.near:
            continue
        plan = hs.Plan(sampling=scheme(owners, rate, separation), steps=steps)
        charged = count_law(plan.sampling.sparse_sharing(plan).revealed, operations=1e7)
        for least in range(1, int(runs.counted.max()) + 1):
            truth = runs.chances[runs.counted >= least].sum()
            assert truth <= charged.weights[charged.values >= least].sum() + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("seed", thinned(range(10), normal=1))
def test_the_worst_run_is_covered(seed):
    """Others' batches are seen as they are; two steps, by integration over the plane."""
    rng = np.random.default_rng(seed)
    grid = np.linspace(-7, 12, 191)
    x, y = (one.ravel() for one in np.meshgrid(grid, grid))
    mass = np.exp(-(x**2 + y**2) / 2) * (grid[1] - grid[0]) ** 2 / (2 * math.pi)
    for owners in graphs(rng, 4):
        rate, noise = float(rng.choice([0.05, 0.3, 0.9])), float(rng.choice([0.8, 1.3]))
        runs = Runs(owners, rate, 2, 2)
        if not runs.own or not runs.near:
            continue
        strategy = hs.strategies.from_coefficients([1.0, float(rng.random())], 2)
        matrix = strategy.to_matrix() / noise
        plan = hs.Plan(sampling=scheme(owners, rate, 2), steps=2, strategy=strategy)
        bound = hs.account(plan, noise_multiplier=noise, method="few-neighbours")
        epsilon, remove, add = float(rng.choice([0.3, 1.5])), 0.0, 0.0
        for seen in np.unique(runs.seen):
            here = runs.seen == seen
            ratio, total = np.zeros(x.size), runs.chances[here].sum()
            for copies in {tuple(one) for one in runs.copies[:, here].T.tolist()}:
                among = here & (copies == runs.copies.T).all(axis=1)
                a, b = matrix @ np.array(copies, dtype=float)
                factor = np.exp(a * x + b * y - (a * a + b * b) / 2)
                ratio += runs.chances[among].sum() / total * factor
            remove += total * (np.maximum(ratio - math.exp(epsilon), 0) @ mass)
            add += total * (np.maximum(1 - math.exp(epsilon) * ratio, 0) @ mass)
        assert max(remove, add) <= bound.delta(epsilon) * 1.003


@pytest.mark.parametrize("seed", thinned(range(6), normal=1))
def test_counted_lower_bounds_are_below(seed):
    """b-min-sep over two steps by enumeration and integration; equal for a single step."""
    rng = np.random.default_rng(seed)
    grid = np.linspace(-8, 14, 221)
    x, y = (one.ravel() for one in np.meshgrid(grid, grid))
    mass = np.exp(-(x**2 + y**2) / 2) * (grid[1] - grid[0]) ** 2 / (2 * math.pi)
    for _ in range(12):
        rate, noise = float(rng.choice([0.02, 0.3, 0.9])), float(rng.choice([0.7, 1.0, 2.0]))
        separation, warm = int(rng.integers(1, 4)), bool(rng.integers(2))
        matrix = np.tril(rng.uniform(0.1, 1, (2, 2)))
        if separation == 1:
            matrix[1, 0] = 0.0
        sampling = hs.MinSep(rate=rate, separation=separation, warm_start=warm)
        plan = hs.Plan(sampling=sampling, steps=2, strategy=hs.strategies.from_matrix(matrix))
        starts = np.array([1.0] + [rate if warm else 0.0] * (separation - 1))
        starts /= starts.sum()
        first = starts[0] * rate
        second = (starts[0] * (1 - rate) + (starts[1] if separation > 1 else 0.0)) * rate
        both = first * rate if separation == 1 else 0.0
        law = {(1, 0): first - both, (0, 1): second, (1, 1): both}
        ratio = np.full(x.size, 1 - sum(law.values()))
        for copies, chance in law.items():
            a, b = matrix @ np.array(copies, dtype=float) / noise
            ratio += chance * np.exp(a * x + b * y - (a * a + b * b) / 2)
        lower = counted_lower(plan, noise)
        for epsilon in (0.0, 0.5, 2.0):
            truth = float(np.maximum(ratio - math.exp(epsilon), 0) @ mass)
            assert lower.delta(epsilon) <= truth * 1.002
            assert lower.epsilon(truth) <= epsilon + 2e-3 * (1 + epsilon)

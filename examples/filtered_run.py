"""Phases with different noise that are governed by one filter: each begins when the last one ends.

Usage: python examples/filtered_run.py [--small] [--output FOLDER]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import hockeystick as hs

DELTA = 1e-5


def main(*, small: bool, output: Path) -> None:
    """Much noise first, less later; the filter stops the run when the budget is spent."""
    examples = 500 if small else 5000
    rng = np.random.default_rng(0)
    points = rng.normal(size=(examples, 4))
    targets = points @ np.array([2.0, -1.0, 0.5, 1.0])
    budget = hs.filters.Renyi(
        epsilon=1.5 if small else 2.0,
        delta=DELTA,
        expected=[(0.05, 4.0, 20), (0.05, 2.0, 20), (0.05, 1.0, 20)],
    )
    model = hs.training.LinearRegression(features=4)
    spent, errors, noises = [], [], []
    for noise in (4.0, 2.0, 1.0):
        # Steps, noise and even whether there is another phase may depend on what was seen.
        steps = 20 if noise > 1.0 else 10_000
        run = hs.training.PrivateRun(
            hs.Plan(sampling=hs.Poisson(rate=0.05), steps=steps),
            examples=examples,
            dimension=model.parameters.size,
            noise_multiplier=noise,
            max_grad_norm=3.0,
            filter=budget,
        )
        for _ in range(steps):
            try:
                gradient = run.step(lambda b: model.example_gradients(points[b], targets[b]))
            except hs.errors.BudgetExceeded:
                break
            model.parameters -= 0.3 * gradient
            spent.append(budget.spent / (budget.spent + budget.remaining))
            errors.append(float(np.mean(model.losses(points, targets))))
            noises.append(noise)

    # One filter governed all phases: the statement of any of them is about the whole budget.
    stated = run.statement(delta=DELTA, parameters=model.parameters)
    stated.save(output / "filtered_run.json")
    print(stated)
    figure, (above, below) = plt.subplots(2, figsize=(5, 4), sharex=True)
    above.semilogy(errors)
    above.set_ylabel("loss")
    above.set_title(f"ε = {stated.epsilon:.3g}, δ = {DELTA:g}: {len(spent)} steps")
    below.plot(spent, label="share of the budget that is spent")
    below.plot(np.array(noises) / 4.0, label="noise multiplier / 4")
    below.set_xlabel("step")
    below.legend(loc="center left")
    figure.tight_layout()
    figure.savefig(output / "filtered_run.png", dpi=120)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--output", type=Path, default=Path())
    main(**vars(parser.parse_args()))

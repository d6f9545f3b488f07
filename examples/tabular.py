"""Logistic regression on a table, with scikit-learn's interface: accuracy against epsilon.

Usage: python examples/tabular.py [--small] [--output FOLDER]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import hockeystick as hs
from hockeystick.training import PrivateLogisticRegression

DELTA = 1e-6
# Upper ends of the features' ranges, from the description of the measurements and not from the
# table: statistics of the data would need a share of the budget.
RANGES = np.array([30, 40, 200, 2500, 0.2, 0.4, 0.5, 0.2, 0.3, 0.1] * 3)


def main(*, small: bool, output: Path) -> None:
    """One model for each epsilon; each is a run of its own on the same data."""
    points, labels = load_breast_cancer(return_X_y=True)
    data = train_test_split(points, labels, test_size=0.3, random_state=0)
    scale = FunctionTransformer(lambda x: np.clip(x / RANGES, 0, 2) - 0.5)
    budgets = [1.0, 4.0] if small else [0.25, 0.5, 1.0, 2.0, 4.0, 8.0]
    plan = hs.Plan(sampling=hs.Poisson(rate=0.25), steps=20 if small else 200)
    scores, records = [], []
    for epsilon in budgets:
        model = PrivateLogisticRegression(
            epsilon=epsilon, delta=DELTA, plan=plan, classes=(0, 1), learning_rate=0.5
        )
        fitted = make_pipeline(scale, model).fit(data[0], data[2])
        scores.append(fitted.score(data[1], data[3]))
        records.append(fitted[-1].record_)

    # All runs used the same people's data: together they are less private than each of them.
    joint = hs.training.joint_statement(records, delta=1e-5)
    joint.save(output / "tabular.json")
    print(joint)
    plt.figure(figsize=(5, 3))
    plt.semilogx(budgets, scores, marker=".")
    plt.minorticks_off()
    plt.xticks(budgets, [f"{epsilon:g}" for epsilon in budgets])
    plt.xlabel(f"ε of one run (δ = {DELTA:g})")
    plt.ylabel("accuracy on other rows")
    plt.title(f"all runs together: ε = {joint.epsilon:.3g}, δ = {joint.delta:g}")
    plt.tight_layout()
    plt.savefig(output / "tabular.png", dpi=120)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--output", type=Path, default=Path())
    main(**vars(parser.parse_args()))

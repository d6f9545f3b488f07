"""Handwritten digits, trained privately: accuracy and MSE for four ways to draw batches.

scikit-learn's 1,797 digits: 1,200 to train on, 237 to choose the learning rate on, 360 for tests.
A network with one hidden layer, 240 steps with batches of 75, delta = 1e-5. DP-SGD is Poisson
sampling with independent noise; the others have a BandMF strategy, with the number of bands that
has the smallest MSE. All noise is proven to be enough. The choice of the learning rate is not
accounted, for any of them. Takes about ten minutes; needs the extra `train`.

Usage: python reproductions/digits.py [--small] [--output DIR]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import TensorDataset

from curves import Panels, run
from private_training import Recipe
from scheme_comparison import Effort, Parts, Setting, compare, panels

__all__ = ["EPSILONS", "draw", "load", "main"]

EXAMPLES, VALIDATION, STEPS_PER_EPOCH, DELTA = 1_200, 237, 16, 1e-5
EPSILONS = (1.0, 4.0, 8.0)
SPLIT_SEED = 20_260
FULL = Effort(
    epsilons=EPSILONS,
    bands=(2, 4, 8),
    # b-min-sep with 16 bands would be balls-in-bins, and cyclic Poisson batches that are known.
    bands_of_bins=(8, 16),
    learning_rates=(0.25, 0.5, 1.0, 2.0, 4.0),
    tuning_seeds=3,
    seeds=20,
    accuracy=0.01,
    budget=3e7,
)
SMALL = Effort((4.0,), (2,), (2,), (1.0,), tuning_seeds=0, seeds=2, accuracy=0.1, budget=1e5)


def load() -> Parts:
    """The digits, split always alike, with values in [0, 1]."""
    points, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(SPLIT_SEED).permutation(len(labels))
    points = torch.tensor(points[order] / 16, dtype=torch.float32)
    labels = torch.tensor(labels[order])
    ends = (EXAMPLES, EXAMPLES + VALIDATION)
    parts = zip(points.tensor_split(ends), labels.tensor_split(ends), strict=True)
    return Parts(*(TensorDataset(some, their) for some, their in parts))


def network() -> nn.Module:
    """2,410 parameters."""
    return nn.Sequential(nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 10))


def draw(small: bool) -> Panels:
    """Fifteen epochs; in small mode two, at one epsilon and with two seeds."""
    torch.set_num_threads(1)  # faster for so small a network, and always the same sums
    effort, epochs = (SMALL, 2) if small else (FULL, 15)
    setting = Setting(EXAMPLES, STEPS_PER_EPOCH, epochs * STEPS_PER_EPOCH, DELTA)
    found = compare(setting, Recipe(network, clip=1.0), load(), effort)
    return panels("digits", "Digits", setting, found)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; with --output also write picture and numbers."""
    return run(draw, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())

"""Accuracy on Fashion-MNIST against epsilon, for linear heads on fixed features.

As `cifar`, with 60,000 grey images of 28 x 28 of clothes, batches of 600 and 500 steps: five
epochs. The images come from `hockeystick data fashion`. Takes about ten minutes; needs the extra
`train`.

Usage: python reproductions/fashion.py [--data DIR] [--small] [--output DIR]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from cifar import SMALL, SMALL_SETTINGS, Parts, few, heads_for, made_up_parts
from cifar_files import Images
from head_comparison import Comparison, Experiment, experiment, run_on_data
from head_mechanisms import Size
from hockeystick.datasets import read_arrays
from image_features import FeatureSettings
from linear_heads import Heads

__all__ = ["draw", "load", "main", "prepare"]

FOLDER = Path("data/fashion")
FULL = Comparison(
    size=Size(examples=60_000, batch_size=600, steps=500),
    delta=1e-5,
    epsilons=(1.0, 8.0),
    learning_rates=(1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0),
    tuning_seeds=1,
    seeds=10,
)
GREY = {"size": 28, "channels": 1}
SETTINGS = FeatureSettings(filters=96, components=384, leaves=2_000, **GREY)


def load(folder: Path) -> Parts:
    """All images of the folder, with one channel."""
    names = [f"{part}_{what}" for part in ("train", "test") for what in ("images", "labels")]
    pixels, labels, test_pixels, test_labels = read_arrays(folder, tuple(names)).values()
    return Parts(Images(pixels[:, None], labels), Images(test_pixels[:, None], test_labels))


def prepare(folder: Path | None, small: bool) -> tuple[Heads, Comparison]:
    """The heads, and what is compared; in small mode at one epsilon, for 20 steps."""
    if small:
        parts = made_up_parts(**GREY) if folder is None else few(load(folder))
        settings = replace(SMALL_SETTINGS, **GREY)
        return heads_for("fashion", parts, settings, SMALL, None), SMALL
    folder = FOLDER if folder is None else folder
    return heads_for("fashion", load(folder), SETTINGS, FULL, folder / "runs"), FULL


def draw(folder: Path | None, small: bool) -> Experiment:
    """All mechanisms at all epsilons."""
    title = "Fashion-MNIST, linear heads on fixed features"
    return experiment("fashion", title, *prepare(folder, small))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; with --output also write picture, numbers and statements."""
    return run_on_data(draw, __doc__ or "", arguments)


if __name__ == "__main__":
    sys.exit(main())

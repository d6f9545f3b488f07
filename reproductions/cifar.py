"""Accuracy on CIFAR-10 against epsilon, for linear heads on fixed features: Figure 3 on two cores.

50,000 images to train on, batches of 500, 2,000 steps, delta = 1e-5, momentum 0.95 and learning
rates that fall to a twentieth between the first and the last quarter, as in the b-min-sep paper;
in the place of a VGG network a linear head on features that no image of CIFAR-10 has a part in
(`image_features`). Bands are chosen by the error of prefix sums, noise is proven or verified,
learning rates are chosen on 5,000 training images that are held out, with other seeds, and the
choice is not accounted. Every run has its statement. The images come from `hockeystick data
cifar10` or a copy of `cifar-10-batches-py`; what is found is kept in the folder `runs` beside
them, and an interrupted experiment continues there. Takes about an hour; needs the extra `train`.

Usage: python reproductions/cifar.py [--data DIR] [--small] [--output DIR]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import NamedTuple

from cifar_files import TEST, TRAIN, Images, read_images
from head_comparison import Comparison, Experiment, experiment, run_on_data
from head_mechanisms import Size
from image_features import FeatureSettings, features_of, made_up_data
from linear_heads import Data, Heads, Recipe, split
from result_store import Store

__all__ = ["FEW", "Parts", "draw", "few", "heads_for", "load", "made_up_parts", "main", "prepared"]

FOLDER = Path("data/cifar10")
FULL = Comparison(
    size=Size(examples=50_000, batch_size=500, steps=2_000),
    delta=1e-5,
    epsilons=(0.5, 1.0, 2.0, 4.0, 8.0),
    learning_rates=(0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0),
    tuning_seeds=1,
    seeds=20,
)
SETTINGS = FeatureSettings()
# Small mode: a few made-up images, or a few of those in the folder.
FEW = 200
SMALL_SETTINGS = replace(SETTINGS, filters=8, components=16, leaves=60, patches=2_000)
SMALL = Comparison(Size(FEW, 20, 20), 1e-3, (4.0,), (2.0,), 1, 2, draws=2_000)


class Parts(NamedTuple):
    """Images and classes, to train on and to test on."""

    train: Images
    test: Images


def draw(folder: Path | None, small: bool) -> Experiment:
    """All mechanisms at all epsilons; in small mode at one, for 20 steps."""
    title = "CIFAR-10, linear heads on fixed features"
    return experiment("cifar", title, *prepared(folder, small=small, full=FULL))


def prepared(folder: Path | None, *, small: bool, full: Comparison) -> tuple[Heads, Comparison]:
    """Heads for the images, and what is compared: in small mode little of it."""
    if small:
        parts = made_up_parts(channels=3) if folder is None else few(load(folder))
        return heads_for("cifar", parts, SMALL_SETTINGS, SMALL, None), SMALL
    folder = FOLDER if folder is None else folder
    return heads_for("cifar", load(folder), SETTINGS, full, folder / "runs"), full


def load(folder: Path) -> Parts:
    """All images of the folder."""
    return Parts(read_images(folder, TRAIN), read_images(folder, TEST))


def few(parts: Parts) -> Parts:
    """The first images of each part."""
    return Parts(*(Images(*(array[:FEW] for array in part)) for part in parts))


def made_up_parts(*, channels: int, size: int = 32) -> Parts:
    """Images that need no folder."""
    pixels, labels = made_up_data(2 * FEW, size=size, channels=channels, seed=1)
    return Parts(Images(pixels[::2], labels[::2]), Images(pixels[1::2], labels[1::2]))


def heads_for(
    name: str,
    parts: Parts,
    settings: FeatureSettings,
    comparison: Comparison,
    folder: Path | None,
) -> Heads:
    """Heads on features of the images; what is found is kept in the folder."""
    store = Store(folder)
    train, test = (features_of(settings, part.pixels, store) for part in parts)
    data = Data(train, parts.train.labels, test, parts.test.labels)
    about = {"name": name, "features": asdict(settings)}
    tuning = split(data, len(data.labels) // 10)
    return Heads(data, tuning, Recipe(), comparison.delta, store, about)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; with --output also write picture, numbers and statements."""
    return run_on_data(draw, __doc__ or "", arguments)


if __name__ == "__main__":
    sys.exit(main())

"""Accuracy on Fashion-MNIST against epsilon: the experiment of `cifar` on 60,000 grey images.

The same steps, mechanisms and numbers of bands, at two epsilons and with five seeds; features are
made for images of 28 x 28 in grey, with no other change: nothing was chosen for this data set but
the learning rates, on 6,000 training images that are held out. The images come from `hockeystick
data fashion`. Takes about six minutes of processor time; needs the extra `train`.

Usage: python reproductions/fashion.py [--data DIR] [--small] [--output DIR]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import cifar
from cifar_files import Images
from head_comparison import Experiment, experiment, run_on_data
from head_mechanisms import Size
from hockeystick.datasets import read_arrays

__all__ = ["FULL", "draw", "load", "main"]

FOLDER = Path("data/fashion")
GREY = {"size": 28, "channels": 1}
FULL = replace(
    cifar.FULL,
    # The rate of `cifar`: its noise and bands fit.
    size=Size(examples=60_000, batch_size=600, steps=2_000),
    epsilons=(1.0, 8.0),
    seeds=5,
)


def load(folder: Path) -> cifar.Parts:
    """All images, each with its single colour."""
    parts = []
    for name in cifar.Parts._fields:
        images, labels = read_arrays(folder, (f"{name}_images", f"{name}_labels")).values()
        parts.append(Images(images[:, None], labels))
    return cifar.Parts(*parts)


def draw(folder: Path | None, small: bool) -> Experiment:
    """All mechanisms at all epsilons; in small mode at one, for 20 steps."""
    title = "Fashion-MNIST, linear heads on fixed features"
    if small:
        parts = cifar.made_up_parts(**GREY) if folder is None else cifar.few(load(folder))
        settings = replace(cifar.SMALL_SETTINGS, **GREY)
        heads = cifar.heads_for("fashion", parts, settings, cifar.SMALL, None)
        return experiment("fashion", title, heads, cifar.SMALL)
    folder = FOLDER if folder is None else folder
    settings = replace(cifar.SETTINGS, **GREY)
    heads = cifar.heads_for("fashion", load(folder), settings, FULL, folder / "runs")
    return experiment("fashion", title, heads, FULL)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; with --output also write picture, numbers and statements."""
    return run_on_data(draw, __doc__ or "", arguments)


if __name__ == "__main__":
    sys.exit(main())

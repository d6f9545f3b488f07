"""The CIFAR-10 experiment of the b-min-sep paper: test accuracy with a VGG network, 2,000 steps.

The images are read from a folder: one that `hockeystick data cifar10` has written, or a copy of
`cifar-10-batches-py`. As in the paper: 2,000 steps with batches of 500, delta = 1e-5, momentum
0.95, learning rates that fall to a twentieth between the first and the last quarter, noise of
balls-in-bins and b-min-sep verified by draws. Otherwise than in the paper 45,000 images train and
5,000 choose the learning rate, and the network is one of many that are called VGG. A single run
takes hours on a CPU, and there are 210: this is for those who have a GPU, or for one --epsilon and
few --seeds. `cifar` is the experiment for two cores.

Run it as: python cifar_vgg.py --data DIR [--epsilon E ...] [--seeds N] [--small] [--output DIR]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import TensorDataset

from cifar_files import TEST, TRAIN, Images, read_images
from curves import Panels
from hockeystick.errors import InvalidParameter
from private_training import Recipe
from scheme_comparison import Effort, Parts, Setting, compare, panels

__all__ = ["draw", "load", "run", "slower", "vgg"]

STEPS_PER_EPOCH, STEPS, DELTA = 90, 2_000, 1e-5
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
CHANNELS, GROUPS = (32, 64, 128), 8
FULL = Effort(
    epsilons=EPSILONS,
    bands=(2, 4, 8, 16, 32, 64),
    bands_of_bins=(16, 32, 44),
    learning_rates=(0.01, 0.03, 0.1, 0.3, 1.0),
    tuning_seeds=1,
    seeds=5,
    accuracy=0.01,
    budget=3e7,
    verified=True,
)
SMALL = Effort((4.0,), (2,), (2,), (0.03,), tuning_seeds=0, seeds=2, accuracy=0.1, budget=1e5)


def load(folder: Path) -> Parts:
    """Nine tenths of the training images, the last tenth, and the test, with colours in [-1, 1]."""
    train, test = (read_images(folder, names) for names in (TRAIN, TEST))
    cut = len(train.labels) * 9 // 10
    parts = (Images(*(a[:cut] for a in train)), Images(*(a[cut:] for a in train)), test)
    return Parts(*(_tensors(part) for part in parts))


def vgg() -> nn.Module:
    """Six convolutions in three blocks, normalised in groups; 551,466 parameters.

    Normalisation over a batch would mix the examples, and none would have a gradient of its own.
    """
    layers: list[nn.Module] = []
    before = 3
    for channels in CHANNELS:
        for inputs in (before, channels):
            layers += [
                nn.Conv2d(inputs, channels, 3, padding=1),
                nn.GroupNorm(GROUPS, channels),
                nn.ReLU(),
            ]
        layers.append(nn.MaxPool2d(2))
        before = channels
    layers += [nn.Flatten(), nn.Linear(before * 16, 128), nn.ReLU(), nn.Linear(128, 10)]
    return nn.Sequential(*layers)


def slower(step: int, steps: int = STEPS) -> float:
    """The learning rate over its first: falls from 1 to 1/20 between n/4 and 3n/4."""
    way = min(max((step - steps / 4) / (steps / 2), 0.0), 1.0)
    return 1 - 0.95 * way


def draw(folder: Path, *, small: bool, effort: Effort = FULL) -> Panels:
    """Twenty epochs; in small mode one of four steps, with whatever images there are."""
    if small:
        torch.set_num_threads(1)
    parts = load(folder)
    per_epoch, steps = (4, 4) if small else (STEPS_PER_EPOCH, STEPS)
    setting = Setting(len(parts.train), per_epoch, steps, DELTA)
    recipe = Recipe(
        vgg,
        clip=1.0,
        momentum=0.95,
        schedule=lambda step: slower(step, steps),
        physical_batch_size=128,
    )
    found = compare(setting, recipe, parts, SMALL if small else effort)
    return panels("cifar_vgg", "CIFAR-10, VGG", setting, found)


def _tensors(images: Images) -> TensorDataset:
    points = torch.from_numpy(images.pixels.copy()).float().div_(127.5).sub_(1)
    return TensorDataset(points, torch.from_numpy(images.labels))


def run(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; with --output also write picture and numbers."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--data", type=Path, metavar="DIR", help="a folder with CIFAR-10")
    parser.add_argument("--epsilon", type=float, nargs="+", default=EPSILONS, metavar="E")
    parser.add_argument("--seeds", type=int, default=FULL.seeds, metavar="N")
    parser.add_argument("--small", action="store_true", help="few steps")
    parser.add_argument("--output", type=Path, metavar="DIR", help="where to write PNG and JSON")
    options = parser.parse_args(arguments)
    if options.data is None:
        raise InvalidParameter("data", "a folder with CIFAR-10: `hockeystick data cifar10`", None)
    if not options.seeds >= 2:
        raise InvalidParameter("seeds", "an integer >= 2, for intervals", options.seeds)
    effort = FULL._replace(epsilons=options.epsilon, seeds=options.seeds)
    drawing = draw(options.data, small=options.small, effort=effort)
    drawing.print()
    if options.output is not None:
        drawing.write(options.output)
    return 0


if __name__ == "__main__":
    sys.exit(run())

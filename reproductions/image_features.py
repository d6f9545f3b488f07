"""Features of images that no image of the data has a part in: filters from images that are made up.

Dead leaves are opaque shapes of random colour that cover each other, with sizes as scale-free as
those in photographs; patches of them look much like patches of photographs [Baradad21]. The filters
are whitened patches of dead leaves, in the place of patches of the data. An image
gives the square roots of how much each filter, and its negative, responds beyond a threshold in
each quarter of the image, and these numbers are projected to the principal components that they
have on dead leaves. So everything is fixed before any image of a data set is read, and the features
of an image depend on this image alone: a private run on them is private for the images.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from result_store import Store

__all__ = ["Extractor", "FeatureSettings", "dead_leaves", "features_of", "made_up_data"]

Array = NDArray[np.float32]

# Red, green and blue of a surface vary together: about the correlations in photographs.
COLOURS = np.array([[1.0, 0.93, 0.85], [0.93, 1.0, 0.95], [0.85, 0.95, 1.0]])
# Radii of leaves in pixels, with a density proportional to radius^-3 between them.
SMALLEST, LARGEST = 2.0, 24.0
# Added to standard deviations, so that flat images and patches are not blown up.
IMAGE_FLOOR, PATCH_FLOOR = 0.05, 0.5
IMAGES_AT_ONCE = 250


@dataclass(frozen=True)
class FeatureSettings:
    """How many features of what kind; they were compared on training images of CIFAR-10."""

    size: int = 32
    channels: int = 3
    filters: int = 192
    patch: int = 6
    # The smallest eigenvalue that whitening sees, over the largest.
    whitening: float = 0.003
    # Responses count beyond so many standard deviations.
    threshold: float = 1.0
    components: int = 512
    # Components are divided by their variance to this power: 0 leaves them, 1/2 makes them equal.
    flattening: float = 0.4
    # The constant feature, beside the others, which have length one.
    intercept: float = 0.3
    leaves: int = 4_000
    patches: int = 100_000
    seed: int = 30


def dead_leaves(
    count: int, *, size: int, channels: int, rng: np.random.Generator, shapes: int = 60
) -> Array:
    """Images x channels x size x size with values in [0, 1]: ellipses and rectangles, shaded."""
    root = np.linalg.cholesky(COLOURS[:channels, :channels])
    line = np.arange(size, dtype=np.float32)
    images = np.zeros((count, channels, size, size), np.float32)
    for _ in range(shapes):
        quantile = rng.random(count)
        radius = ((1 - quantile) / SMALLEST**2 + quantile / LARGEST**2) ** -0.5
        centre = rng.uniform(-6, size + 6, (2, count))
        angle, aspect = rng.uniform(0, np.pi, count), rng.uniform(0.4, 1, count)
        colour = 0.5 + 0.22 * rng.normal(size=(count, channels)) @ root.T
        slope = 0.008 * rng.normal(size=(2, count))
        is_round = rng.random(count) < 0.5
        numbers = (radius, *centre, np.cos(angle), np.sin(angle), aspect, *slope)
        radius, x0, y0, cos, sin, aspect, right, down = (
            number.astype(np.float32)[:, None, None] for number in numbers
        )
        x, y = line[None, None, :] - x0, line[None, :, None] - y0
        along, across = np.abs(cos * x + sin * y), np.abs(cos * y - sin * x) / aspect
        ellipse, box = np.sqrt(along**2 + across**2), np.maximum(along, across)
        far = np.where(is_round[:, None, None], ellipse, box)
        cover = np.clip(radius - far + 0.5, 0, 1)[:, None]
        shade = colour.astype(np.float32)[:, :, None, None] + (right * x + down * y)[:, None]
        images += cover * (shade - images)
    return np.clip(images, 0, 1)


class Extractor:
    """Filters, thresholds and components, from dead leaves alone; `features(images)` for data."""

    def __init__(self, settings: FeatureSettings) -> None:
        self.settings = settings
        rng = np.random.default_rng(settings.seed)
        leaves = dead_leaves(
            settings.leaves, size=settings.size, channels=settings.channels, rng=rng
        )
        self._filters = self._whitened_patches(torch.from_numpy(leaves), rng)
        some = self._responses(torch.from_numpy(leaves[:100]))
        self._filters /= some.std(dim=(0, 2, 3))[:, None, None, None]
        found = self._pooled(leaves)
        self._mean = found.mean(axis=0)
        centred = (found - self._mean).astype(np.float64)
        variance, axes = np.linalg.eigh(centred.T @ centred / len(found))
        kept = slice(None, -settings.components - 1, -1)
        scale = (variance[kept] + 1e-4 * variance[-1]) ** -settings.flattening
        self._components = (axes[:, kept] * scale).astype(np.float32)

    def features(self, images: NDArray[np.uint8]) -> Array:
        """A row for each image, images x channels x size x size: length one, and the intercept."""
        parts = []
        for start in range(0, len(images), 20 * IMAGES_AT_ONCE):
            some = images[start : start + 20 * IMAGES_AT_ONCE].astype(np.float32) / 255
            rows = (self._pooled(some) - self._mean) @ self._components
            rows /= np.linalg.norm(rows, axis=1, keepdims=True)
            ones = np.full((len(rows), 1), self.settings.intercept, np.float32)
            parts.append(np.hstack((rows, ones)))
        return np.concatenate(parts)

    def _whitened_patches(self, leaves: torch.Tensor, rng: np.random.Generator) -> torch.Tensor:
        """Random patches without their mean, W W p for the whitening W: W p as the filter of W x.

        All filters have mean zero, so that the mean of a patch does not matter.
        """
        size, channels = self.settings.patch, self.settings.channels
        count = self.settings.patches
        views = _standardised(leaves).unfold(2, size, 1).unfold(3, size, 1)
        corners = rng.integers(views.shape[2], size=(2, count))
        patches = views[rng.integers(len(leaves), size=count), :, corners[0], corners[1]]
        flat = patches.reshape(count, -1).double()
        flat -= flat.mean(dim=1, keepdim=True)
        length = flat.norm(dim=1, keepdim=True)
        flat /= length + PATCH_FLOOR
        variance, axes = torch.linalg.eigh(flat.T @ flat / count)
        scale = (variance + self.settings.whitening * variance.max()) ** -0.5
        whitening = axes @ torch.diag(scale) @ axes.T
        # A patch of one value, as inside a shape that is black, is no filter.
        order = torch.from_numpy(rng.permutation(count))
        chosen = order[length[order, 0] > 0][: self.settings.filters]
        white = flat[chosen] @ whitening
        white /= white.norm(dim=1, keepdim=True)
        found = white @ whitening
        found -= found.mean(dim=1, keepdim=True)
        return found.float().reshape(-1, channels, size, size)

    def _responses(self, images: torch.Tensor) -> torch.Tensor:
        """Filters on all patches, over the length of what is left of a patch without its mean."""
        points = _standardised(images)
        ones = torch.ones_like(self._filters[:1])
        number = ones.numel()
        mean = functional.conv2d(points, ones) / number
        squares = functional.conv2d(points * points, ones)
        length = (squares - number * mean * mean).clamp(min=0).sqrt()
        return functional.conv2d(points, self._filters) / (length + PATCH_FLOOR)

    def _pooled(self, images: Array) -> Array:
        """The roots of mean responses beyond the threshold, in each quarter of each image."""
        rows = []
        for some in torch.from_numpy(images).split(IMAGES_AT_ONCE):
            found = self._responses(some)
            parts: list[Any] = []
            for signed in (found, -found):
                beyond = (signed - self.settings.threshold).clamp_(min=0)
                parts.append(functional.adaptive_avg_pool2d(beyond, 2))
            rows.append(torch.cat(parts, dim=1).flatten(start_dim=1).sqrt())
        return torch.cat(rows).numpy()


def _standardised(images: torch.Tensor) -> torch.Tensor:
    """Every image with mean 0 and standard deviation 1 (nearly), by itself."""
    flat = images.flatten(start_dim=1)
    flat = flat - flat.mean(dim=1, keepdim=True)
    return (flat / (flat.std(dim=1, keepdim=True) + IMAGE_FLOOR)).reshape(images.shape)


def features_of(settings: FeatureSettings, images: NDArray[np.uint8], store: Store) -> Array:
    """The features of images, stored under settings and images."""
    key = repr(settings).encode() + images.tobytes()
    return store.array("features", key, lambda: Extractor(settings).features(images))


def made_up_data(
    count: int, *, size: int, channels: int, seed: int
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Images that are dead leaves, and how rich in edges, in ten classes: for small modes."""
    rng = np.random.default_rng(seed)
    images = dead_leaves(count, size=size, channels=channels, rng=rng, shapes=5)
    edges = np.abs(np.diff(images)).mean(axis=(1, 2, 3)) / (images.std(axis=(1, 2, 3)) + 0.01)
    order = edges.argsort().argsort()
    return (255 * images).astype(np.uint8), order * 10 // count

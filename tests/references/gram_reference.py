"""Random ordered pairs of Gram matrices, and a search for curves that are not in that order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "HORN",
    "congruent_pair",
    "entrywise_pair",
    "horn_pair",
    "least_score",
    "loewner_pair",
    "mixed_pair",
    "random_weights",
    "undercompensated_pair",
]

FloatArray = NDArray[np.float64]
Pair = tuple[FloatArray, FloatArray]

EPSILONS = np.array([0.0, 0.1, 0.5, 1.0, 2.0])
# Copositive, but not the sum of a positive semidefinite and a non-negative matrix.
HORN = np.array([np.roll([1.0, -1.0, 1.0, 1.0, -1.0], shift) for shift in range(5)])


def random_gram(rng: np.random.Generator, size: int) -> FloatArray:
    """Positive definite, entries of any sign, diagonal entries around 0.1 to 2."""
    factor = rng.normal(size=(size, size)) + rng.uniform(-1.0, 1.0)
    gram = factor @ factor.T
    return gram * rng.uniform(0.1, 2.0) / np.trace(gram) * size


def random_weights(rng: np.random.Generator, size: int) -> FloatArray:
    """Equal weights in every other case, any others in the rest."""
    return np.full(size, 1.0 / size) if rng.random() < 0.5 else rng.dirichlet(np.ones(size))


def hollow(rng: np.random.Generator, size: int) -> FloatArray:
    """Symmetric and non-negative with a zero diagonal, about half of the entries zero."""
    upper = np.triu(rng.exponential(size=(size, size)) * (rng.random((size, size)) < 0.5), 1)
    upper[0, 1] += 0.1
    return upper + upper.T


def laplacian(rng: np.random.Generator, size: int) -> FloatArray:
    """Deficits off the diagonal, compensated on it."""
    deficits = hollow(rng, size)
    return np.diag(deficits.sum(axis=0)) - deficits


def raised(gram: FloatArray, change: FloatArray) -> FloatArray:
    """The matrix and nine tenths of the longest step along `change` that stays semidefinite."""
    inverse_root = np.linalg.inv(np.linalg.cholesky(gram))
    lowest = np.linalg.eigvalsh(inverse_root @ change @ inverse_root.T)[0]
    return gram + min(1.0, 0.9 / max(-lowest, 1e-9)) * change


def size_of(rng: np.random.Generator) -> int:
    """Two to six bins."""
    return int(rng.integers(2, 7))


def entrywise_pair(rng: np.random.Generator) -> Pair:
    """Larger entry by entry, off the diagonal only, so that it is never larger in Loewner order."""
    size = size_of(rng)
    gram = random_gram(rng, size)
    return gram, raised(gram, hollow(rng, size))


def loewner_pair(rng: np.random.Generator) -> Pair:
    """Larger by a matrix of rank one with entries of both signs."""
    size = size_of(rng)
    gram = random_gram(rng, size)
    direction = rng.normal(size=size)
    direction[:2] = np.abs(direction[:2]) * [1.0, -1.0]
    return gram, gram + rng.uniform(0.2, 1.0) * np.outer(direction, direction)


def mixed_pair(rng: np.random.Generator) -> Pair:
    """Deficits compensated on the diagonal, then some entries raised."""
    size = size_of(rng)
    gram = random_gram(rng, size)
    compensated = gram + rng.uniform(0.2, 1.0) * laplacian(rng, size)
    others = hollow(rng, size)
    others[0, 1] = others[1, 0] = 0.0
    return gram, raised(compensated, others)


def undercompensated_pair(rng: np.random.Generator) -> Pair:
    """Deficits of which the diagonal compensates one half only: a wrong claim."""
    gram = random_gram(rng, size_of(rng))
    change = laplacian(rng, len(gram))
    change[np.diag_indices(len(gram))] /= 2
    return gram, raised(gram, change)


def congruent_pair(rng: np.random.Generator) -> Pair:
    """A mixed pair with amplitudes from 0 to 1, one of them 0."""
    smaller, larger = mixed_pair(rng)
    amplitudes = rng.random(len(smaller))
    amplitudes[-1] = 0.0
    scale = np.outer(amplitudes, amplitudes)
    return smaller * scale, larger * scale


def horn_pair(rng: np.random.Generator) -> Pair:
    """Larger by a copositive matrix that is no sum as in a mixed pair."""
    gram = random_gram(rng, 5) + 0.2 * np.eye(5)
    return gram, raised(gram, 2.0 * HORN)


def payoffs(gram: FloatArray, weights: FloatArray, normals: FloatArray) -> FloatArray:
    """Payoffs in [0, 1] of equal draws, whose means are delta: remove, then add, by epsilon."""
    values, vectors = np.linalg.eigh(gram)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    bins = np.searchsorted(np.cumsum(weights)[:-1], (np.arange(len(normals)) + 0.5) / len(normals))
    exponents = normals @ root - np.diagonal(gram) / 2
    without, present = np.exp(exponents) @ weights, np.exp(exponents + gram[bins]) @ weights
    gamma = np.exp(EPSILONS)
    removed = np.maximum(1.0 - gamma / present[:, None], 0.0)
    added = np.maximum(1.0 - gamma * without[:, None], 0.0)
    return np.hstack([removed, added])


def least_score(pair: Pair, weights: FloatArray, *, rng: np.random.Generator, draws: int) -> float:
    """How far the second curve falls below the first, in standard errors; positive if nowhere."""
    normals = rng.normal(size=(draws, len(weights)))
    normals = np.vstack([normals, -normals])
    smaller, larger = (payoffs(gram, weights, normals) for gram in pair)
    gains = larger - smaller
    halves = (gains[:draws] + gains[draws:]) / 2
    errors = halves.std(axis=0) / np.sqrt(draws)
    seen = np.count_nonzero(halves, axis=0) > 100
    return float(np.min(halves.mean(axis=0)[seen] / errors[seen]))

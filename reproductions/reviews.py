"""Reviews of films, with a guarantee for users who wrote several of them, some together.

Logistic regression on words: 18,000 reviews to train on, of which users have one or two, 2,000 to
choose learning rates, 5,000 for tests; words are hashed into 512 buckets. Users are made up:
first everyone writes alone, then one review of fifty has a second author. Three ways to draw
batches: DP-SGD per review, which promises less than the others; Poisson sampling per user with
independent noise; users excluded for some steps after each participation, with correlated noise
(`UserMinSep`), verified by draws where users are alone and proven where they are not. The miniature
of the arXiv experiment of the b-min-sep paper. The reviews come from `hockeystick data reviews`.
Takes some minutes.

Usage: python reproductions/reviews.py [--data DIR] [--small] [--output DIR]
"""

from __future__ import annotations

import re
import sys
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import hockeystick as hs
from curves import Panels
from head_comparison import Comparison, Experiment, compare, run_on_data
from head_mechanisms import Mechanism, Size, poisson
from hockeystick.datasets import read_arrays, texts_of
from linear_heads import Data, Heads, Recipe
from result_store import Store

__all__ = ["attribution", "draw", "main", "words_of"]

FOLDER = Path("data/reviews")
BUCKETS = 512
MOST_PER_USER, SHARED_SHARE = 2, 0.02
# Of the noise; users are excluded for as many steps less one.
BANDS = 8
WORD = re.compile(r"[a-z']{3,}")
# Of which everybody's sentences consist.
COMMON = frozenset(
    re.findall(
        r"\S+",
        """the and that this with for but was are you have his her they has she him had from were
        all who what which there their its it's out about will would could when can one been than
        them then some into also how just other any very more""",
    )
)
FULL = Comparison(
    size=Size(examples=18_000, batch_size=180, steps=300),
    delta=1e-5,
    epsilons=(2.0, 8.0),
    learning_rates=(1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0),
    tuning_seeds=1,
    seeds=20,
)
# Small mode: made-up texts, or the first of the folder's.
FEW = 300
SMALL = Comparison(Size(240, 4, 20), 1e-3, (8.0,), (1.0,), 1, 2, draws=2_000)


def words_of(texts: Sequence[str]) -> NDArray[np.float32]:
    """For each text log(1 + count) of its words, hashed into buckets with signs: length one.

    The vocabulary comes from no data: a word's bucket and sign are those of its CRC-32.
    """
    places: dict[str, tuple[int, int]] = {}
    rows = np.zeros((len(texts), BUCKETS + 1), np.float32)
    for i, text in enumerate(texts):
        counts: dict[str, int] = {}
        for word in WORD.findall(text.lower()):
            if word not in COMMON:
                counts[word] = counts.get(word, 0) + 1
        for word, count in counts.items():
            if word not in places:
                code = zlib.crc32(word.encode())
                places[word] = (code % BUCKETS, 1 if code >> 31 else -1)
            bucket, sign = places[word]
            rows[i, bucket] += sign * np.log1p(count)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1.0)
    rows[:, -1] = 0.1
    return rows


def attribution(reviews: int, *, shared: float, seed: int) -> hs.Attribution:
    """Users with one or two reviews; of some reviews a second one is an author as well."""
    rng = np.random.default_rng(seed)
    owner = np.repeat(np.arange(reviews), rng.integers(1, MOST_PER_USER + 1, reviews))[:reviews]
    of = np.arange(reviews)
    second = rng.permutation(reviews)[: round(shared * reviews)]
    return hs.Attribution.from_pairs(
        examples=np.concatenate((of, second)),
        users=np.concatenate((owner, owner.max() + 1 + np.arange(second.size) // MOST_PER_USER)),
        number_of_examples=reviews,
    )


def mechanisms(graph: hs.Attribution) -> dict[str, Mechanism]:
    """For the same number of examples in a batch; the first protects single reviews alone."""

    def per_user(size: Size, bands: int) -> hs.Plan:
        sampling = hs.UserMinSep.for_batch_size(
            size.batch_size, examples=graph, separation=bands, warm_up=bands - 1
        )
        strategy = hs.strategies.bsr(size.steps, bands)
        return hs.Plan(sampling=sampling, steps=size.steps, strategy=strategy)

    alone = not graph.has_shared_examples
    return {
        "per review, Poisson": Mechanism(poisson, lambda _: (1,)),
        "per user, Poisson": Mechanism(per_user, lambda _: (1,)),
        "per user, b-min-sep, BSR": Mechanism(per_user, lambda _: (BANDS,), by_draws=alone),
    }


def draw(folder: Path | None, small: bool) -> Experiment:
    """Both graphs, one panel each."""
    comparison = SMALL if small else FULL
    rows, labels, store = load(folder, small)
    panels, stated = [], []
    for name, shared in (("users write alone", 0.0), ("2 % with two authors", SHARED_SHARE)):
        graph = attribution(comparison.size.examples, shared=shared, seed=30)
        heads = heads_for(rows, labels, comparison, store, graph)
        found, statements = compare(heads, replace(comparison, mechanisms=mechanisms(graph)))
        panels.append(replace(found, title=f"Test accuracy, {name}"))
        stated += [{"users": name, **one} for one in statements]
    size = comparison.size
    title = f"Reviews, {size.steps:,} steps with batches of {size.batch_size} of {size.examples:,}"
    title += f", δ = {comparison.delta:g}"
    return Experiment(
        Panels("reviews", title, panels, columns=2, cpu_seconds=store.seconds), stated
    )


def load(folder: Path | None, small: bool) -> tuple[NDArray[np.float32], NDArray[np.int64], Store]:
    """Features and labels in an order that is always the same, and where results are kept."""
    store = Store(None)
    if small and folder is None:
        rng = np.random.default_rng(1)
        labels = rng.integers(2, size=FEW)
        words = np.where(labels, "good", "dull")
        texts = [f"a {word} film number {rng.integers(9)}" for word in words]
    else:
        folder = FOLDER if folder is None else folder
        arrays = read_arrays(folder, ("texts", "ends", "labels"))
        texts, labels = texts_of(arrays), arrays["labels"]
        store = Store(None if small else folder / "runs")
    # The reviews are sorted by their labels.
    order = np.random.default_rng(30).permutation(len(labels))
    order = order[:FEW] if small else order
    return words_of([texts[i] for i in order]), labels[order], store


def heads_for(
    rows: NDArray[np.float32],
    labels: NDArray[np.int64],
    comparison: Comparison,
    store: Store,
    graph: hs.Attribution | None = None,
) -> Heads:
    """The first reviews to train on; of the others two sevenths choose rates, the rest test."""
    train = slice(0, comparison.size.examples)
    rest = np.arange(comparison.size.examples, len(labels))
    cut = len(rest) * 2 // 7
    parts = (
        Data(rows[train], labels[train], rows[at], labels[at], graph)
        for at in (rest[cut:], rest[:cut])
    )
    shared = graph is not None and graph.has_shared_examples
    about = {"name": "reviews", "buckets": BUCKETS, "shared": shared}
    return Heads(*parts, Recipe(), comparison.delta, store, about)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; with --output also write picture, numbers and statements."""
    return run_on_data(draw, __doc__ or "", arguments)


if __name__ == "__main__":
    sys.exit(main())

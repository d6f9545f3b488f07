"""Papers and their authors, made up: the graph for the arXiv table of the b-min-sep paper.

Each paper has two authors or more: 2 + a geometric number, a few long lists cut off at 30. Authors
are drawn with weights that are Pareto distributed with exponent 1.5, so a few write very much and
most write one or two papers. Then contributions are bounded as in the paper: at most two papers of
each author are kept, which leaves about 300,000 papers.
"""

from __future__ import annotations

import numpy as np

import hockeystick as hs

__all__ = ["bounded_graph", "co_authorship"]

PAPERS, AUTHORS = 1_200_000, 1_100_000
PAPERS_PER_AUTHOR = 2
MEAN_FURTHER_AUTHORS, MOST_AUTHORS, TAIL = 1.5, 30, 1.5


def co_authorship(papers: int, authors: int, *, seed: int) -> hs.Attribution:
    """The whole graph; an author who is drawn twice for a paper counts once."""
    rng = np.random.default_rng(seed)
    further = rng.geometric(1 / (1 + MEAN_FURTHER_AUTHORS), papers) - 1
    sizes = np.minimum(2 + further, MOST_AUTHORS)
    weights = np.cumsum(1 + rng.pareto(TAIL, authors))
    drawn = np.searchsorted(weights, rng.random(sizes.sum()) * weights[-1], side="right")
    return hs.Attribution.from_pairs(
        examples=np.repeat(np.arange(papers), sizes),
        users=np.minimum(drawn, authors - 1),
        number_of_examples=papers,
        number_of_users=authors,
    )


def bounded_graph(*, scale: int = 1, seed: int = 0) -> hs.Attribution:
    """What is left of a graph that is `scale` times smaller when contributions are bounded."""
    whole = co_authorship(PAPERS // scale, AUTHORS // scale, seed=seed)
    return hs.bound_contributions(
        whole, examples_per_user=PAPERS_PER_AUTHOR, rng=seed + 1
    ).attribution

"""The search for lower bounds: which minorants it tries."""

from __future__ import annotations

import numpy as np

from hockeystick.analyses.gram.search.lower import LowerSearch, block_lengths
from references.gram_search import QUERIES


def test_lengths_reach_from_one_bin_to_all():
    """Powers of two in between."""
    assert block_lengths(1) == [1]
    assert block_lengths(2) == [1, 2]
    assert block_lengths(12) == [1, 2, 4, 8, 12]
    assert block_lengths(16) == [1, 2, 4, 8, 16]


def test_negative_entries_say_nothing_about_blocks():
    """Blocks leave out what is between them, which is no smaller matrix then."""
    kernel = np.array([[1.0, -0.9, -0.05], [-0.9, 1.0, 0.0], [-0.05, 0.0, 1.0]])
    query = QUERIES["delta"]
    assert LowerSearch(kernel, 1e5)._of_blocks(query, "remove") == 0.0
    assert LowerSearch(np.abs(kernel), 1e5)._of_blocks(query, "remove") > 0.01

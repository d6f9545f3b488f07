"""The noise in the updates of a model has the covariance of C^-1 C^-T over the steps."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import hockeystick as hs


def noise_in_updates(runs, run, batches, path, start) -> np.ndarray:
    """What the updates have beside the clipped gradients, in units of the noise; a row per step."""
    points, rows, waiting = runs.data().tensors[0], [], []
    before = start
    for batch, after in zip(batches, path, strict=True):
        waiting += batch
        if torch.equal(after, before):
            continue
        total = (before - after) * run.expected_batch_size - runs.clipped_sum(points[waiting])
        rows.append((total / (runs.NOISE * runs.CLIP)).numpy())
        before, waiting = after, []
    return np.array(rows, dtype=np.float64)


@pytest.mark.parametrize("clipping", ["per-sample", "ghost"])
@pytest.mark.parametrize("most", [None, 2])
@pytest.mark.parametrize("restored", [False, True])
def test_covariance_over_the_steps(runs, clipping, most, restored):
    """Each entry within five standard errors, with micro-batches and a restart in the middle."""
    plan = runs.banded(8, bands=3)
    options = {"clipping": clipping, "physical_batch_size": most}
    run = runs.private(plan, **options)
    start = runs.weights(run)
    batches, path = [], []
    if restored:
        batches, path = runs.train(run, until=4)
        state, run = run.state_dict(), runs.private(plan, rng=77, **options)
        run.load_state_dict(state)
    some, there = runs.train(run)
    noise = noise_in_updates(runs, run, batches + some, path + there, start)
    assert noise.shape[0] == run.taken_steps == 8
    inverse = hs.strategies.bsr(8, bands=3).inverse_matrix()
    wanted = inverse @ inverse.T
    found = noise @ noise.T / noise.shape[1]
    spread = np.sqrt((np.outer(wanted.diagonal(), wanted.diagonal()) + wanted**2) / noise.shape[1])
    assert np.abs((found - wanted) / spread).max() < 5
    # The test can tell: independent noise of the same size is far away.
    assert np.abs((np.diag(wanted.diagonal()) - wanted) / spread).max() > 10

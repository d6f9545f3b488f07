"""Plans for jax-privacy: arrays that mean the same there."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import chi2

import hockeystick as hs
from hockeystick.errors import InvalidParameter, UnsupportedPlan
from hockeystick.training import statement, to_jax_privacy

STEPS = 10
NOISE = {"noise_multiplier": 1.5, "max_grad_norm": 2.0}
STRATEGIES = [
    hs.strategies.identity(STEPS),
    hs.strategies.band_mf(STEPS, bands=4),
    hs.strategies.bisr(STEPS, bands=3),
    hs.strategies.from_matrix(np.diag(np.linspace(1, 2, STEPS)) + 0.5 * np.eye(STEPS, k=-1)),
]
NAMES = [strategy.name for strategy in STRATEGIES]


def exported(strategy):
    """The plan with this strategy, for jax-privacy."""
    plan = hs.Plan(sampling=hs.BallsInBins(bins=5), steps=STEPS, strategy=strategy)
    return to_jax_privacy(plan, **NOISE)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=NAMES)
def test_arrays_are_those_of_the_strategy(strategy):
    """C times the noising matrix is the identity; coefficients are those of C."""
    export = exported(strategy)
    assert export.stddev == 3.0
    product = strategy.to_matrix() @ export.noising_matrix()
    assert np.abs(product - np.eye(STEPS)).max() < 1e-12
    if strategy.coefficients is None:
        assert export.coefficients is None
    else:
        assert np.array_equal(export.coefficients, strategy.coefficients)
        export.coefficients[0] = 7.0
        assert strategy.coefficients[0] != 7.0


def test_batches_are_the_plans():
    """The export stands in for a batch selection strategy, with the same seeds."""
    export = exported(STRATEGIES[1])
    mine = list(export.plan.batches(examples=40, rng=3))
    theirs = list(export.batch_iterator(40, rng=3))
    assert all(np.array_equal(a, b) for a, b in zip(mine, theirs, strict=True))
    assert export.expected_batch_size(40) == 8.0


def test_keys_are_secret():
    """Two words of 32 bits, different every time."""
    first, second = (exported(STRATEGIES[0]).key_data() for _ in range(2))
    assert (first.shape, first.dtype) == ((2,), np.uint32)
    assert not np.array_equal(first, second)


def test_records_lead_to_statements():
    """The accountant's number is that of the plan."""
    plan = hs.Plan(sampling=hs.Poisson(rate=0.1), steps=STEPS)
    record = to_jax_privacy(plan, **NOISE).record(taken_steps=4)
    found = statement(record, delta=1e-5)
    assert found.epsilon == hs.account(plan, noise_multiplier=1.5).epsilon(1e-5)
    assert found.taken_steps == 4


def test_refusals():
    """No plan, another mechanism, too large for a dense matrix, NaN."""
    laplace = hs.Plan(sampling=hs.FullBatch(), steps=2, mechanism=hs.Profile.laplace(scale=1.0))
    with pytest.raises(UnsupportedPlan):
        to_jax_privacy(laplace, **NOISE)
    with pytest.raises(InvalidParameter, match="plan"):
        to_jax_privacy(None, **NOISE)
    with pytest.raises(InvalidParameter, match="max_grad_norm"):
        to_jax_privacy(exported(STRATEGIES[0]).plan, noise_multiplier=1.0, max_grad_norm=np.nan)
    long = hs.Plan(sampling=hs.FullBatch(), steps=30_000)
    with pytest.raises(InvalidParameter, match="steps"):
        to_jax_privacy(long, **NOISE).noising_matrix()


@pytest.mark.slow
def test_jax_is_not_imported():
    """The bridge works without JAX."""
    code = "import sys, hockeystick.training; print(*{'jax', 'torch'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


REASON = "needs jax-privacy==2.0.0, which `make test-extras` installs"


@pytest.fixture(scope="module")
def privatizer():
    """Makes the privatizer of jax-privacy from an export, streaming or dense."""
    addition = pytest.importorskip("jax_privacy.noise_addition", reason=REASON)
    toeplitz = pytest.importorskip("jax_privacy.matrix_factorization.toeplitz", reason=REASON)
    jax = pytest.importorskip("jax", reason=REASON)

    def make(export, form, seed=11):
        matrix = (
            toeplitz.inverse_as_streaming_matrix(jax.numpy.asarray(export.coefficients))
            if form == "streaming"
            else export.noising_matrix()
        )
        return addition.matrix_factorization_privatizer(matrix, stddev=export.stddev, prng_key=seed)

    return make


def noise_of(made, dimension):
    """What the privatizer adds to zeros, a row for each step."""
    import jax

    zeros = jax.numpy.zeros(dimension)
    state, rows, update = made.init(zeros), [], jax.jit(made.update)
    for _ in range(STEPS):
        row, state = update(zeros, state)
        rows.append(np.asarray(row, dtype=np.float64))
    return np.array(rows)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("strategy", "form"),
    [
        (strategy, form)
        for strategy in STRATEGIES
        for form in ("streaming", "dense")
        if form == "dense" or strategy.coefficients is not None
    ],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_noise_covariance_in_jax_privacy(privatizer, strategy, form):
    """What jax-privacy adds is C^-1 Z: times C over the deviation it is white, step by step."""
    dimension = 40_000
    export = exported(strategy)
    rows = noise_of(privatizer(export, form), dimension)
    white = strategy.to_matrix() @ rows / export.stddev
    covariance = white @ white.T / dimension
    off = covariance[np.triu_indices(STEPS, 1)] * np.sqrt(dimension)
    assert (off**2).sum() < chi2.isf(1e-4, off.size)
    assert np.abs(np.diagonal(covariance) - 1).max() < 5 * np.sqrt(2 / dimension)
    # The test can fail: with another matrix the same noise is not white.
    other = hs.strategies.bsr(STEPS, bands=2).to_matrix() @ rows / export.stddev
    wrong = (other @ other.T / dimension)[np.triu_indices(STEPS, 1)] * np.sqrt(dimension)
    assert (wrong**2).sum() > chi2.isf(1e-4, off.size)


@pytest.mark.slow
def test_padding_of_jax_privacy_takes_the_batches(privatizer):
    """Batches, empty ones included, pass through its padding."""
    selection = pytest.importorskip("jax_privacy.batch_selection", reason=REASON)
    plan = hs.Plan(sampling=hs.Poisson(rate=0.05), steps=50)
    for batch in to_jax_privacy(plan, **NOISE).batch_iterator(30, rng=0):
        padded = selection.pad_to_multiple_of(batch, 4)
        assert padded.size % 4 == 0
        assert np.array_equal(padded[padded >= 0], batch)

"""Gradients as outer products against the same gradients as rows."""

from __future__ import annotations

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.errors import InvalidParameter, PlanMismatch
from hockeystick.training import OuterProducts
from hockeystick.training.gradients import clipped_sum, lengths

PLAN = hs.Plan(sampling=hs.Poisson(rate=0.3), steps=4, strategy=hs.strategies.bsr(4, bands=1))


def factors(seed, examples=40, outputs=3, inputs=5):
    """Factors of very different lengths."""
    rng = np.random.default_rng(seed)
    scales = 10.0 ** rng.uniform(-3, 3, size=(2, examples, 1))
    shapes = (examples, outputs), (examples, inputs)
    return [scale * rng.normal(size=shape) for scale, shape in zip(scales, shapes, strict=True)]


@pytest.mark.parametrize("gamma", [None, 0.1])
def test_sums_and_lengths_are_those_of_the_rows(gamma):
    """Lengths and clipped sums agree to the last digits, whatever the clip norm."""
    for seed in range(20):
        products = OuterProducts(*factors(seed))
        rows = products.rows()
        np.testing.assert_array_equal(
            rows, [np.outer(u, v).ravel() for u, v in zip(*factors(seed), strict=True)]
        )
        np.testing.assert_allclose(lengths(products), lengths(rows), rtol=1e-14)
        for clip in (1e-4, 1.0, 1e5):
            np.testing.assert_allclose(
                clipped_sum(products, clip, gamma=gamma),
                clipped_sum(rows, clip, gamma=gamma),
                rtol=1e-12,
                atol=1e-12 * clip,
            )


def test_inputs_in_single_precision():
    """Lengths and sums are those of the same numbers in double precision, in many blocks too."""
    for examples in (1, 64, 200):
        u, v = factors(9, examples=examples)
        single = OuterProducts(u, v.astype(np.float32))
        double = OuterProducts(u, v.astype(np.float32).astype(np.float64))
        assert single.inputs.dtype == np.float32
        np.testing.assert_allclose(lengths(single), lengths(double), rtol=1e-14)
        found = clipped_sum(single, 0.7)
        np.testing.assert_allclose(found, clipped_sum(double, 0.7), rtol=1e-12, atol=1e-12)
    extreme = OuterProducts(np.ones((2, 1)), np.array([[3e38, 3e38], [1e-44, 0]], np.float32))
    np.testing.assert_allclose(lengths(extreme), np.hypot(*extreme.inputs.astype(float).T))


def test_a_buffer_that_is_used_again():
    """Factors that are changed in place between steps are clipped by their present lengths."""
    products = OuterProducts(np.ones((40, 3)), np.ones((40, 5), np.float32))
    before = clipped_sum(products, 0.5)
    products.inputs[:] = 100.0
    np.testing.assert_allclose(clipped_sum(products, 0.5), before, rtol=1e-12)


@pytest.mark.parametrize("arithmetic", ["float", "exact"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_run_releases_the_same(arithmetic, dtype):
    """The same seed gives the same private gradients for factors as for rows."""
    u, v = (part.astype(dtype) for part in factors(3))

    def released(gradients):
        run = hs.training.PrivateRun(
            PLAN,
            examples=40,
            dimension=15,
            noise_multiplier=1.0,
            max_grad_norm=0.5,
            rng=7,
            arithmetic=arithmetic,
        )
        return np.array([run.step(gradients) for _ in range(4)]), run.record().probe

    by_factors, probe = released(lambda batch: OuterProducts(u[batch], v[batch]))
    by_rows, _ = released(lambda batch: OuterProducts(u[batch], v[batch]).rows())
    np.testing.assert_allclose(by_factors, by_rows, rtol=1e-9, atol=1e-12)
    assert probe is not None


def test_one_example_more_changes_at_most_the_clip_norm():
    """Without noise: the sums with and without one example differ by at most its clip norm."""
    for seed in range(20):
        products = OuterProducts(*factors(seed))
        for left_out in range(5):
            others = np.delete(np.arange(40), left_out)
            change = clipped_sum(products, 0.7) - clipped_sum(products[others], 0.7)
            assert np.linalg.norm(change) <= 0.7 * (1 + 1e-12)


def test_individual_budgets_take_factors():
    """Every example is charged for its own length."""
    u, v = factors(5)
    spent = []
    for as_rows in (False, True):
        individual = hs.filters.Individual.renyi(examples=40, epsilon=2.0, delta=1e-5)
        run = hs.training.PrivateRun(
            PLAN,
            examples=40,
            dimension=15,
            noise_multiplier=1.0,
            max_grad_norm=0.5,
            rng=7,
            filter=individual,
        )

        def gradients(batch, as_rows=as_rows):
            found = OuterProducts(u[batch], v[batch])
            return found.rows() if as_rows else found

        spent.append(run.step(gradients))
    np.testing.assert_allclose(*spent, rtol=1e-9, atol=1e-12)


def test_factors_that_mix_examples_are_noticed():
    """Inputs that are centred over the batch are refused by the probe."""
    u, v = factors(3)
    run = hs.training.PrivateRun(
        PLAN, examples=40, dimension=15, noise_multiplier=1.0, max_grad_norm=0.5, rng=7
    )
    with pytest.raises(PlanMismatch, match="influence each other"):
        run.step(lambda batch: OuterProducts(u[batch], v[batch] - v[batch].mean(axis=0)))


@pytest.mark.parametrize(
    ("outputs", "inputs"),
    [
        (np.ones((2, 3)), np.ones((3, 5))),
        (np.ones(3), np.ones((3, 5))),
        (np.ones((3, 3), dtype=complex), np.ones((3, 5))),
        (np.array([["a"]]), np.ones((1, 5))),
    ],
)
def test_what_is_no_pair_of_factors_is_refused(outputs, inputs):
    """One sentence that shows shapes and no numbers."""
    with pytest.raises(InvalidParameter, match="two matrices of real numbers"):
        OuterProducts(outputs, inputs)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200])
def test_products_that_are_not_finite_are_refused(value):
    """Also where only the product overflows."""
    run = hs.training.PrivateRun(
        PLAN, examples=40, dimension=15, noise_multiplier=1.0, max_grad_norm=0.5, rng=7
    )
    with pytest.raises(InvalidParameter, match="finite numbers of shape"):
        run.step(
            lambda batch: OuterProducts(
                np.full((batch.size, 3), value), np.full((batch.size, 5), value)
            )
        )

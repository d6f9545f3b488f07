"""Linear heads on fixed features: the parts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

import cifar
import hockeystick as hs
import optimizer_noise
import reviews
from head_mechanisms import DP_SGD, MECHANISMS, Mechanism, Size, Target, price
from image_features import Extractor, dead_leaves, features_of
from linear_heads import Data, Heads, Priced, Recipe, compact, expanded, split, train
from result_store import Store

SIZE = Size(examples=60, batch_size=12, steps=15)
PLAN = hs.Plan(sampling=hs.Poisson(rate=0.2), steps=15, strategy=hs.strategies.bsr(15, bands=1))


def some_data(examples=60, seed=2):
    """Labels that are a linear function of the features."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(examples + 40, 6)).astype(np.float32)
    labels = rows[:, :3].argmax(axis=1)
    return Data(rows[:examples], labels[:examples], rows[examples:], labels[examples:])


def heads_of(data, folder=None):
    """With six training examples held out."""
    return Heads(data, split(data, 6), Recipe(), 1e-3, Store(folder), {"name": "test"})


def test_a_head_is_trained_by_the_steps_of_its_recipe():
    """Rows of explicit gradients, momentum, rates and average, written out, give the same head."""
    data, recipe = some_data(), Recipe(clip=0.4, momentum=0.5, last=0.1, averaged=0.2)
    priced = Priced(PLAN, 0.7, "none", "none", 0.0)
    run = hs.training.PrivateRun(
        PLAN, examples=60, dimension=18, noise_multiplier=0.7, max_grad_norm=0.4, rng=3
    )
    weights, velocity, kept = np.zeros((3, 6)), np.zeros((3, 6)), []

    def rows(batch):
        inputs = data.features[batch].astype(float)
        odds = np.exp(inputs @ weights.T)
        errors = odds / odds.sum(axis=1, keepdims=True) - np.eye(3)[data.labels[batch]]
        return np.einsum("io,if->iof", errors, inputs).reshape(len(batch), -1)

    for step in range(15):
        velocity = 0.5 * velocity + 0.5 * run.step(rows).reshape(3, 6)
        rate = 2.0 * (1 - 0.9 * min(max((step - 3.75) / 7.5, 0), 1))
        weights = weights - rate * velocity
        kept.append(weights)
    found = train(data, priced, recipe, learning_rate=2.0, seed=3)
    np.testing.assert_allclose(found.weights, np.mean(kept[-3:], axis=0), rtol=1e-4, atol=1e-5)


def test_without_noise_a_head_learns():
    """Plain gradient descent finds the linear rule."""
    plain = Priced(PLAN, 0.0, "none", "none", 0.0)
    (found,) = heads_of(some_data()).accuracies(plain, 5.0, [0])
    assert found["accuracy"] > 0.8
    assert set(found) == {"accuracy"}


def test_tuning_sees_nothing_of_the_test():
    """The rate is the same if test examples are replaced by others."""
    data = some_data()
    priced = Priced(PLAN, 0.5, "none", "none", 0.0)
    other = data._replace(test_features=data.test_features * np.nan, test_labels=data.labels[:40])
    found = [heads_of(one).tuned(priced, (0.1, 1.0, 5.0), (7, 8)) for one in (data, other)]
    assert found[0] == found[1]
    assert len(split(data, 6).labels) == 54
    np.testing.assert_array_equal(split(data, 6).test_features, data.features[54:])


def test_what_is_stored_is_not_computed_again(tmp_path, monkeypatch):
    """An interrupted experiment goes on with the seeds that are missing; other settings are new."""
    calls = []

    def counted(*given, seed, **options):
        calls.append(seed)
        return train(*given, seed=seed, **options)

    monkeypatch.setattr("linear_heads.train", counted)
    heads = heads_of(some_data(), tmp_path)
    priced = Priced(PLAN, 0.5, "none", "none", 0.0)
    first = heads.accuracies(priced, 1.0, [0, 1])
    again = heads_of(some_data(), tmp_path).accuracies(priced, 1.0, [0, 1, 2])
    assert again[:2] == first
    assert calls == [0, 1, 2]
    heads.accuracies(Priced(PLAN, 0.6, "none", "none", 0.0), 1.0, [0])
    heads.accuracies(priced, 1.0, [0], tuning=True)
    assert calls == [0, 1, 2, 0, 0]


def test_every_run_has_its_statement(tmp_path):
    """Of proven and of verified noise, with the digest of its own parameters, and it holds."""
    heads = heads_of(some_data(), tmp_path)
    for mechanism in (
        MECHANISMS[DP_SGD],
        Mechanism(MECHANISMS["b-min-sep, BSR"].plan, lambda _: (2,), by_draws=True),
    ):
        for _ in range(2):  # the second time the noise is read, and tested again if need be
            priced = price(mechanism, SIZE, Target(3.0, 1e-3), heads.store, draws=3_000)
            found = heads.accuracies(priced, 1.0, range(3 if _ else 2))
        statements = [one["statement"] for one in found]
        stored = compact(statements)
        assert [one.to_object() for one in expanded(stored)] == statements
        assert len({one["parameters"] for one in statements}) == len(statements) == 3
        assert len({one["run_id"] for one in statements}) == 3
        for one in expanded(stored):
            assert one.epsilon <= 3.0
            assert one.noise_multiplier == priced.noise_multiplier
        assert hs.training.check_statement(next(expanded(stored))).holds


def test_statements_of_different_noise_are_not_joined():
    """They are about something else."""
    heads = heads_of(some_data())
    found = []
    for noise in (1.0, 1.1):
        priced = Priced(PLAN, noise, "proven", "profile", 0.0, lambda: None)
        found += [one["statement"] for one in heads.accuracies(priced, 1.0, [0])]
    with pytest.raises(hs.errors.InvalidParameter, match="one plan"):
        compact(found)


def test_features_depend_on_their_own_image_alone():
    """They are the same among other images; length one beside the intercept."""
    extractor = Extractor(cifar.SMALL_SETTINGS)
    images = cifar.made_up_parts(channels=3).train.pixels[:30]
    rows = extractor.features(images)
    others = 255 - images
    others[7] = images[7]
    again = extractor.features(others)
    np.testing.assert_array_equal(rows[7], again[7])
    assert (np.abs(rows - again).max(axis=1) > 0).sum() == 29
    np.testing.assert_allclose(np.linalg.norm(rows[:, :-1], axis=1), 1.0, rtol=1e-5)
    assert (rows[:, -1] == np.float32(cifar.SMALL_SETTINGS.intercept)).all()


def test_patches_of_one_value_are_no_filters():
    """Half of each image is black; patches inside that half have nothing that could be a filter."""
    extractor = Extractor(cifar.SMALL_SETTINGS)
    leaves = dead_leaves(10, size=32, channels=3, rng=np.random.default_rng(1))
    leaves[:, :, :, :16] = leaves[:, :, :1, :1]
    patches = extractor._whitened_patches(torch.from_numpy(leaves), np.random.default_rng(2))
    assert patches.shape == (8, 3, 6, 6)
    assert patches.isfinite().all()


def test_features_are_kept(tmp_path, monkeypatch):
    """The second time they are read, with what they took; other images have others."""
    clock = itertools.count()
    monkeypatch.setattr("result_store.time.process_time", lambda: float(next(clock)))
    images = cifar.made_up_parts(channels=3).train.pixels[:20]
    store, again = Store(tmp_path), Store(tmp_path)
    found = features_of(cifar.SMALL_SETTINGS, images, store)
    before = sorted(path.stat().st_mtime_ns for path in tmp_path.iterdir())
    np.testing.assert_array_equal(features_of(cifar.SMALL_SETTINGS, images, again), found)
    assert sorted(path.stat().st_mtime_ns for path in tmp_path.iterdir()) == before
    assert again.seconds == store.seconds
    assert store.seconds["features"] > 0
    features_of(cifar.SMALL_SETTINGS, images[:10], store)
    assert len(list(tmp_path.glob("*.npy"))) == len(list(tmp_path.glob("*.json"))) == 2


@pytest.mark.parametrize("kept", [True, False])
def test_processor_time_is_that_of_all_results(kept, tmp_path, monkeypatch):
    """By kind; what was computed earlier counts as well, and nothing twice."""
    clock = [0.0]
    monkeypatch.setattr("result_store.time.process_time", lambda: clock[0])

    def work(seconds):
        clock[0] += seconds
        return seconds

    for first in (True, False):
        store = Store(tmp_path if kept else None)
        for _ in range(2):
            assert store.get("runs", {"seed": 1}, lambda: work(3.0)) == 3.0
        if first:
            assert store.get("runs", {"seed": 2}, lambda: work(4.0)) == 4.0
            assert store.get("search", {"seed": 3}, lambda: work(5.0)) == 5.0
            assert store.seconds == {"runs": 7.0, "search": 5.0}
        else:
            assert store.seconds == {"runs": 3.0}
    assert clock[0] == (12.0 if kept else 21.0)


def test_dead_leaves_are_images():
    """Values in [0, 1], edges, and the same for the same seed."""
    found = [dead_leaves(5, size=16, channels=1, rng=np.random.default_rng(3)) for _ in range(2)]
    np.testing.assert_array_equal(*found)
    assert found[0].shape == (5, 1, 16, 16)
    assert 0 <= found[0].min() <= found[0].max() <= 1
    assert (found[0].std(axis=(1, 2, 3)) > 0.02).all()


def test_words_are_hashed():
    """Order and case do not matter, common words do not count, and no row is longer than one."""
    rows = reviews.words_of(["A Good film", "film good", "the and that", "dull film " * 50])
    np.testing.assert_array_equal(rows[0], rows[1])
    assert not rows[2, :-1].any()
    assert (np.linalg.norm(rows[:, :-1], axis=1) <= 1 + 1e-6).all()
    assert not np.array_equal(rows[0], rows[3])


def test_users_of_the_reviews():
    """One or two reviews each; some reviews have two authors."""
    alone, shared = (reviews.attribution(500, shared=share, seed=1) for share in (0.0, 0.02))
    assert not alone.has_shared_examples
    assert shared.has_shared_examples
    assert alone.most_examples_per_user == shared.most_examples_per_user == 2
    assert alone.examples == shared.examples == 500


def test_strategies_for_the_iterates_have_less_error():
    """Of the iterates of every recipe; for prefix sums it is the same strategy."""
    for name, recipe in optimizer_noise.RECIPES.items():
        wanted = optimizer_noise.workload(recipe, 100)
        plain = hs.strategies.band_mf(100, bands=8)
        fitted = hs.strategies.band_mf(100, bands=8, workload=wanted)
        ratio = fitted.mean_squared_error(wanted) / plain.mean_squared_error(wanted)
        assert ratio == pytest.approx(1, rel=1e-6) if "constant" in name else ratio < 1

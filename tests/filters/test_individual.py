from __future__ import annotations

import math
import os
from collections.abc import Callable

import numpy as np
import pytest

from hockeystick import filters
from hockeystick.errors import HockeystickError, InvalidParameter
from hockeystick.filters.renyi.divergence import sampled_divergences

MAKERS: dict[str, Callable[[int], filters.Individual]] = {
    "renyi": lambda n: filters.Individual.renyi(examples=n, epsilon=1.0, delta=1e-5),
    "gaussian": lambda n: filters.Individual.gaussian(examples=n, mu=1.0),
    "small": lambda n: filters.Individual.approximate(examples=n, mu=0.1),
    "large": lambda n: filters.Individual.approximate(examples=n, mu=1.0, regime="large"),
}
RATES = {"renyi": (0.05, 1.0), "gaussian": (1.0,), "small": (0.05, 0.19), "large": (0.9, 1.0)}
EVERY = pytest.mark.parametrize("name", MAKERS)


def cost(f: filters.Individual, name: str, rate: float, mu: np.ndarray) -> np.ndarray:
    """What contributions of size mu cost, by the formulas."""
    if name == "renyi":
        return sampled_divergences(f.rule.order, rate, mu**2)  # type: ignore[attr-defined]
    return {
        "gaussian": lambda: mu**2,
        "small": lambda: rate**2 * np.expm1(mu**2) / 2,
        "large": lambda: rate**2 * mu**2 / 2,
    }[name]()


@EVERY
def test_reference_of_algorithm_3(name: str) -> None:
    """One example at a time with the formulas: the same charges, factors and drop-outs."""
    rng = np.random.default_rng(5)
    examples = 200
    f = MAKERS[name](examples)
    left = np.full(examples, f.budget)
    for step in range(12):
        norms = rng.lognormal(0.0, 1.5, examples) * (rng.random(examples) > 0.1)
        rate, noise, clip = RATES[name][step % len(RATES[name])], 2.0 + step % 3, 1.5
        found = f.step(norms, rate=rate, noise_multiplier=noise, clip_norm=clip)
        np.testing.assert_array_equal(found.active, left > 0)
        lengths = norms * found.factors
        assert np.all(lengths <= np.minimum(norms, clip) * (1 + 1e-15))
        charged = left - f.remaining
        exact = cost(f, name, rate, lengths / (noise * clip))
        # Never less than the contribution costs, and little more unless the budget ended here.
        assert np.all(charged >= exact * (1 - 1e-9))
        free = (f.remaining > 0) & (norms > 0)
        np.testing.assert_allclose(charged[free], exact[free], rtol=2e-4)
        np.testing.assert_allclose(lengths[free], np.minimum(norms, clip)[free], rtol=1e-12)
        ended = (left > 0) & (f.remaining == 0)
        np.testing.assert_allclose(exact[ended], left[ended], rtol=2e-4)
        left = f.remaining
    assert 0 < np.count_nonzero(left == 0) < examples


@EVERY
def test_never_overdrawn(name: str) -> None:
    """Ten thousand examples at once, norms that aim at what is left."""
    rng = np.random.default_rng(6)
    examples = 10_000
    f = MAKERS[name](examples)
    total = np.zeros(examples)
    for _ in range(15):
        rate, noise = float(rng.choice(RATES[name])), float(10 ** rng.uniform(-0.5, 1.5))
        # Lengths that cost roughly what is left, or the limit, or anything.
        near = np.sqrt(f.remaining) * noise * (1 + rng.integers(-2, 3, examples) * 2.0**-52)
        norms = np.where(rng.random(examples) < 0.5, near, 10 ** rng.uniform(-9, 2, examples))
        before = f.remaining
        found = f.step(norms, rate=rate, noise_multiplier=noise)
        total += cost(f, name, rate, norms * found.factors / noise)
        assert np.all(f.remaining >= 0)
        assert np.all(f.remaining <= before)
        assert np.all(f.spent <= f.budget)
    assert np.all(total <= f.budget * (1 + 1e-9))


def test_charge_is_by_the_clipped_norm() -> None:
    """Errata: a long gradient pays for what is left of it after clipping."""
    f = filters.Individual.gaussian(examples=3, mu=1.0)
    f.step([0.5, 2.0, 1e6], noise_multiplier=4.0, clip_norm=2.0)
    np.testing.assert_allclose(f.spent, [1 / 256, 1 / 16, 1 / 16], rtol=1e-12)


def test_exhausted_examples_drop_out() -> None:
    """The last contribution is shortened, the next one is nothing; others go on."""
    f = filters.Individual.gaussian(examples=2, mu=1.0)
    first = f.step([1.0, 0.1], noise_multiplier=0.5)
    np.testing.assert_allclose(first.factors, [0.5, 1.0], rtol=1e-12)
    assert f.active.tolist() == [False, True]
    second = f.step([1.0, 0.1], noise_multiplier=0.5)
    assert second.active.tolist() == [False, True]
    assert second.factors.tolist() == [0.0, 1.0]
    assert f.report().exhausted == 1


def test_fractional_orders() -> None:
    """From a coarser table: never too little, and not much too much."""
    f = filters.Individual.renyi(examples=200, epsilon=4.0, delta=1e-3, order=3.7)
    norms = np.linspace(0.005, 1.0, 200)
    f.step(norms, rate=0.1, noise_multiplier=0.7)
    exact = sampled_divergences(3.7, 0.1, (norms / 0.7) ** 2)
    assert np.all(f.spent >= exact * (1 - 1e-9))
    np.testing.assert_allclose(f.spent, exact, rtol=2e-3)


def test_unused_examples_pay_nothing() -> None:
    """A zero gradient is free; a tiny one is not."""
    f = filters.Individual.gaussian(examples=2, mu=1.0)
    f.step([0.0, 1e-200], noise_multiplier=1.0)
    assert f.spent[0] == 0.0 < f.spent[1]


@EVERY
def test_kind_and_guarantee(name: str) -> None:
    """Proven where the filter is."""
    f = MAKERS[name](1)
    expected = "proven" if name in ("renyi", "gaussian") else "asymptotic"
    assert f.kind == f.guarantee().kind == expected
    assert ("note" in f.guarantee().answer(delta=1e-5).details) == (expected == "asymptotic")
    if name == "renyi":
        assert f.guarantee().epsilon(1e-5) <= 1.0


def test_report_is_marked() -> None:
    """A histogram over all examples, and a warning on top."""
    f = filters.Individual.gaussian(examples=100, mu=1.0)
    f.step(np.linspace(0.0, 1.0, 100), noise_multiplier=1.0)
    report = f.report()
    assert not report.releasable
    assert str(report).startswith("NOT RELEASABLE")
    counts, edges = report.histogram(bins=4)
    assert counts.sum() == 100
    np.testing.assert_allclose(edges, [0, 0.25, 0.5, 0.75, 1])
    # Shares are squares of the norms: half of the norms are below 1/2.
    assert counts[0] == 50


def test_state_survives(tmp_path) -> None:
    """Saved and loaded, the run goes on as if nothing had happened; other rules are refused."""
    path = tmp_path / "state.npz"
    f = MAKERS["renyi"](5)
    f.step(np.arange(5.0), noise_multiplier=3.0)
    f.save(path)
    again = MAKERS["renyi"](5)
    again.load(path)
    assert again.steps == 1
    np.testing.assert_array_equal(again.remaining, f.remaining)
    for other in (MAKERS["renyi"](4), MAKERS["gaussian"](5)):
        with pytest.raises(InvalidParameter, match="path"):
            other.load(path)


@pytest.mark.parametrize("left", [[1.0, 2.0], [1.0, math.nan], [1.0, -0.5], [1.0, 1e-30]])
def test_damaged_states_are_refused(left: list[float], tmp_path) -> None:
    """No example gets more than its budget, or what is not a sum of charges."""
    path = tmp_path / "state.npz"
    f = filters.Individual.gaussian(examples=2, mu=1.0)
    f.save(path)
    with np.load(path) as kept:
        parts = dict(kept)
    np.savez(path, **{**parts, "remaining": np.array(left)})
    with pytest.raises(InvalidParameter, match="path"):
        f.load(path)
    path.write_text("nothing")
    for other in (path, tmp_path / "none"):
        with pytest.raises(InvalidParameter, match="path"):
            f.load(other)
    assert np.all(f.remaining == f.budget)


def test_a_state_that_is_behind_is_refused(tmp_path) -> None:
    """Loading it would give budget back; a state that is as far, or further, is taken."""
    f = filters.Individual.gaussian(examples=2, mu=1.0)
    for number in (1, 2):
        f.step([0.5, 0.1], noise_multiplier=2.0)
        f.save(tmp_path / f"{number}.npz")
    spent = f.spent
    with pytest.raises(InvalidParameter, match=r"not behind .* 2 steps, got .*1 steps"):
        f.load(tmp_path / "1.npz")
    np.testing.assert_array_equal(f.spent, spent)
    f.load(tmp_path / "2.npz")
    again = filters.Individual.gaussian(examples=2, mu=1.0)
    again.step([0.0, 1.0], noise_multiplier=2.0)
    # More steps, but what the second example spent here is not in it.
    with pytest.raises(InvalidParameter, match="not behind"):
        again.load(tmp_path / "2.npz")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("use", ["step", "save", "load"])
def test_a_child_process_spends_nothing(use: str, tmp_path) -> None:
    """It has a copy of every budget, and may neither spend from it nor keep it."""
    f = filters.Individual.gaussian(examples=2, mu=1.0)
    path = tmp_path / "state.npz"
    f.save(path)
    before = path.read_bytes()
    uses = {
        "step": lambda: f.step([1.0, 1.0], noise_multiplier=2.0),
        "save": lambda: f.save(path),
        "load": lambda: f.load(path),
    }
    child = os.fork()
    if child == 0:
        try:
            uses[use]()
        except HockeystickError as error:
            os._exit(0 if "belongs to process" in str(error) else 2)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert path.read_bytes() == before
    uses[use]()


def test_mutated_states(tmp_path) -> None:
    """Flipped, cut and overwritten files: one sentence, or what was spent, never less."""
    path = tmp_path / "state.npz"
    f = filters.Individual.gaussian(examples=3, mu=1.0)
    f.step([1.0, 0.5, 0.0], noise_multiplier=3.0)
    f.save(path)
    whole, rng = path.read_bytes(), np.random.default_rng(11)
    refused = 0
    for turn in range(300):
        damaged = bytearray(whole)
        place = int(rng.integers(len(whole)))
        if turn % 10 == 0:
            del damaged[place:]
        else:
            damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        again = filters.Individual.gaussian(examples=3, mu=1.0)
        try:
            again.load(path)
        except InvalidParameter:
            refused += 1
            continue
        assert np.all(again.spent >= f.spent)
    assert refused > 100


def test_budgets_and_clip_norms_out_of_range() -> None:
    """Budgets that are 0 or infinite as numbers are refused; tiny clip norms are not."""
    for mu in (1e-170, 1e200):
        with pytest.raises(InvalidParameter, match="budget"):
            filters.Individual.gaussian(examples=2, mu=mu)
    f = filters.Individual.gaussian(examples=2, mu=10.0)
    step = f.step([1e10, 0.0], noise_multiplier=1.0, clip_norm=1e-300)
    assert f.spent[0] >= 1.0
    assert 0 < step.factors[0] <= 1e-310
    assert "gaussian" in repr(f)


@pytest.mark.parametrize(
    "norms", [[1.0], [1.0, math.nan], [1.0, -1.0], [1.0, math.inf], [[1.0, 2.0]], ["a", "b"]]
)
def test_wrong_norms(norms: object) -> None:
    """One finite norm for each example."""
    f = filters.Individual.gaussian(examples=2, mu=1.0)
    with pytest.raises(InvalidParameter, match="norms"):
        f.step(norms, noise_multiplier=1.0)
    assert f.steps == 0


def test_rates_outside_the_regime() -> None:
    """As in the filter for all."""
    f = filters.Individual.approximate(examples=2, mu=1.0)
    with pytest.raises(InvalidParameter, match="rate"):
        f.step([1.0, 1.0], rate=0.5, noise_multiplier=1.0)
    assert np.all(f.spent == 0)


@pytest.mark.slow
@EVERY
def test_a_million_examples(name: str) -> None:
    """A step is a few array operations: a second at most, tens of milliseconds as a rule."""
    from time import process_time

    f = MAKERS[name](1_000_000)
    norms = np.random.default_rng(7).lognormal(0.0, 1.0, 1_000_000)
    f.step(norms, rate=RATES[name][0], noise_multiplier=5.0)
    start = process_time()
    f.step(norms, rate=RATES[name][0], noise_multiplier=5.0)
    assert process_time() - start < 1.0

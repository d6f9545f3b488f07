"""What holds for every registered sampling scheme."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import json
import math
import pickle
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hockeystick.errors import InvalidParameter
from hockeystick.schemes import (
    SCHEMES,
    BallsInBins,
    ConjecturedUserMinSep,
    CyclicPoisson,
    FormedBatches,
    FullBatch,
    MinSep,
    Poisson,
    RandomAllocation,
    Sampling,
    Shuffle,
    UserMinSep,
)
from in_one_test import in_one_test

RATES = st.floats(min_value=1e-6, max_value=1.0)
ALLOCATIONS = st.tuples(st.integers(1, 12), st.integers(0, 12)).map(
    lambda pair: RandomAllocation(picks=pair[0], out_of=sum(pair), truncate=True)
)
CAPS = st.none() | st.integers(1, 5)
USERS: dict[str, st.SearchStrategy[Any]] = {
    "rate": RATES,
    "separation": st.integers(1, 12),
    "examples_per_user": st.integers(1, 3),
    "warm_up": st.integers(0, 15),
    "max_participations": CAPS,
}
DRAWABLE: dict[str, st.SearchStrategy[Sampling]] = {
    "full-batch": st.builds(FullBatch),
    "poisson": st.builds(Poisson, rate=RATES),
    "cyclic-poisson": st.builds(
        CyclicPoisson, rate=RATES, groups=st.integers(1, 12), random_phase=st.booleans()
    ),
    "balls-in-bins": st.builds(BallsInBins, bins=st.integers(1, 50)),
    "random-allocation": ALLOCATIONS,
    "min-sep": st.builds(
        MinSep,
        rate=RATES,
        separation=st.integers(1, 12),
        warm_start=st.booleans(),
        max_participations=CAPS,
    ),
    "user-min-sep": st.builds(UserMinSep, **USERS),
    "conjectured-user-min-sep": st.builds(ConjecturedUserMinSep, **USERS),
    "formed-batches": st.builds(
        FormedBatches,
        batch_size=st.integers(1, 20),
        separation=st.integers(1, 12),
        max_participations=CAPS,
    ),
}
ANY = DRAWABLE | {"shuffle": st.builds(Shuffle, batch_size=st.integers(1, 1000))}
RANDOM: list[Sampling] = [
    Poisson(rate=0.3),
    CyclicPoisson(rate=0.3, groups=4),
    CyclicPoisson(rate=0.3, groups=4, random_phase=True),
    MinSep(rate=0.3, separation=4),
    UserMinSep(rate=0.1, separation=4, examples_per_user=1),
    ConjecturedUserMinSep(rate=0.3, separation=4, examples_per_user=1, warm_up=8),
    BallsInBins(bins=5),
    RandomAllocation(picks=1, out_of=5),
    RandomAllocation(picks=2, out_of=5),
]
OPTIONS: dict[str, dict[str, Any]] = {
    "cyclic-poisson": {"groups": 4},
    "min-sep": {"separation": 4},
    "user-min-sep": {"separation": 4},
    "conjectured-user-min-sep": {"separation": 4},
    "formed-batches": {"separation": 4},
}

some_scheme = st.one_of(*ANY.values())
drawable_scheme = st.one_of(*DRAWABLE.values())
every_class = pytest.mark.parametrize("cls", SCHEMES.values(), ids=SCHEMES.keys())
every_random = pytest.mark.parametrize("scheme", RANDOM, ids=str)

NOT_COUNTS = [0, -1, 2.5, 3.0, math.nan, math.inf, True, "3", None]
NOT_SIZES = [0, -1.0, math.nan, math.inf, "3", None]


def collect(scheme: Sampling, **arguments: Any) -> list[list[int]]:
    """All batches as lists."""
    return [batch.tolist() for batch in scheme.batches(**arguments)]


def test_every_scheme_is_covered_here() -> None:
    """A newly registered scheme must join the strategies of this file."""
    assert ANY.keys() == SCHEMES.keys()


@in_one_test
@every_class
def test_name_is_the_class_name_in_kebab_case(cls: type[Sampling]) -> None:
    """RandomAllocation is registered as random-allocation, and so on."""
    assert SCHEMES[re.sub(r"(?<!^)(?=[A-Z])", "-", cls.__name__).lower()] is cls


@in_one_test
@every_class
def test_fields_are_keyword_only(cls: type[Sampling]) -> None:
    """No scheme takes a positional argument."""
    kinds = {p.kind for p in inspect.signature(cls).parameters.values()}
    assert kinds <= {inspect.Parameter.KEYWORD_ONLY}
    with pytest.raises(TypeError):
        cls(1)  # type: ignore[call-arg]


@given(some_scheme)
def test_schemes_are_frozen(scheme: Sampling) -> None:
    """Neither a field nor a new attribute can be set."""
    for name in [*(field.name for field in dataclasses.fields(scheme)), "other"]:
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(scheme, name, 1)


@given(some_scheme)
def test_description_round_trips_through_json(scheme: Sampling) -> None:
    """The description names the scheme and rebuilds an equal one."""
    description = json.loads(json.dumps(scheme.describe()))
    assert SCHEMES[description.pop("scheme")](**description) == scheme


@given(some_scheme)
def test_equal_schemes_are_interchangeable(scheme: Sampling) -> None:
    """Copies made by pickling are equal and hash alike."""
    copy = pickle.loads(pickle.dumps(scheme))
    assert copy == scheme
    assert hash(copy) == hash(scheme)


@given(drawable_scheme, st.integers(1, 60), st.integers(1, 40), st.integers(0, 2**64))
def test_batches_are_sorted_sets_of_indices(
    scheme: Sampling, examples: int, steps: int, seed: int
) -> None:
    """Exactly `steps` int64 arrays, strictly increasing, within range."""
    batches = list(scheme.batches(examples=examples, steps=steps, rng=seed))
    assert len(batches) == steps
    for batch in batches:
        assert batch.dtype == np.int64
        assert batch.ndim == 1
        assert np.all(np.diff(batch) > 0)
        assert np.all((batch >= 0) & (batch < examples))


@given(drawable_scheme, st.integers(1, 40), st.integers(1, 40), st.integers(0, 2**64))
def test_no_example_exceeds_its_participations(
    scheme: Sampling, examples: int, steps: int, seed: int
) -> None:
    """`most_participations` bounds every run."""
    joined = np.concatenate(list(scheme.batches(examples=examples, steps=steps, rng=seed)))
    counts = np.bincount(joined, minlength=examples)
    assert counts.max() <= scheme.most_participations(steps) <= steps


@given(drawable_scheme, st.integers(1, 40), st.integers(1, 30), st.integers(0, 2**64))
def test_a_batch_belongs_to_the_caller(
    scheme: Sampling, examples: int, steps: int, seed: int
) -> None:
    """Overwriting a batch in place changes none of the later ones."""
    expected = collect(scheme, examples=examples, steps=steps, rng=seed)
    seen = []
    for batch in scheme.batches(examples=examples, steps=steps, rng=seed):
        seen.append(batch.tolist())
        batch[:] = -1
    assert seen == expected


@in_one_test
@every_random
def test_a_seed_reproduces_the_run(scheme: Sampling) -> None:
    """The same seed gives the same batches, another seed gives others."""
    first = collect(scheme, examples=200, steps=10, rng=7)
    assert collect(scheme, examples=200, steps=10, rng=7) == first
    assert collect(scheme, examples=200, steps=10, rng=8) != first


@in_one_test
@every_random
def test_default_randomness_is_fresh(scheme: Sampling) -> None:
    """Two runs without `rng` differ (they agree with probability far below 1e-100)."""
    first, second = (collect(scheme, examples=500, steps=10) for _ in range(2))
    assert first != second


@in_one_test
@every_random
def test_a_shared_generator_moves_on(scheme: Sampling) -> None:
    """A generator that is passed twice continues, it does not start again."""
    rng = np.random.default_rng(5)
    first, second = (collect(scheme, examples=200, steps=10, rng=rng) for _ in range(2))
    assert first != second


@every_random
def test_mean_batch_size_is_the_expected_one(scheme: Sampling) -> None:
    """The average over 4,000 steps is within six standard errors of Poisson sampling's."""
    sizes = [len(batch) for batch in scheme.batches(examples=100, steps=4000, rng=11)]
    expected = scheme.expected_batch_size(100)
    assert abs(np.mean(sizes) - expected) <= 6 * math.sqrt(expected / 4000)


@in_one_test
@every_random
def test_batches_are_streamed(scheme: Sampling) -> None:
    """A run of a million million steps starts at once."""
    first = list(itertools.islice(scheme.batches(examples=10, steps=10**12, rng=1), 3))
    assert len(first) == 3


@pytest.mark.parametrize("bad", NOT_COUNTS)
@given(scheme=some_scheme)
def test_bad_counts_are_refused_at_the_call(scheme: Sampling, bad: Any) -> None:
    """`examples` and `steps` are checked before the first batch is asked for."""
    with pytest.raises(InvalidParameter, match=r"^examples must be"):
        scheme.batches(examples=bad, steps=60)
    with pytest.raises(InvalidParameter, match=r"^steps must be"):
        scheme.batches(examples=10, steps=bad)
    with pytest.raises(InvalidParameter, match=r"^steps must be"):
        scheme.check_steps(bad)
    with pytest.raises(InvalidParameter, match=r"^steps must be"):
        scheme.most_participations(bad)
    with pytest.raises(InvalidParameter, match=r"^examples must be"):
        scheme.expected_batch_size(bad)


@given(some_scheme)
def test_bad_rng_is_refused_at_the_call(scheme: Sampling) -> None:
    """`rng` is checked before the first batch is asked for."""
    with pytest.raises(InvalidParameter, match=r"^rng must be"):
        scheme.batches(examples=10, steps=60, rng="seed")  # type: ignore[arg-type]


@given(some_scheme, st.integers(1, 10**6))
def test_check_steps_returns_a_plain_integer(scheme: Sampling, steps: int) -> None:
    """NumPy integers are accepted and come back as `int`."""
    checked = scheme.check_steps(np.int64(steps))  # type: ignore[arg-type]
    assert type(checked) is int
    assert checked == steps


@in_one_test
@every_class
@pytest.mark.parametrize("bad", NOT_SIZES)
def test_for_batch_size_refuses_non_sizes(cls: type[Sampling], bad: Any) -> None:
    """A batch size must be a finite number above zero."""
    with pytest.raises(InvalidParameter, match=r"^batch_size must be"):
        cls.for_batch_size(bad, examples=100, **OPTIONS.get(cls.name, {}))


@in_one_test
@every_class
@pytest.mark.parametrize("excess", [101, 100.001, 10**30])
def test_for_batch_size_refuses_more_than_the_data(cls: type[Sampling], excess: float) -> None:
    """A batch larger than the data is a bad `batch_size`."""
    with pytest.raises(InvalidParameter, match=r"^batch_size must be"):
        cls.for_batch_size(excess, examples=100, **OPTIONS.get(cls.name, {}))


@in_one_test
@every_class
@pytest.mark.parametrize("bad", NOT_COUNTS)
def test_for_batch_size_refuses_bad_examples(cls: type[Sampling], bad: Any) -> None:
    """The number of examples must be a positive integer."""
    with pytest.raises(InvalidParameter, match=r"^examples must be"):
        cls.for_batch_size(1, examples=bad, **OPTIONS.get(cls.name, {}))


@in_one_test
@every_class
def test_for_batch_size_takes_only_the_size_by_position(cls: type[Sampling]) -> None:
    """Everything beyond the batch size is a keyword."""
    with pytest.raises(TypeError):
        cls.for_batch_size(4, 16, **OPTIONS.get(cls.name, {}))

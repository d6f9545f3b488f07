"""Privacy statements: what they say, and that they survive JSON."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.errors import InvalidParameter, UnsupportedPlan
from hockeystick.training import RunRecord, Statement, describe_filter, statement, versions_of
from hockeystick.training.filtered import filter_guarantee
from in_one_test import in_one_test

STEPS = 24
PLAN = hs.Plan(sampling=hs.Poisson(rate=0.05), steps=STEPS)
FILTERS = [
    hs.filters.Renyi(epsilon=2.0, delta=1e-5, order=7.5),
    hs.filters.Renyi(epsilon=2.0, delta=1e-5),
    hs.filters.Gaussian(mu=0.7),
    hs.filters.Levy(
        epsilon=2.0,
        delta=1e-5,
        process=hs.filters.LevyProcess(
            gaussian=0.1, unit=0.25, sizes=(1, 3), rates=(0.5, 0.01), killing=1e-9, catalyst=0.1
        ),
    ),
    hs.filters.ApproximateGaussian(mu=0.7, regime="small"),
    hs.filters.Individual.gaussian(examples=5, mu=0.7),
    hs.filters.Individual.renyi(examples=5, epsilon=1.0, delta=1e-5),
    hs.filters.Individual.approximate(examples=5, mu=0.7),
]


def record(**changes):
    """A run of the plan that stopped early."""
    facts = {"plan": PLAN, "noise_multiplier": 1.1, "max_grad_norm": 0.5, "taken_steps": 10}
    return RunRecord(**{**facts, **changes})


def through_json(value):
    """What a reader of the file gets."""
    return json.loads(json.dumps(value))


def test_early_stopping_buys_nothing():
    """Epsilon is that of the planned steps, however many were taken; the text says so."""
    early, all_of_them = (statement(record(taken_steps=n), delta=1e-5) for n in (10, STEPS))
    wanted = hs.account(PLAN, noise_multiplier=1.1).epsilon(1e-5)
    assert early.epsilon == all_of_them.epsilon == wanted
    assert early.priced_for == "all planned steps"
    assert (early.taken_steps, early.planned_steps) == (10, STEPS)
    assert "saves nothing" in early.paragraph()
    assert "saves nothing" not in all_of_them.paragraph()


def test_the_facts_of_a_statement():
    """Everything that is needed to judge the number is there."""
    found = statement(record(seeded=True), delta=1e-6, method="renyi")
    assert (found.delta, found.kind, found.method) == (1e-6, "proven", "renyi")
    assert (found.adjacency, found.unit) == ("zero-out / add-remove", "example")
    assert found.scheme == {"scheme": "poisson", "rate": 0.05}
    assert found.strategy["factorization"] == "identity"
    assert (found.noise_multiplier, found.max_grad_norm) == (1.1, 0.5)
    assert set(found.versions) == {"hockeystick", "numpy"}
    assert found.versions["hockeystick"] == hs.__version__
    text = found.paragraph()
    for part in (
        "δ = 1e-06",
        "proven",
        "renyi",
        "poisson sampling (rate 0.05)",
        "norm 0.5",
        "10 of 24",
    ):
        assert part in text
    assert "secret" in text
    assert "secret" not in statement(record(), delta=1e-6).paragraph()


def test_the_paragraph_has_what_is_to_be_reported():
    """The list of the page Guarantees, for a run of its own."""
    plan = hs.Plan(sampling=hs.Poisson(rate=0.2), steps=3)
    run = hs.training.PrivateRun(
        plan, examples=50, dimension=2, noise_multiplier=2.0, max_grad_norm=0.7
    )
    text = run.statement(delta=1e-5).paragraph()
    reported = [
        "ε = 0.99501, δ = 1e-05",
        "examples 50",
        "zero-out / add-remove",
        "each example",
        "proven",
        "poisson sampling (rate 0.2)",
        "independent noise",
        "noise multiplier 2",
        "norm 0.7",
        "3 planned steps",
        "method: profile",
        f"hockeystick {hs.__version__}",
        "other runs on the same data",
        "hyperparameters",
        "preprocessing and evaluation",
    ]
    assert [part for part in reported if part not in text] == []


def test_epsilon_is_rounded_up_in_words():
    """The paragraph never promises more than the number."""
    found = replace(statement(record(), delta=1e-6), epsilon=1.23401)
    assert "ε = 1.2341," in found.paragraph()


def test_users_are_named():
    """The unit is that of the scheme."""
    sampling = hs.UserMinSep(rate=0.1, separation=4, examples_per_user=2)
    run = record(plan=hs.Plan(sampling=sampling, steps=8), taken_steps=8)
    found = statement(run, delta=1e-5, method="poisson-reduction")
    assert found.unit == "user"
    assert "for each user" in found.paragraph()


@in_one_test
@pytest.mark.parametrize("governing", FILTERS, ids=lambda f: str(describe_filter(f)["filter"]))
def test_filters_give_their_own_guarantee(governing):
    """The number and the kind are the filter's, whatever the noise and the steps were."""
    found = statement(record(filter=describe_filter(governing)), delta=1e-5)
    assert found.epsilon == governing.guarantee().epsilon(1e-5)
    assert found.kind == governing.kind
    assert found.priced_for == "the whole budget of the filter"
    marked = "NOT A PROVEN GUARANTEE" in found.paragraph()
    assert marked == (governing.kind == "asymptotic")
    assert "limited the run" in found.paragraph()
    back = filter_guarantee(through_json(describe_filter(governing)))
    assert back.delta(1.0) == governing.guarantee().delta(1.0)


def test_a_description_of_a_filter_is_taken_literally():
    """No kind, ledger or other parameter can be smuggled in; nothing is missing."""
    good = describe_filter(FILTERS[-1])
    for wrong in (
        {**good, "kind": "proven"},
        {**describe_filter(FILTERS[0]), "ledger": "file.db"},
        {"filter": "Gaussian"},
        {"filter": "NaturalFDP", "mu": 1.0},
        {"filter": "Individual renyi", "order": 0.5, "budget": 1.0},
        {"filter": "Individual renyi", "order": 1e30, "budget": 1.0},
        {**describe_filter(FILTERS[0]), "order": None},
        {**good, "regime": []},
        {"filter": "Individual renyi", "order": 2.0, "budget": float("nan")},
        {},
    ):
        with pytest.raises(InvalidParameter):
            filter_guarantee(wrong)


def test_a_filter_described_by_a_profile_is_refused():
    """Numbers alone do not describe it."""
    one = hs.Profile.gaussian(noise_multiplier=2.0)
    natural = hs.filters.NaturalFDP(family=[one], budget=one.self_compose(4))
    with pytest.raises(InvalidParameter, match="filter"):
        describe_filter(natural)


def test_filters_and_plans_they_cannot_account():
    """A correlated plan has no statement by a filter, and a filter takes no method."""
    plan = hs.Plan(
        sampling=hs.Poisson(rate=0.05), steps=STEPS, strategy=hs.strategies.bsr(STEPS, bands=3)
    )
    governed = {"filter": describe_filter(FILTERS[2])}
    with pytest.raises(UnsupportedPlan, match="one at a time"):
        statement(record(plan=plan, **governed), delta=1e-5)
    with pytest.raises(InvalidParameter, match="method"):
        statement(record(**governed), delta=1e-5, method="renyi")


def test_json_keeps_everything(tmp_path):
    """Text and file give the same statement back; one line for each fact."""
    plan = hs.Plan(sampling=hs.CyclicPoisson(rate=0.3, groups=4), steps=STEPS, strategy=MATRIX_PLAN)
    found = statement(record(plan=plan, versions=versions_of("scipy", "no-such")), delta=1e-5)
    assert Statement.from_json(found.to_json()) == found
    path = found.save(tmp_path / "statement.json")
    assert Statement.load(path) == found
    assert path.read_text() == found.to_json()
    assert found.to_json().count("\n") == len(json.loads(path.read_text())) + 2
    assert set(found.versions) == {"hockeystick", "numpy", "scipy"}
    assert [file.name for file in tmp_path.iterdir()] == ["statement.json"]
    assert found.plan.sampling == plan.sampling


MATRIX_PLAN = hs.strategies.from_matrix(np.eye(STEPS) + 0.5 * np.eye(STEPS, k=-1))


@in_one_test
@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": "1"},
        {"epsilon": -1.0},
        {"delta": 1.0},
        {"kind": "certain"},
        {"planned_steps": 2.5},
        {"taken_steps": -1},
        {"scheme": "poisson"},
        {"seeded": 1},
        {"note": 3},
        {"accuracy": 2.0},
        {"epsilon": True},
        {"versions": {"numpy": 2}},
        {"format": "another"},
        {"extra": 1},
    ],
    ids=lambda change: next(iter(change)),
)
def test_facts_have_their_types(change):
    """A file with a fact of the wrong type or range, or an unknown one, is no statement."""
    facts = json.loads(statement(record(), delta=1e-5).to_json())
    with pytest.raises(InvalidParameter):
        Statement.from_json(json.dumps({**facts, **change}))


@pytest.mark.parametrize("text", ["", "[]", "{", "NaN", '{"format": 1}', "[" * 100_000])
def test_other_texts_are_no_statements(text):
    """Nothing but `InvalidParameter` comes out of a bad file."""
    with pytest.raises(InvalidParameter, match="statement"):
        Statement.from_json(text)


def test_missing_facts_and_nan():
    """Each fact is needed, and NaN is none."""
    facts = json.loads(statement(record(), delta=1e-5).to_json())
    for name in facts:
        rest = {key: value for key, value in facts.items() if key != name}
        with pytest.raises(InvalidParameter):
            Statement.from_json(json.dumps(rest))
    with pytest.raises(InvalidParameter):
        Statement.from_json(json.dumps({**facts, "epsilon": float("nan")}))


@in_one_test
@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("taken_steps", STEPS + 1),
        ("taken_steps", -1),
        ("taken_steps", 1.0),
        ("taken_steps", True),
        ("noise_multiplier", float("nan")),
        ("max_grad_norm", 0.0),
        ("plan", None),
        ("seeded", "yes"),
    ],
)
def test_records_are_checked(name, wrong):
    """A record cannot say more steps than planned, or anything else that is impossible."""
    with pytest.raises(InvalidParameter, match=name):
        record(**{name: wrong})


def test_other_mechanisms_have_no_statement():
    """Only Gaussian noise can be written down."""
    plan = hs.Plan(sampling=PLAN.sampling, steps=STEPS, mechanism=hs.Profile.laplace(scale=2.0))
    with pytest.raises(UnsupportedPlan, match="Gaussian"):
        statement(record(plan=plan), delta=1e-5)


def test_statement_arguments():
    """NaN for delta, and something that is no record."""
    with pytest.raises(InvalidParameter, match="delta"):
        statement(record(), delta=float("nan"))
    with pytest.raises(InvalidParameter, match="record"):
        statement(PLAN, delta=1e-5)


@pytest.mark.slow
def test_a_verified_claim():
    """A claim that was verified before the run is stated as such, for the same plan only."""
    plan = hs.Plan(sampling=hs.BallsInBins(bins=4), steps=8, strategy=hs.strategies.bsr(8, bands=2))
    claim = hs.verify(plan, noise_multiplier=3.0, epsilon=2.0, delta=1e-2, seed=1)
    run = record(plan=plan, noise_multiplier=3.0, taken_steps=8)
    found = statement(run, delta=1e-2, guarantee=claim)
    assert (found.epsilon, found.kind, found.method) == (2.0, "verified", "monte-carlo")
    assert "verified by simulation before the run" in found.paragraph()
    others = [
        replace(run, noise_multiplier=2.9),
        replace(run, plan=replace(plan, sampling=hs.BallsInBins(bins=8))),
        replace(run, plan=replace(plan, strategy=hs.strategies.bsr(8, bands=3))),
        replace(run, plan=replace(plan, strategy=hs.strategies.from_coefficients([1, 0.5], 8))),
    ]
    for other in others:
        with pytest.raises(InvalidParameter, match="guarantee"):
            statement(other, delta=1e-2, guarantee=claim)
    with pytest.raises(InvalidParameter, match="guarantee"):
        statement(run, delta=1e-2, guarantee=hs.account(plan, noise_multiplier=3.0))


def test_noise_is_described_in_a_sentence():
    """Without a filter as what was done; with one as the settings at the start."""
    plain = statement(record(), delta=1e-6).paragraph()
    assert "and independent noise with noise multiplier 1.1 was added." in plain
    described = describe_filter(hs.filters.Gaussian(mu=0.5))
    governed = statement(record(filter=described), delta=1e-6).paragraph()
    assert "At the start of the run batches were drawn by poisson sampling" in governed
    assert "noise multiplier 1.1 was added; later steps may have had other settings" in governed

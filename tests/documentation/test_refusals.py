"""Refusals name the way out: an alternative that is accepted, and a page that exists."""

from __future__ import annotations

import inspect
import pickle
import re

import numpy as np
import pytest

import hockeystick as hs
from documentation.pages import ROOT, anchors
from hockeystick._foreign import FOREIGN
from hockeystick.cli.main import main
from hockeystick.errors import HockeystickError, InvalidParameter, UnknownParameter, see
from in_one_test import in_one_test

POISSON = hs.Poisson(rate=0.1)
PLAN = hs.Plan(sampling=POISSON, steps=5)
LAPLACE = hs.Profile.laplace(scale=2.0)
OTHER = hs.Plan(sampling=POISSON, steps=5, mechanism=LAPLACE)
USERS = {"rate": 0.1, "separation": 1, "examples_per_user": 2}
SHAPE = {"examples": 20, "dimension": 2, "noise_multiplier": 1.0, "max_grad_norm": 1.0}
SHARED = hs.Attribution.from_pairs(examples=[0, 0, 1], users=[0, 1, 1])
MANY = hs.Attribution.from_users(["ada"] * 50 + ["bob"] * 50)


def shuffled(noise=1.0):
    """The guarantee of a shuffled loader, which nobody knows."""
    return hs.account(hs.Plan(sampling=hs.Shuffle(batch_size=10), steps=5), noise_multiplier=noise)


def bins():
    """What is said to be used instead."""
    return hs.account(hs.Plan(sampling=hs.BallsInBins(bins=5), steps=5), noise_multiplier=1.0)


def spent():
    """A budget of which nothing is left."""
    f = hs.filters.Gaussian(mu=1.0)
    f.request(noise_multiplier=1.0)
    return f


def run(steps, **changes):
    """A run that has taken so many steps."""
    made = hs.training.PrivateRun(PLAN, **{**SHAPE, **changes})
    for _ in range(steps):
        made.step(lambda batch: np.zeros((batch.size, 2)))
    return made


def changed():
    """A run whose noise is set while it runs."""
    run(1).noise_multiplier = 3.0


def users(mechanism=None):
    """A plan for users."""
    return hs.Plan(sampling=hs.UserMinSep(**USERS), steps=5, mechanism=mechanism)


# What is called; what the sentence names; what that is, which has to work.
REFUSALS = {
    "shuffle": (shuffled, "BallsInBins", bins),
    "batches of shuffle": (
        lambda: hs.Shuffle(batch_size=2).batches(examples=9, steps=3),
        "RandomAllocation",
        lambda: hs.RandomAllocation(picks=1, out_of=3).batches(examples=9, steps=3),
    ),
    "a method that does not apply": (
        lambda: hs.account(PLAN, noise_multiplier=1.0, method="gram"),
        "methods that do: .*profile",
        lambda: hs.account(PLAN, noise_multiplier=1.0, method="profile"),
    ),
    "no method": (
        lambda: hs.account(users(LAPLACE)),
        r"mechanism=None",
        lambda: hs.account(users(), noise_multiplier=1.0),
    ),
    "calibrating a mechanism": (
        lambda: hs.calibrate(OTHER, epsilon=1.0, delta=1e-5),
        r"account\(plan\)",
        lambda: hs.account(OTHER).epsilon(1e-5),
    ),
    "verifying a mechanism": (
        lambda: hs.verify(OTHER, noise_multiplier=1.0, epsilon=1.0, delta=1e-5),
        r"account\(plan\)",
        lambda: hs.account(OTHER).epsilon(1e-5),
    ),
    "a filter for correlated noise": (
        lambda: hs.training.PrivateRun(
            hs.Plan(sampling=hs.BallsInBins(bins=5), steps=5),
            filter=hs.filters.Gaussian(mu=1.0),
            **SHAPE,
        ),
        "poisson",
        lambda: run(1, filter=hs.filters.Gaussian(mu=9.0)),
    ),
    "a step too many": (
        lambda: run(6),
        "second run",
        lambda: hs.training.joint_statement([run(5).record(), run(5).record()], delta=1e-5),
    ),
    "a setting of a run": (changed, "another run", lambda: run(1, noise_multiplier=3.0)),
    "a budget that is spent": (
        lambda: spent().request(noise_multiplier=5.0, clip=False),
        "more noise",
        lambda: hs.filters.Gaussian(mu=1.0).request(noise_multiplier=5.0),
    ),
    "users in the place of pairs": (
        lambda: hs.Attribution.from_pairs(examples=[0, 1], users=["ada", "bob"]),
        "from_users",
        lambda: hs.Attribution.from_users(["ada", "bob"]),
    ),
    "several users in the place of one": (
        lambda: hs.Attribution.from_users([["ada", "bob"], ["bob"]]),
        "from_pairs",
        lambda: SHARED,
    ),
    "a batch that exclusion forbids": (
        lambda: hs.UserMinSep.for_batch_size(60, examples=MANY, separation=4),
        "smaller separation",
        lambda: hs.UserMinSep.for_batch_size(60, examples=MANY, separation=1),
    ),
}


def refused(call):
    """The error that a call raises."""
    with pytest.raises(HockeystickError) as caught:
        call()
    return caught.value


def page_of(message):
    """The page that a sentence ends with, if it exists, anchor included."""
    found = re.search(r"See `hockeystick docs ([\w-]+)(?:#([\w-]+))?`\.$", message)
    assert found, message
    page = f"docs/{found[1]}.md"
    assert (ROOT / page).is_file(), message
    assert found[2] is None or found[2] in anchors(ROOT / page), message
    return page


@in_one_test
@pytest.mark.parametrize("case", REFUSALS)
def test_the_way_out_exists(case):
    """Every refusal names an alternative, which is accepted, and a page."""
    call, named, alternative = REFUSALS[case]
    error = refused(call)
    assert re.search(named, str(error)), str(error)
    page_of(str(error))
    alternative()
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


# A call with a name of another tool, and what the sentence has to name.
NAMES = {
    "account(target_epsilon)": (lambda: hs.account(PLAN, target_epsilon=3), "calibrate"),
    "account(epsilon)": (lambda: hs.account(PLAN, epsilon=3), "calibrate"),
    "account(alphas)": (lambda: hs.account(PLAN, alphas=[2, 3]), "method='renyi'"),
    "account(orders)": (lambda: hs.account(PLAN, orders=[2, 3]), "method='renyi'"),
    "calibrate(target_delta)": (
        lambda: hs.calibrate(PLAN, epsilon=1, target_delta=1e-5),
        "called delta here",
    ),
    "calibrate(sample_rate)": (
        lambda: hs.calibrate(PLAN, epsilon=1, delta=1e-5, sample_rate=0.1),
        "Poisson",
    ),
    "verify(sigma)": (lambda: hs.verify(PLAN, sigma=1), "noise_multiplier"),
    "Plan(neighboring_relation)": (
        lambda: hs.Plan(sampling=POISSON, steps=5, neighboring_relation="x"),
        "adjacency",
    ),
    "Plan(num_steps)": (lambda: hs.Plan(sampling=POISSON, num_steps=5), "called steps here"),
    "Poisson(sample_rate)": (lambda: hs.Poisson(sample_rate=0.1), "called rate here"),
    "Poisson(truncated_batch_size)": (
        lambda: hs.Poisson(rate=0.1, truncated_batch_size=9),
        "called max_batch_size here",
    ),
    "MinSep(max_batch_size)": (
        lambda: hs.MinSep(rate=0.1, separation=4, max_batch_size=9),
        "Poisson(rate=..., max_batch_size=...)",
    ),
    "for_batch_size(n)": (lambda: hs.Poisson.for_batch_size(9, n=99), "called examples here"),
    "MinSep(min_sep)": (lambda: hs.MinSep(rate=0.1, min_sep=4), "called separation here"),
    "compare(dataset_size)": (lambda: hs.compare(dataset_size=9), "called examples here"),
    "Renyi(target_epsilon)": (
        lambda: hs.filters.Renyi(target_epsilon=1, delta=1e-5),
        "called epsilon here",
    ),
    "PrivateRun(l2_norm_clip)": (
        lambda: hs.training.PrivateRun(PLAN, examples=9, l2_norm_clip=1.0),
        "called max_grad_norm here",
    ),
    "fit_logistic(lr)": (lambda: hs.training.fit_logistic([], [], lr=1), "called learning_rate"),
    "Profile.gaussian(sigma)": (
        lambda: hs.Profile.gaussian(sigma=1.0),
        "called noise_multiplier here",
    ),
    "request(sigma)": (lambda: spent().request(sigma=1.0), "called noise_multiplier here"),
}


@in_one_test
@pytest.mark.parametrize("case", NAMES)
def test_names_of_other_tools(case):
    """One sentence, an error that is also a `TypeError`, and what to write here."""
    call, named = NAMES[case]
    error = refused(call)
    assert isinstance(error, UnknownParameter)
    assert isinstance(error, InvalidParameter)
    assert isinstance(error, TypeError)
    assert named in str(error), str(error)
    page_of(str(error))
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_other_unknown_names():
    """A slip gets the name that was meant, anything else the names that there are."""
    assert str(refused(lambda: hs.account(PLAN, noise_multipler=1))).endswith(
        "did you mean noise_multiplier?"
    )
    assert "it takes plan, noise_multiplier" in str(refused(lambda: hs.account(PLAN, whatever=1)))


def test_values_without_a_name():
    """What is given by name only is named."""
    assert str(refused(lambda: hs.Poisson(0.01))) == (
        "Poisson has no parameter without a name: write rate=0.01."
    )
    assert "account has no parameter without a name: write noise_multiplier=1.5" in str(
        refused(lambda: hs.account(PLAN, 1.5))
    )


def test_signatures_stay():
    """Whoever asks for the parameters of a checked function or class sees its own."""
    assert "noise_multiplier" in inspect.signature(hs.account).parameters
    names = ["rate", "max_participations", "max_batch_size"]
    assert list(inspect.signature(hs.Poisson).parameters) == names
    assert list(inspect.signature(hs.Poisson.for_batch_size).parameters)[:2] == [
        "batch_size",
        "examples",
    ]


def test_pages_of_the_table():
    """Every name of the table leads to a page that exists."""
    for found in FOREIGN.values():
        page_of(see(found.page))


OPTIONS = (
    "neighboring-relation truncated-batch-size alphas target-epsilon target-delta sample-rate "
    "sigma noise num-steps iterations dataset-size n lr"
)


@in_one_test
@pytest.mark.parametrize("option", OPTIONS.split())
def test_options_of_other_tools(option, capsys):
    """On the command line: exit status 2, one line, Typer's words and ours, and the page."""
    assert main(["epsilon", f"--{option}", "1"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: No such option: --{option}")
    assert "Possible options" not in line
    page_of(line)

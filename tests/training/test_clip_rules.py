"""Rules of clipping: what one example can add to a sum, whichever rule it is."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hockeystick as hs
from hockeystick.errors import InvalidParameter
from hockeystick.training.clip_rules import clip_rule
from hockeystick.training.gradients import clipped_sum

SIZES = st.lists(st.integers(1, 10**6), min_size=1, max_size=40)


@given(sizes=SIZES, norms=st.sampled_from(["equal", "proportional"]), clip=st.floats(1e-6, 1e6))
def test_layers_together_are_not_longer_than_the_clip_norm(sizes, norms, clip):
    """The root of the squared norms of all layers, exactly summed, is at most max_grad_norm."""
    names = [str(i) for i in range(len(sizes))]
    parts = hs.training.PerLayer(norms=norms).parts(names, sizes, max_grad_norm=clip)
    found = math.fsum((share * clip) ** 2 for share in parts.shares)
    assert found <= clip**2
    assert found >= clip**2 * (1 - 1e-12)
    if norms == "proportional":
        assert parts.shares[0] == pytest.approx(math.sqrt(sizes[0] / sum(sizes)), rel=1e-12)


@given(norms=st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=20))
def test_fixed_norms_determine_the_clip_norm(norms):
    """It is the root of their squares, rounded up by less than 1e-14."""
    names = [f"layer {i}" for i in range(len(norms))]
    rule = hs.training.PerLayer(norms=dict(zip(names, norms, strict=True)))
    parts = rule.parts(names, [3] * len(names), max_grad_norm=None)
    exact = math.sqrt(math.fsum(n * n for n in norms))
    assert exact <= parts.max_grad_norm <= exact * (1 + 1e-14)
    assert parts.described["norms"] == pytest.approx(dict(zip(names, norms, strict=True)))


@given(length=st.floats(0, 1e150), clip=st.floats(1e-3, 1e3), gamma=st.floats(1e-6, 10))
def test_automatic_clipping_is_below_the_clip_norm(length, clip, gamma):
    """C |g| / (|g| + gamma), for short and for long gradients."""
    row = np.zeros((1, 3))
    row[0, 1] = length
    found = float(np.linalg.norm(clipped_sum(row, clip, gamma=gamma)))
    assert found <= clip * (1 + 2**-52)
    assert found == pytest.approx(clip * length / (length + gamma), rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("arithmetic", ["float", "exact"])
def test_one_example_more_changes_a_sum_by_the_clip_norm(arithmetic):
    """The difference of two runs with the same noise, with and without an example."""
    rows = np.random.default_rng(1).normal(size=(20, 4)) * np.geomspace(1e-3, 1e3, 20)[:, None]
    found = []
    for left_out in (None, 17):
        run = hs.training.PrivateRun(
            hs.Plan(sampling=hs.FullBatch(), steps=1),
            examples=20,
            dimension=4,
            noise_multiplier=1.0,
            max_grad_norm=0.7,
            rng=5,
            arithmetic=arithmetic,
            clipping=hs.training.Automatic(gamma=0.1),
        )
        used = rows.copy()
        if left_out is not None:
            used[left_out] = 0.0
        found.append(run.step(lambda batch, used=used: used[batch]) * run.expected_batch_size)
        assert run.record().clipping == {"clipping": "automatic", "gamma": 0.1}
    change, length = np.linalg.norm(found[0] - found[1]), np.linalg.norm(rows[17])
    assert 0.99 * 0.7 * length / (length + 0.1) <= change <= 0.7


@pytest.mark.parametrize(
    "options",
    [
        {"clipping": "per_layer"},
        {"clipping": None},
        {"clipping": "ghost"},
        {"clipping": "per-layer"},
    ],
)
def test_vectors_have_no_layers(options):
    """Refused with what is allowed instead."""
    with pytest.raises(InvalidParameter, match="clipping"):
        hs.training.PrivateRun(
            hs.Plan(sampling=hs.FullBatch(), steps=1),
            examples=2,
            dimension=1,
            noise_multiplier=1.0,
            max_grad_norm=1.0,
            **options,
        )


@pytest.mark.parametrize(
    ("rule", "wrong"),
    [
        (hs.training.Automatic, {"gamma": 0.0}),
        (hs.training.Automatic, {"gamma": math.nan}),
        (hs.training.PerLayer, {"norms": "largest"}),
        (hs.training.PerLayer, {"norms": {}}),
        (hs.training.PerLayer, {"norms": {"a": -1.0}}),
        (hs.training.PerLayer, {"norms": [1.0]}),
        (hs.training.Flat, {"computed": "fast"}),
    ],
)
def test_wrong_rules_are_refused(rule, wrong):
    """By name, with the allowed range."""
    with pytest.raises(InvalidParameter):
        rule(**wrong)


def test_norms_are_for_the_layers_of_the_model():
    """A layer without a norm, and a clip norm beside given norms, are refused."""
    rule = clip_rule(hs.training.PerLayer(norms={"a": 1.0}))
    with pytest.raises(InvalidParameter, match="norms"):
        rule.parts(["a", "b"], [1, 1], max_grad_norm=None)
    with pytest.raises(InvalidParameter, match="left out"):
        rule.parts(["a"], [1], max_grad_norm=1.0)
    with pytest.raises(InvalidParameter, match="max_grad_norm"):
        clip_rule("per-layer").parts(["a"], [1], max_grad_norm=None)


def test_statements_say_how_gradients_were_clipped():
    """The rule is in the file and in the paragraph; norms that do not fit are a contradiction."""
    plan = hs.Plan(sampling=hs.Poisson(rate=0.1), steps=3)
    record = hs.training.RunRecord(
        plan=plan,
        noise_multiplier=1.0,
        max_grad_norm=5.0,
        taken_steps=3,
        clipping={"clipping": "per-layer", "norms": {"a": 3.0, "b": 4.0}},
    )
    stated = hs.training.statement(record, delta=1e-5)
    assert hs.training.Statement.from_json(stated.to_json()) == stated
    assert "layer by layer" in stated.paragraph()
    assert hs.training.check_statement(stated).holds
    larger = {**stated.to_object(), "clipping": {**stated.clipping, "norms": {"a": 3.0, "b": 4.1}}}
    problems = hs.training.check_statement(hs.training.Statement.from_object(larger)).problems
    assert any("norms of the layers" in problem for problem in problems)
    for wrong in ({"clipping": "none"}, {"clipping": "flat", "gamma": 1.0}, {}, "flat"):
        with pytest.raises(InvalidParameter, match="clipping"):
            hs.training.Statement.from_object({**stated.to_object(), "clipping": wrong})


def test_a_gamma_that_squares_would_lose_is_refused():
    """Gradients as short as it would have a length of 0 in floating point."""
    with pytest.raises(InvalidParameter, match="gamma"):
        hs.training.Automatic(gamma=1e-200)
    assert hs.training.Automatic(gamma=1e-20).gamma == 1e-20

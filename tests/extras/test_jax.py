"""Runs in JAX: the plan's batches, exact sums, the law of the noise, refusals, the statement."""

from __future__ import annotations

import math
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from scipy import stats

import hockeystick as hs
from hockeystick.errors import InvalidParameter, PlanMismatch
from hockeystick.jax import JaxRun, plan_noise
from hockeystick.training import Automatic, Flat, PerLayer

STEPS, EXAMPLES = 12, 60
DATA = np.random.default_rng(1).normal(size=(EXAMPLES, 5)).astype(np.float32)
LABELS = (DATA[:, 0] > 0).astype(np.int32)
PARAMS = {
    "first": {"weight": jnp.full((5, 4), 0.1), "bias": jnp.zeros(4)},
    "second": {"weight": jnp.ones((4, 2)) * 0.3},
}
STRATEGIES = {
    "identity": hs.strategies.identity(STEPS),
    "bsr": hs.strategies.bsr(STEPS, bands=3),
    "bisr": hs.strategies.bisr(STEPS, bands=3),
    "matrix": hs.strategies.from_matrix(
        np.tril(np.random.default_rng(3).uniform(0.2, 1.0, (STEPS, STEPS))) + np.eye(STEPS)
    ),
}


def loss(params, example):
    """Cross entropy of one example."""
    point, label = example
    hidden = jnp.tanh(point @ params["first"]["weight"] + params["first"]["bias"])
    return optax.softmax_cross_entropy_with_integer_labels(
        hidden @ params["second"]["weight"], label
    )


def plan_of(**changes):
    """Poisson batches with independent noise, unless it is said otherwise."""
    settled = {"sampling": hs.Poisson(rate=0.2), **changes}
    return hs.Plan(steps=STEPS, **settled)


def run_of(plan=None, **changes):
    """A run on the data above."""
    settled = {"noise_multiplier": 1.0, "max_grad_norm": 0.5, "rng": 4, **changes}
    return JaxRun(plan or plan_of(), loss, PARAMS, examples=EXAMPLES, **settled)


def data_of(batch):
    """The examples of a batch."""
    return DATA[batch.indices], LABELS[batch.indices]


def trained(run):
    """Every step with Optax; the parameters."""
    params, optimizer = PARAMS, optax.adam(0.01)
    state = optimizer.init(params)
    for batch in run.batches():
        updates, state = optimizer.update(run.gradient(params, data_of(batch)), state, params)
        params = optax.apply_updates(params, updates)
    return params


def test_batches_are_those_of_the_numpy_loop():
    """The same seed gives the same examples in every step."""
    seen = []
    numpy_run = hs.training.PrivateRun(
        plan_of(), examples=EXAMPLES, dimension=1, noise_multiplier=1.0, max_grad_norm=1.0, rng=4
    )
    for _ in range(STEPS):
        drawn = []
        numpy_run.step(lambda batch, drawn=drawn: drawn.append(batch) or np.ones((batch.size, 1)))
        seen.append(drawn[-1].tolist())
    run, found = run_of(pad_to=5), []
    for batch in run.batches():
        assert len(batch.indices) % 5 == 0
        found.append(batch.indices[batch.counted].tolist())
        run.gradient(PARAMS, data_of(batch))
    # The probe of the NumPy run asks for parts of its first batch; the last call is the batch.
    assert found == seen


def test_a_run_ends_with_its_statement():
    """All steps; the statement is checked like any other, and so are the steps."""
    plan = plan_of(sampling=hs.FullBatch(), strategy=STRATEGIES["bsr"])
    run = run_of(plan, rng=None)
    params = trained(run)
    stated = run.statement(delta=1e-5, parameters=params)
    assert hs.training.check_statement(stated).holds
    assert stated.taken_steps == STEPS
    assert stated.probe is not None
    assert stated.parameters is not None
    assert not stated.seeded
    assert stated.epsilon == pytest.approx(
        hs.account(plan, noise_multiplier=1.0).epsilon(1e-5), rel=1e-9
    )
    with pytest.raises(PlanMismatch, match="12 steps"):
        run.gradient(params, (DATA[:8], LABELS[:8]))


def explicit(rule, norms, points, labels):
    """Clipped sums by a loop over examples, in double precision, for each layer."""
    total = dict.fromkeys(("first", "second"), 0.0)
    for x, y in zip(points, labels, strict=True):
        own = jax.grad(loss)(PARAMS, (x, y))
        flat = {
            name: np.concatenate([np.asarray(v, np.float64).ravel() for v in layer.values()])
            for name, layer in own.items()
        }
        whole = math.sqrt(sum(float(v @ v) for v in flat.values()))
        for name, v in flat.items():
            if isinstance(rule, Automatic):
                factor = 0.5 / (whole + rule.gamma)
            elif norms is not None:
                factor = min(1.0, norms[name] / max(np.linalg.norm(v), 1e-30))
            else:
                factor = min(1.0, 0.5 / whole)
            total[name] = total[name] + factor * v
    return np.concatenate(list(total.values()))


RULES = [Flat(), Automatic(gamma=0.1), PerLayer(), PerLayer(norms={"first": 0.3, "second": 0.1})]


@pytest.mark.parametrize("rule", RULES, ids=["flat", "automatic", "equal", "fixed"])
def test_sums_and_what_one_example_changes(rule):
    """Sums are those of a loop; with one example more they change by at most the clip norm."""
    fixed = isinstance(rule, PerLayer) and not isinstance(rule.norms, str)
    run = run_of(clipping=rule, max_grad_norm=None if fixed else 0.5)
    points = DATA.copy()
    points[7] *= 1e4
    found = []
    for left_out in (None, 7):
        counted = np.arange(EXAMPLES) != left_out
        sums = run._sums(PARAMS, (points, LABELS), jnp.asarray(counted), run.max_grad_norm)
        assert {leaf.dtype for leaf in jax.tree.leaves(sums)} == {jnp.int32.dtype}
        flat = [np.asarray(leaf, np.float64).ravel() for leaf in jax.tree.leaves(sums)]
        found.append(np.concatenate(flat) * run._lattice.spacing)
    change = np.linalg.norm(found[0] - found[1])
    assert 0.2 * run.max_grad_norm <= change <= run.max_grad_norm
    # Leaves are in alphabetical order: bias before weight.
    wanted = explicit(rule, run.record().clipping.get("norms"), points, LABELS)
    assert np.linalg.norm(found[0] - wanted) <= 1e-3 * run.max_grad_norm
    assert hs.training.check_statement(run.statement(delta=1e-5)).holds


def test_gradients_that_are_not_finite_contribute_nothing():
    """Anywhere, and padding neither."""
    run = run_of()
    points = DATA.copy()
    points[3] = np.nan
    everyone, others = np.ones(EXAMPLES, bool), np.arange(EXAMPLES) != 3
    one = run._sums(PARAMS, (points, LABELS), jnp.asarray(everyone), 0.5)
    other = run._sums(PARAMS, (DATA, LABELS), jnp.asarray(others), 0.5)
    assert all(
        (a == b).all() for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    )


@pytest.mark.parametrize("name", STRATEGIES)
def test_noise_has_its_law(name):
    """C times what is added is white: normal, of the right size, uncorrelated between steps."""
    strategy, count = STRATEGIES[name], 4000
    plan = hs.Plan(sampling=hs.FullBatch(), steps=STEPS, strategy=strategy)
    noise = plan_noise(plan, noise_multiplier=2.0, max_grad_norm=0.5, key=jax.random.key(8))
    state = noise.init({"a": jnp.zeros((40, 50)), "b": jnp.zeros(2000)})
    update, rows = jax.jit(noise.update), []
    for _ in range(STEPS):
        added, state = update({"a": jnp.zeros((40, 50)), "b": jnp.zeros(2000)}, state)
        rows.append(np.concatenate([np.asarray(leaf).ravel() for leaf in added.values()]))
    white = strategy.to_matrix() @ np.array(rows, np.float64)
    assert stats.kstest(white.ravel(), "norm").pvalue > 1e-4
    correlation = white @ white.T / count - np.eye(STEPS)
    assert np.abs(correlation).max() <= 6 * math.sqrt(2 / count)
    after, _ = update({"a": jnp.zeros((40, 50)), "b": jnp.zeros(2000)}, state)
    assert np.isnan(np.asarray(after["b"])).all()


def test_noise_reaches_far_tails():
    """Beyond what 23 bits can give: the transform of the smallest uniform numbers."""
    from hockeystick.jax.draws import _normals

    drawn = np.asarray(_normals(jax.random.key(1), (200_000,)), np.float64)
    assert stats.kstest(drawn, "norm").pvalue > 1e-4
    assert np.isfinite(drawn).all()
    assert math.sqrt(-2 * math.log(2.0**-65)) > 9.4


def test_the_released_mean_is_sum_plus_noise():
    """With a noise of 1e-3 the gradient is the clipped mean over the expected batch size."""
    plan = hs.Plan(sampling=hs.FullBatch(), steps=1)
    run = JaxRun(
        plan, loss, PARAMS, examples=EXAMPLES, noise_multiplier=1e-3, max_grad_norm=0.5, rng=1
    )
    batch = next(iter(run.batches()))
    found = run.gradient(PARAMS, data_of(batch))
    flat = np.concatenate([np.asarray(leaf, np.float64).ravel() for leaf in jax.tree.leaves(found)])
    wanted = explicit(Flat(), None, DATA, LABELS) / EXAMPLES
    assert np.linalg.norm(flat - wanted) <= 1e-3 * 0.5 * 10 / EXAMPLES


def test_refusals():
    """A step without a batch, a batch without a step, other data, other parameters."""
    run = run_of()
    with pytest.raises(PlanMismatch, match="do not come from a batch"):
        run.gradient(PARAMS, (DATA, LABELS))
    batches = iter(run.batches())
    batch = next(batches)
    with pytest.raises(PlanMismatch, match="rows"):
        run.gradient(PARAMS, (DATA, LABELS))
    with pytest.raises(PlanMismatch, match="parameters"):
        run.gradient({"other": jnp.zeros(3)}, data_of(batch))
    with pytest.raises(PlanMismatch, match="was drawn"):
        next(batches)
    for wrong in ({"noise_multiplier": 0.0}, {"clipping": "none"}, {"max_grad_norm": None}):
        with pytest.raises(InvalidParameter):
            run_of(**wrong)
    with pytest.raises(InvalidParameter, match="filter"):
        run_of(filter=hs.filters.Individual.gaussian(mu=1.0, examples=EXAMPLES))


def test_a_filter_ends_the_run():
    """The statement is that of the filter's whole budget."""
    plan = hs.Plan(sampling=hs.Poisson(rate=0.2), steps=STEPS)
    run = run_of(plan, filter=hs.filters.Renyi(epsilon=1.0, delta=1e-5))
    trained(run)
    stated = run.statement(delta=1e-5)
    assert 0 < run.taken_steps < STEPS
    assert stated.epsilon <= 1.0
    assert hs.training.check_statement(stated).holds


SHARDED = """
import jax, jax.numpy as jnp, numpy as np, hockeystick as hs
from jax.sharding import NamedSharding, PartitionSpec as P
assert len(jax.devices()) == 2
mesh = jax.make_mesh((2,), ("x",))
place = NamedSharding(mesh, P("x"))
plan = hs.Plan(sampling=hs.FullBatch(), steps=4, strategy=hs.strategies.bsr(4, bands=2))
noise = hs.jax.plan_noise(plan, noise_multiplier=1.0, max_grad_norm=1.0, key=jax.random.key(2))
found = []
for where in (place, None):
    params = {"w": jnp.zeros((8, 3)) if where is None else jax.device_put(jnp.zeros((8, 3)), where)}
    state = noise.init(params)
    if where is not None:
        assert state.rows["w"].sharding.spec == P(None, "x"), state.rows["w"].sharding
    for _ in range(4):
        added, state = jax.jit(noise.update)(params, state)
    found.append(np.asarray(added["w"]))
np.testing.assert_allclose(found[0], found[1], rtol=1e-6)
"""


def test_noise_is_sharded_like_the_parameters():
    """On two devices: the same noise as on one."""
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    done = subprocess.run(
        [sys.executable, "-c", SHARDED],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_steps_inside_compiled_functions_are_refused():
    """The second call of a compiled step would release the first one's noise again."""
    run = run_of()
    batch = next(iter(run.batches()))
    points = data_of(batch)
    for within in (
        jax.jit(lambda params: run.gradient(params, points)),
        jax.jit(lambda _: run.gradient(PARAMS, points)),
        lambda params: jax.vmap(
            lambda s: run.gradient(jax.tree.map(lambda p: s * p, params), points)
        )(jnp.ones(2)),
    ):
        with pytest.raises(PlanMismatch, match="compiles itself"):
            within(PARAMS)
    assert run.taken_steps == 0
    run.gradient(PARAMS, points)
    assert run.taken_steps == 1


@pytest.mark.parametrize("clipping", ["flat", Automatic(gamma=1e-9)])
def test_no_gradient_is_longer_than_the_clip_norm(clipping):
    """Also where squares underflow or overflow in single precision: what is added is exact."""
    params = {name: jnp.zeros(50) for name in "abc"}
    points = np.random.default_rng(5).normal(size=(4, 3, 50)).astype(np.float32)
    run = JaxRun(
        hs.Plan(sampling=hs.FullBatch(), steps=1),
        lambda weights, point: sum(weights[name] @ point[i] for i, name in enumerate("abc")),
        params,
        examples=4,
        noise_multiplier=1.0,
        max_grad_norm=1.0,
        clipping=clipping,
    )
    for scale in (1e-25, 1e-19, 1e-12, 1.0, 1e17, 1e25):
        for i in range(4):
            sums = run._sums(params, points * np.float32(scale), jnp.arange(4) == i, 1.0)
            whole = np.concatenate([np.asarray(leaf, np.float64) for leaf in sums.values()])
            length = np.linalg.norm(whole) * run._lattice.spacing
            assert length <= 1.0
            # Gradients of ordinary lengths keep theirs; others may be lost.
            assert length >= 0.999 or scale not in {1.0, 1e17}


def test_what_single_precision_cannot_bear_is_refused():
    """Gammas and clip norms whose squares underflow, complex parameters, several processes."""
    for wrong in ({"clipping": Automatic(gamma=1e-18)}, {"max_grad_norm": 1e-17}):
        with pytest.raises(InvalidParameter, match="single precision"):
            run_of(**wrong)
    for params in ({"w": jnp.zeros(3, jnp.complex64)}, {"w": jnp.zeros(3, jnp.int32)}, {}):
        with pytest.raises(InvalidParameter, match="real numbers"):
            JaxRun(plan_of(), loss, params, examples=9, noise_multiplier=1.0, max_grad_norm=1.0)


def test_several_processes_are_refused(monkeypatch):
    """Each would draw batches and noise of its own."""
    monkeypatch.setattr(jax, "process_count", lambda: 2)
    with pytest.raises(InvalidParameter, match="processes"):
        run_of()
    with pytest.raises(InvalidParameter, match="key"):
        plan_noise(plan_of(), noise_multiplier=1.0, max_grad_norm=1.0)


def test_noise_is_never_used_twice():
    """Every run, leaf and step has its own."""
    zeros = {"a": jnp.zeros(30), "b": jnp.zeros(30)}
    plan = hs.Plan(sampling=hs.FullBatch(), steps=3)
    noise = plan_noise(plan, noise_multiplier=1.0, max_grad_norm=1.0)
    update, rows = jax.jit(noise.update), []
    for _ in range(2):
        state = noise.init(zeros)
        for _ in range(3):
            added, state = update(zeros, state)
            rows += [np.asarray(added["a"]), np.asarray(added["b"])]
    correlation = np.corrcoef(np.array(rows)) - np.eye(len(rows))
    assert np.abs(correlation).max() < 0.8


def small_run(plan, *, canaries=None):
    """A linear model on a few examples."""
    x = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    run = hs.jax.JaxRun(
        plan,
        lambda params, example: jnp.sum(params["w"] * example) ** 2,
        {"w": jnp.ones(3)},
        examples=40,
        noise_multiplier=1.0,
        max_grad_norm=0.5,
        rng=3,
        canaries=canaries,
    )
    sizes, params = set(), {"w": jnp.ones(3)}
    for batch in run.batches():
        sizes.add(len(batch.indices))
        found = run.gradient(params, x[batch.indices])
        assert found["w"].shape == (3,)
    return run, sizes


@pytest.mark.parametrize(
    "plan",
    [
        hs.Plan(sampling=hs.Poisson(rate=0.1), steps=50),
        hs.Plan(
            sampling=hs.MinSep(rate=0.1, separation=4),
            steps=50,
            strategy=hs.strategies.bsr(50, bands=4),
        ),
    ],
    ids=["poisson", "min-sep"],
)
def test_runs_with_canaries_are_audited(plan):
    """A correct run is consistent with its plan, and not with less noise."""
    report = small_run(plan, canaries=200)[0].audit()
    assert report.consistent, str(report)
    wrong = hs.audit.check(
        plan, noise_multiplier=1.15, projections=report.projections, members=report.members
    )
    assert not wrong.consistent
    with pytest.raises(hs.errors.PlanMismatch, match="no canaries"):
        small_run(plan)[0].audit()


def test_capped_batches_compile_once():
    """Every batch has the shape of the cap."""
    plan = hs.Plan(sampling=hs.Poisson(rate=0.1, max_batch_size=8), steps=20, examples=40)
    assert small_run(plan)[1] == {8}

"""JAX runs whose batches and noise are those of a plan (extra `jax`: JAX and Optax)."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from hockeystick.errors import BudgetExceeded, InvalidParameter, MissingExtra, PlanMismatch

try:
    import jax
    import jax.numpy as jnp
    import optax  # noqa: F401 - only whether it is there
except ImportError as error:
    raise MissingExtra("Training in JAX needs jax and optax", extra="jax") from error

from hockeystick import _validate as check
from hockeystick.accounting import account
from hockeystick.filters import Filter
from hockeystick.jax.draws import PaddedBatch, PlanNoiseState, plan_noise, row_bound
from hockeystick.jax.sums import (
    IntegerLattice,
    JaxFacts,
    check_gamma,
    check_parameters,
    check_step,
    clipped_sums,
    layers_of_tree,
    noisy_means,
    shapes_of,
)
from hockeystick.plan import Plan
from hockeystick.randomness import RandomSource, generators, is_secret
from hockeystick.schemes import Attribution, Indices
from hockeystick.training.canaries import RunCanaries
from hockeystick.training.clip_rules import ClipRule, clip_rule
from hockeystick.training.filtered import rate_for_filters, warn_of_no_step
from hockeystick.training.fingerprints import fingerprint
from hockeystick.training.gradients import clipping_rule, probe_gradients
from hockeystick.training.plan_object import require_gaussian
from hockeystick.training.record import RunRecord, statement, versions_of
from hockeystick.training.schedules import Schedule, StepSettings, as_lists, with_step
from hockeystick.training.statement_fields import RUN_DIGITS
from hockeystick.training.statements import Statement

__all__ = ["JaxRun", "PaddedBatch", "PlanNoiseState", "plan_noise"]


class JaxRun(JaxFacts):
    """A private run in JAX: `for batch in run.batches(): gradient = run.gradient(params, data)`.

    The loss is a function of the parameters and *one* example; `vmap` gives the gradient of each.
    Gradients are clipped, rounded to a lattice within the clip norm and summed as integers of 32
    bits, and noise is rounded to the same lattice: so the guarantee does not depend on the order of
    sums in single precision. The noise itself is that of `plan_noise`. Everything on the device is
    compiled once for each padded size.

    Parameters
    ----------
    plan
        Batches, steps and noise.
    loss
        loss(params, example), a number; `example` is a pytree like the data without its first
        dimension.
    params
        The parameters, a pytree of arrays; only their structure and shapes are used.
    examples
        The number of examples, or for schemes that protect users the graph of examples and users.
    noise_multiplier, max_grad_norm
        The standard deviation of Z over the clip norm, and the clip norm.
    clipping
        As for `hs.torch.make_private`; a layer is a node of the pytree that has leaves.
    filter
        A privacy filter; its permit is requested before each batch.
    pad_to
        Batches are filled up to a multiple of it; by default an eighth of the expected size, and
        for batches with a cap the cap: then every batch has one shape.
    rng
        One seed for batches and noise; None is secret.
    canaries
        As for `hs.training.PrivateRun`: how many canaries `audit` compares with the plan.
    """

    what = "The private run"

    def __init__(
        self,
        plan: Plan,
        loss: Callable[[Any, Any], Any],
        params: Any,
        *,
        examples: int | Attribution,
        noise_multiplier: float,
        max_grad_norm: float | None = None,
        clipping: str | ClipRule = "flat",
        filter: Filter | None = None,  # noqa: A002 - the word of the interface
        pad_to: int | None = None,
        rng: RandomSource = None,
        canaries: int | None = None,
    ) -> None:
        if not isinstance(plan, Plan):
            raise InvalidParameter("plan", "a Plan", plan)
        require_gaussian(plan)
        self._noise_multiplier = check.positive("noise_multiplier", noise_multiplier)
        if filter is None:
            account(plan, noise_multiplier=self._noise_multiplier)
        elif not isinstance(filter, Filter):
            raise InvalidParameter("filter", "one budget for all examples, or None", filter)
        check_parameters(params)
        names, sizes = layers_of_tree(params)
        self._parts = clip_rule(clipping).parts(names, sizes, max_grad_norm=max_grad_norm)
        check_gamma(self._parts.gamma, sum(sizes))
        self._plan, self._loss, self._shapes = plan, loss, shapes_of(params)
        self._examples = examples.examples if isinstance(examples, Attribution) else examples
        size: Any = plan.sampling.expected_batch_size(examples)  # type: ignore[arg-type]
        self._expected = float(size)
        self._pad_to = plan.sampling.fixed_batch_size or max(round(self._expected / 8), 1)
        if pad_to is not None:
            self._pad_to = check.positive_integer("pad_to", pad_to)
        clip = self._parts.max_grad_norm
        scale = self._noise_multiplier * clip
        self._lattice = IntegerLattice.of(
            max_grad_norm=clip,
            sizes=sizes,
            examples=self._examples,
            noise=scale * row_bound(plan),
        )
        self._permits = clipping_rule(filter, examples=self._examples, gamma=self._parts.gamma)
        rate = None if filter is None else rate_for_filters(plan)
        self._now = StepSettings(self._noise_multiplier, clip, rate)
        self._canaries = RunCanaries.of(
            canaries,
            plan,
            examples=self._examples,
            noise_multiplier=self._noise_multiplier,
            max_grad_norm=clip,
            constant=filter is None,
        )
        self._begin(params, examples, rng)

    def _begin(self, params: Any, examples: int | Attribution, rng: RandomSource) -> None:
        """Batches and noise, each from a source of its own."""
        self._seeded = not is_secret(rng)
        of_noise, *others = generators(rng, 2) if self._seeded else (rng, rng)
        words = np.array([secrets.randbits(32) for _ in range(2)], dtype=np.uint32)
        if self._seeded:
            words = of_noise.integers(2**32, size=2, dtype=np.uint32)  # type: ignore[union-attr]
        self._batches = self._plan.batches(
            examples=examples if self._canaries is None else self._canaries.drawn_from,
            rng=others[0] if others else of_noise,
        )
        noise = plan_noise(
            self._plan,
            noise_multiplier=self._noise_multiplier,
            max_grad_norm=self._parts.max_grad_norm,
            key=jax.random.wrap_key_data(words),
        )
        own = () if self._canaries is None else jnp.zeros(self._canaries.coordinates)
        self._noise_state = noise.init(params if self._canaries is None else (params, own))
        self._sums = jax.jit(clipped_sums(self._loss, self._parts, self._lattice))
        self._noisy = jax.jit(noisy_means(noise, self._lattice.spacing, self._expected))
        self._rows = jax.jit(jax.vmap(jax.grad(self._loss), in_axes=(None, 0)))
        self._taken, self._current = 0, None
        self._clip, self._schedule = self._parts.max_grad_norm, ()
        self._probe: dict[str, object] | None = None
        self._run_id = secrets.token_hex(RUN_DIGITS // 2)
        self._exhausted = False

    _current: PaddedBatch | None
    _schedule: Schedule

    def batches(self) -> Iterator[PaddedBatch]:
        """The batches that are left; each needs one `gradient` before the next one.

        It ends after the plan's steps, or when the filter permits no other.
        """
        while not self.finished:
            if self._current is None:
                self.check_here()
                try:
                    _, self._clip = self._permits.permit(self._now, None)
                except BudgetExceeded:
                    self._exhausted = True
                    if not self._taken:
                        warn_of_no_step()
                    return
                drawn = next(self._batches)
                drawn = drawn if self._canaries is None else self._canaries.without(drawn)
                self._current = PaddedBatch.of(drawn, self._taken, pad_to=self._pad_to)
            taken = self._taken
            yield self._current
            if self._taken == taken:
                raise PlanMismatch(
                    f"The batch of step {taken + 1} was drawn, but run.gradient(...) was not "
                    "called for it; every batch needs its step, also an empty one."
                )

    def gradient(self, params: Any, data: Any) -> Any:
        """The private mean gradient of the current batch, a pytree like the parameters.

        Parameters
        ----------
        params
            The present parameters.
        data
            The examples of the batch, in the order of its indices, padding included: a pytree of
            arrays with the examples in the first dimension.

        Raises
        ------
        PlanMismatch
            Without a batch, a second time for one, if data and batch do not belong together, and
            inside a function that is compiled or transformed: it would be carried out once, and
            its noise be a constant.
        """
        self.check_here()
        if self.finished:
            raise PlanMismatch(
                f"The plan has {self._plan.steps} steps and {self._taken} are taken; a further one "
                "is not accounted: a second run composes with this one.",
                page="docs/stopping.md#train-longer",
            )
        batch = self._current
        if batch is None:
            raise PlanMismatch(
                "The gradients do not come from a batch of the run; iterate over run.batches() and "
                "call run.gradient once for every batch."
            )
        check_step(params, data, shapes=self._shapes, size=len(batch.indices))
        if self._probe is None and batch.size >= 2:
            self._probe = self._probed(params, data, batch)
        sums = self._sums(params, data, jnp.asarray(batch.counted), self._clip)
        if self._canaries is not None:
            own = self._canaries.own(self._lattice.spacing).astype(np.int32)
            sums = (sums, jnp.asarray(own))
        found, self._noise_state = self._noisy(sums, self._noise_state)
        if self._canaries is not None:
            found, released = found
            self._canaries.recorder.add(np.asarray(released, np.float64) * self._expected)
        self._taken, self._current = self._taken + 1, None
        self._schedule = with_step(self._schedule, self._now, self._clip)
        return found

    def _probed(self, params: Any, data: Any, batch: PaddedBatch) -> dict[str, object] | None:
        """Gradients of a few examples together and in halves, as for NumPy runs."""

        def rows(some: Indices) -> Any:
            chosen = jax.tree.map(lambda leaf: jnp.asarray(leaf)[some], data)
            found = self._rows(params, chosen)
            flat = [np.asarray(leaf).reshape(len(some), -1) for leaf in jax.tree.leaves(found)]
            return np.concatenate(flat, axis=1).astype(np.float64)

        return probe_gradients(rows, np.arange(min(batch.size, 8)), step=self._taken + 1)

    def record(self) -> RunRecord:
        """What happened so far."""
        return RunRecord(
            plan=self._plan,
            noise_multiplier=self._noise_multiplier,
            max_grad_norm=self.max_grad_norm,
            taken_steps=self._taken,
            filter=self._permits.filter_description,
            seeded=self._seeded,
            probe=self._probe,
            versions=versions_of("jax", "optax"),
            examples=self._examples,
            run_id=self._run_id,
            taken_schedule=as_lists(self._schedule),
            clipping=self._parts.described,
        )

    def statement(self, *, delta: float, parameters: Any = None, **options: Any) -> Statement:
        """The privacy statement of the run.

        Parameters
        ----------
        delta
            In (0, 1).
        parameters
            The final parameters, of which the statement has the fingerprint.
        options
            Those of `training.statement`.
        """
        if parameters is not None:
            leaves = [np.asarray(leaf, np.float64).ravel() for leaf in jax.tree.leaves(parameters)]
            options["parameters"] = fingerprint(np.concatenate(leaves))
        return statement(self.record(), delta=delta, **options)

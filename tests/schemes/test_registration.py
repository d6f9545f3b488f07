"""A scheme of somebody else: one class and one line, and everything knows it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.accounting.candidates import RunSize, candidates
from hockeystick.cli.main import main
from hockeystick.schemes import (
    SCHEMES,
    Candidate,
    DominatingPair,
    Indices,
    Missing,
    Run,
    Sampling,
    Step,
    register,
)
from hockeystick.training.plan_object import plan_from, sampling_object, strategy_object


@dataclass(frozen=True, kw_only=True)
class Weekly(Sampling):
    """Every `period`-th step is Poisson sampled, the others have no batch.

    Parameters
    ----------
    rate
        Probability that an example joins a batch.
    period
        Steps from one batch to the next.
    """

    name: ClassVar[str] = "weekly"
    rate: float
    period: int

    @classmethod
    def for_batch_size(cls, batch_size: float, *, examples: int, period: int) -> Self:
        """The size is an average over all steps."""
        return cls(rate=batch_size * period / examples, period=period)

    def expected_batch_size(self, examples: int) -> float:
        """Averaged over the period."""
        return self.rate * examples / self.period

    def most_participations(self, steps: int) -> int:
        """Every batch."""
        return -(-steps // self.period)

    def _draw(self, examples: int, steps: int, rng: np.random.Generator) -> Iterator[Indices]:
        for step in range(steps):
            joins = rng.random(examples) < (0 if step % self.period else self.rate)
            yield np.flatnonzero(joins)

    def dominating_pair(self, run: Run) -> object:
        """Poisson sampling in the steps that have a batch."""
        if run.correlated:
            return Missing("it needs independent noise")
        times = self.most_participations(run.steps)

        def pair(step: Step) -> DominatingPair:
            return DominatingPair(step(1.0).subsample(self.rate).self_compose(times), tight=True)

        return pair

    @classmethod
    def candidates(cls, *, batch_size: float, examples: int, steps: int) -> Iterator[Candidate]:
        """Every second step."""
        yield Candidate(cls.for_batch_size(batch_size, examples=examples, period=2))


@pytest.fixture
def registered() -> Iterator[type[Sampling]]:
    """The scheme, registered for one test."""
    yield register(Weekly)
    del SCHEMES["weekly"]


PLAN = hs.Plan(sampling=Weekly(rate=0.1, period=7), steps=70)
SAME = hs.Plan(sampling=hs.Poisson(rate=0.1), steps=10)


def test_account_and_calibrate_need_no_registration() -> None:
    """They ask the scheme of the plan: ten Poisson sampled steps."""
    assert {"gaussian", "profile", "renyi"} <= hs.methods(PLAN).keys()
    for noise in (1.0, 3.0):
        found = hs.account(PLAN, noise_multiplier=noise).epsilon(1e-5)
        assert found == hs.account(SAME, noise_multiplier=noise).epsilon(1e-5)
    needed = [hs.calibrate(plan, epsilon=1.0, delta=1e-5).noise_multiplier for plan in (PLAN, SAME)]
    assert needed[0] == pytest.approx(needed[1], rel=1e-3)


def test_what_it_does_not_offer_is_refused_with_a_reason() -> None:
    """The general one of the base class, which names the scheme."""
    for method in ("conditional", "decomposition", "known-participation", "monte-carlo"):
        with pytest.raises(hs.errors.UnsupportedPlan, match="weekly"):
            hs.account(PLAN, noise_multiplier=1.0, method=method)


def test_the_command_line_knows_it(
    registered: type[Sampling], capsys: pytest.CaptureFixture[str]
) -> None:
    """Its parameters are options, also beside a batch size."""
    words = ["epsilon", "--sampling", "weekly", "--period", "7", "--steps", "70", "--json"]
    words += ["--noise-multiplier", "2", "--delta", "1e-5"]
    expected = hs.account(PLAN, noise_multiplier=2.0).epsilon(1e-5)
    for given in (["--rate", "0.1"], ["--batch-size", "10", "--examples", "700"]):
        assert main([*words, *given]) == 0
        assert json.loads(capsys.readouterr().out)["best"]["epsilon"] == pytest.approx(expected)
    assert main(["epsilon", "--help"]) == 0
    assert "--period" in capsys.readouterr().out


def test_compare_and_statements_know_it(registered: type[Sampling]) -> None:
    """It is tried beside the others, and a plan that was written down is built again."""
    tried = [plan.sampling for plan in candidates(RunSize(examples=100, batch_size=10, steps=4))]
    assert Weekly(rate=0.2, period=2) in tried
    written = sampling_object(PLAN.sampling)
    again = plan_from(scheme=written, strategy=strategy_object(PLAN.strategy), steps=70)
    assert again.sampling == PLAN.sampling


def test_names_are_taken_once(registered: type[Sampling]) -> None:
    """The same class may come again, another one may not have its name."""
    assert register(Weekly) is Weekly

    @dataclass(frozen=True, kw_only=True)
    class Other(Weekly):
        """Another scheme with the same name."""

    with pytest.raises(hs.errors.InvalidParameter, match="weekly"):
        register(Other)
    assert SCHEMES["weekly"] is Weekly

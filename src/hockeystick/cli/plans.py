"""From options to a plan."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from hockeystick.cli.files import mechanism_from, own_strategy
from hockeystick.cli.options import PlanOptions
from hockeystick.cli.parameters import names_of_strategies
from hockeystick.errors import InvalidParameter
from hockeystick.plan import Plan
from hockeystick.schemes import SCHEMES, Attribution, Sampling
from hockeystick.strategies import FACTORIZATIONS, Strategy, iterates

__all__ = ["described", "plan_from", "sampling_from", "strategy_from"]

OF_THE_PLAN = (
    "sampling",
    "steps",
    "epochs",
    "strategy",
    "coefficients",
    "matrix",
    "mechanism",
    "adjacency",
    "attribution",
    "further",
    "optimizer",
)


def plan_from(options: PlanOptions) -> Plan:
    """The plan that the options describe."""
    sampling = sampling_from(options)
    strategy = strategy_from(options, sampling)
    mechanism = None if options.mechanism is None else mechanism_from(options.mechanism)
    return Plan(
        sampling=sampling,
        steps=options.updates,
        strategy=strategy,
        mechanism=mechanism,
        adjacency=options.adjacency,
        examples=_examples(options) if sampling.displaces else None,
    )


def _examples(options: PlanOptions) -> int | None:
    """How many there are, if that was said."""
    data: Any = options.data
    return data.examples if isinstance(data, Attribution) else data


def sampling_from(options: PlanOptions) -> Sampling:
    """The scheme named by --sampling, built from the options of its parameters' names.

    With --batch-size the scheme's `for_batch_size` takes them, otherwise the class itself; their
    signatures say which options are needed and which are allowed.
    """
    scheme = SCHEMES.get(options.sampling)
    if scheme is None:
        raise InvalidParameter("sampling", f"one of {', '.join(SCHEMES)}", options.sampling)
    if options.attribution is not None and scheme.unit != "user":
        allowed = f"left out for {scheme.name} sampling"
        raise InvalidParameter("attribution", allowed, str(options.attribution))
    of_strategies = names_of_strategies()
    given = {n: v for n, v in _given(options).items() if n not in of_strategies}
    if "batch_size" in given:
        if options.data is not None:
            given["examples"] = options.data
        _check(scheme.for_batch_size, given, f"for {scheme.name} sampling with --batch-size")
        return scheme.for_batch_size(**given)
    given.pop("examples", None)  # no parameter of the scheme by itself
    _check(scheme, given, f"for {scheme.name} sampling", instead=scheme.for_batch_size)
    return scheme(**given)


def strategy_from(options: PlanOptions, sampling: Sampling) -> Strategy:
    """The strategy in a file, or the one named by --strategy.

    One that is optimised for a pattern of participations gets the closest that the scheme allows.
    """
    steps = sampling.check_steps(options.updates)
    own = own_strategy(coefficients=options.coefficients, matrix=options.matrix, steps=steps)
    if own is not None:
        _refuse_beside_a_file(options)
        return own
    factorization = FACTORIZATIONS.get(options.strategy)
    if factorization is None:
        raise InvalidParameter("strategy", f"one of {', '.join(FACTORIZATIONS)}", options.strategy)
    of_strategies = names_of_strategies()
    given: dict[str, Any] = {
        **{n: v for n, v in _given(options).items() if n in of_strategies},
        "steps": steps,
    }
    _check(factorization, given, f"for the strategy {options.strategy}")
    if "separation" in inspect.signature(factorization).parameters:
        given["separation"] = sampling.least_gap
        given["participations"] = sampling.most_participations(steps)
    return factorization(**given, **_workload(options, factorization, steps))


def _refuse_beside_a_file(options: PlanOptions) -> None:
    """A strategy in a file has no name and no parameters."""
    named = {"strategy": options.strategy} if options.strategy != "identity" else {}
    of_strategies = names_of_strategies()
    given = {n: v for n, v in _given(options).items() if n in of_strategies}
    for name, value in (named | given | options.optimizer.given()).items():
        raise InvalidParameter(name, "left out with a strategy in a file", value)


def _workload(
    options: PlanOptions, factorization: Callable[..., object], steps: int
) -> dict[str, Any]:
    """What the strategy is optimised for, if that is not the default."""
    asked = options.optimizer.given()
    if not asked:
        return {}
    if "workload" not in inspect.signature(factorization).parameters:
        name, value = next(iter(asked.items()))
        allowed = f"left out for the strategy {options.strategy}, which is not optimised"
        raise InvalidParameter(name, allowed, value)
    rates = options.optimizer.rates(steps=steps)
    momentum = options.optimizer.momentum or 0.0
    return {"workload": iterates(steps, momentum=momentum, learning_rates=rates)}


def described(plan: Plan, options: PlanOptions) -> dict[str, Any]:
    """The plan as plain values; with the batch size that is to be expected, if that is known."""
    data: Any = options.data  # a graph only for a scheme that takes one
    if data is None:
        return plan.describe()
    count = data.examples if isinstance(data, Attribution) else data
    size = plan.sampling.expected_batch_size(data)
    return {**plan.describe(), "examples": count, "expected_batch_size": size}


def _given(options: PlanOptions) -> dict[str, Any]:
    """The parameters that are not left out."""
    known = {n: v for n, v in asdict(options).items() if n not in OF_THE_PLAN}
    return {n: v for n, v in (known | options.further).items() if v is not None}


def _check(
    constructor: Callable[..., object],
    given: dict[str, Any],
    circumstance: str,
    *,
    instead: Callable[..., object] | None = None,
) -> None:
    """Every given option is a parameter, and every parameter without a default is given.

    What `instead` does not ask for can be had from a batch size, and the message says so.
    """
    parameters = inspect.signature(constructor).parameters
    for option, value in given.items():
        if option not in parameters:
            raise InvalidParameter(option, f"left out {circumstance}", value)
    for option, parameter in parameters.items():
        if parameter.default is parameter.empty and option not in given:
            hint = ""
            if instead is not None and option not in inspect.signature(instead).parameters:
                hint = " (or --batch-size and --examples)"
            raise InvalidParameter(option, f"given {circumstance}{hint}", None)

"""Many small cases as one test: what pytest does around a test takes longer than most of them."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable
from typing import Any

import pytest

__all__ = ["in_one_test"]


def in_one_test(function: Callable[..., None]) -> Callable[..., None]:
    """The cases of all `parametrize` below this decorator, one after the other in one test.

    Collecting, starting and reporting twelve thousand tests takes a minute of CPU time before they
    compute anything. A failure names its case. For cases that take milliseconds and share no
    fixture that they change. Cases with marks, as those of `make test-long`, are a second test.
    """
    marks = getattr(function, "pytestmark", [])
    tables = [_table(*mark.args) for mark in marks if mark.name == "parametrize"]
    names = [name for some, _ in tables for name in some]
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    extra = {}
    for rows in itertools.product(*(rows for _, rows in tables)):
        own = [mark for _, some in rows for mark in some]
        values = itertools.chain.from_iterable(values for values, _ in rows)
        key = tuple(sorted({mark.name for mark in own}))
        groups.setdefault(key, []).append(dict(zip(names, values, strict=True)))
        extra[key] = own
    assert groups, f"{function.__name__} has no cases"

    @functools.wraps(function)
    def every_case(cases: list[dict[str, Any]], **fixtures: Any) -> None:
        for case in cases:
            try:
                function(**fixtures, **case)
            except BaseException as error:
                error.add_note("in the case " + ", ".join(f"{n} = {v!r}" for n, v in case.items()))
                raise

    together = [
        pytest.param(some, marks=extra[key], id=" ".join([f"{len(some)} cases", *key]))
        for key, some in groups.items()
    ]
    signature = inspect.signature(function)
    kept = [one for name, one in signature.parameters.items() if name not in names]
    first = inspect.Parameter("cases", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    others: list[Any] = [mark for mark in marks if mark.name != "parametrize"]
    others.append(pytest.mark.parametrize("cases", together).mark)
    every_case.__dict__.update(
        pytestmark=others, __signature__=signature.replace(parameters=[first, *kept])
    )
    return every_case


def _table(names: Any, values: Any, *_: Any) -> tuple[list[str], list[tuple[Any, Any]]]:
    """Names of parameters; for each row their values and the marks of the row."""
    several = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    rows = []
    for value in values:
        if isinstance(value, type(pytest.param())):
            rows.append(
                (tuple(value.values), [getattr(mark, "mark", mark) for mark in value.marks])
            )
        else:
            rows.append((tuple(value) if len(several) > 1 else (value,), []))
    return several, rows

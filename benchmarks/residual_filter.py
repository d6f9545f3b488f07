"""How many steps filters allow where steps are not as expected: the table of docs/residual.md.

    python benchmarks/residual_filter.py measure [TEXT]    what has TEXT in its name, or everything
    python benchmarks/residual_filter.py table             the rows of the page

Noise multipliers have four decimals and rates six. `Renyi`, `RenyiOrders` and `Levy` are told five
values of a range. Results are kept in `residual_filter.json`, and only what is not there yet is
measured.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hockeystick import filters
from hockeystick.errors import BudgetExceeded, HockeystickError
from hockeystick.filters.residual.composition import StepClass
from hockeystick.filters.residual.menus import checked_ranges
from hockeystick.filters.residual.search.estimate import FastDelta

RESULTS = Path(__file__).with_name("residual_filter.json")
DELTA = 1e-5
# Of the sequences that are measured; settings are chosen with other ones.
SEEDS = (11, 12, 13)
FILTERS = ("Renyi", "RenyiOrders", "Levy", "Residual")
# Where the search for the number of fixed steps begins.
START = {1.0: 250, 2.0: 1800}
# More kinds of steps than this are accounted for with two decimals of noise and four of rates,
# rounded to the nearest: that moves their number by about a thousandth.
MANY = 500
DECIMALS = {"rate": 6, "noise": 4}
# Where steps may be clipped: a run ends with the first one that would be clipped to less.
LEAST_SCALE = 1 / 1.15

Step = tuple[float, float]


class Case(NamedTuple):
    """What is announced and what is requested.

    Attributes
    ----------
    announced, requested
        In words.
    expected
        As `Residual` is told.
    orders
        Of evenly spread steps, or "drawn": one sequence for each seed. Otherwise the steps
        themselves.
    epsilon
        The target, with `DELTA`.
    wanted
        Share of the fixed schedule that is aimed at.
    block
        Steps of one request.
    clip
        Whether requests may be clipped.
    digits
        Decimals of the noise that is requested.
    """

    announced: str
    requested: str
    expected: list[tuple[Any, Any, int]]
    orders: str | list[Step]
    epsilon: float
    wanted: float
    block: int = 1
    clip: bool = False
    digits: int = DECIMALS["noise"]

    @property
    def name(self) -> str:
        """By which its results are kept."""
        return f"{self.announced}; {self.requested}; {self.epsilon:g}"


ORDERS = {"strongest first": 1, "weakest first": -1, "shuffled": 0}


def in_any_order(
    announced: str, expected: list[tuple[Any, Any, int]], epsilon: float, wanted: float
) -> Iterator[Case]:
    """Evenly spread steps in each of the orders."""
    for order in ORDERS:
        yield Case(announced, f"evenly spread, {order}", expected, order, epsilon, wanted)


def cases() -> Iterator[Case]:
    """All rows of the table."""
    noise, expected = "rate 0.01, noise in [0.8, 2]", [(0.01, (0.8, 2.0), 1)]
    for epsilon in START:
        yield from in_any_order(noise, expected, epsilon, 0.85)
        yield Case(noise, "drawn independently", expected, "drawn", epsilon, 0.85)
        for order, digits, words in (
            ("drawn", 4, "drawn independently, may be clipped"),
            ("strongest first", 2, "evenly spread, two decimals, may be clipped"),
        ):
            yield Case(noise, words, expected, order, epsilon, 0.85, clip=True, digits=digits)
    values, stepped = "rate 0.01, noise 0.80, 0.81, ..., 2.00", [(0.01, (0.8, 2.0, 0.01), 1)]
    for epsilon in START:
        yield from in_any_order(values, stepped, epsilon, 0.85)
    for epsilon in START:
        yield Case(noise, "noise 1.4 only", expected, [(0.01, 1.4)], epsilon, 0.5)
    both = [(0.01, 2.0, 200), (0.05, 1.0, 1)]
    for before in (0, 100, 1000, 3000):
        switch = [(0.01, 2.0)] * before + [(0.05, 1.0)]
        words = f"a switch after {before:,} steps"
        yield Case("(0.01, 2) and (0.05, 1), 200 to 1", words, both, switch, 2.0, 0.6)
    one = [(0.01, 1.0, 1)]
    yield Case("rate 0.01, noise 1", "that", one, [(0.01, 1.0)], 2.0, 0.9)
    yield Case("rate 0.01, noise 1", "that, blocks of 50", one, [(0.01, 1.0)], 2.0, 0.9, 50)
    for order in ORDERS:
        yield Case(noise, f"evenly spread, {order}, blocks of 50", expected, order, 2.0, 0.9, 50)
    rates, announced = "noise 1.5, rate in [0.001, 0.05]", [((0.001, 0.05), 1.5, 1)]
    wide, expected = "rate 0.01, noise in [0.6, 3]", [(0.01, (0.6, 3.0), 1)]
    for name, there, wanted in ((rates, announced, 0.8), (wide, expected, 0.6)):
        for epsilon in START:
            yield from in_any_order(name, there, epsilon, wanted)
            yield Case(name, "drawn independently", there, "drawn", epsilon, wanted)


def between(case: Case, places: np.ndarray) -> list[Step]:
    """The steps at these places of the range, from the strongest end on, rounded to decimals."""
    (row,) = checked_ranges(case.expected)
    rates = [row.rates.at(one, downwards=True) for one in places.tolist()]
    noises = [row.noises.at(one) for one in places.tolist()]
    digits = DECIMALS["rate"], case.digits
    return [(round(q, digits[0]), round(s, digits[1])) for q, s in zip(rates, noises, strict=True)]


@cache
def estimate(epsilon: float) -> FastDelta:
    """Of delta at this epsilon: within about 0.5 %, rather too small."""
    return FastDelta(epsilon)


def allowed(steps_of: Callable[[int], Sequence[Step]], epsilon: float, start: int) -> int:
    """The largest number of steps within `DELTA` if they are fixed in advance, rather too large."""

    def excess(number: int) -> float:
        steps = steps_of(number)
        many = len(set(steps)) > MANY
        counts = Counter(
            StepClass(round(rate, 4), round(noise, 2)) if many else StepClass(rate, noise)
            for rate, noise in steps
        )
        return estimate(epsilon).log_delta(counts) - math.log(DELTA)

    low, high = (0, -math.inf), (0, math.inf)
    number = max(start, 1)
    while not high[0] or high[0] - low[0] > 1:
        value = excess(number)
        low, high = ((number, value), high) if value <= 0 else (low, (number, value))
        if not high[0]:
            number += max(number // 16, 1)
        elif not low[0]:
            number = number * 3 // 4
            if not number:
                return 0
        else:
            share = min(max(-low[1] / (high[1] - low[1]), 0.02), 0.98)
            number = round(low[0] + share * (high[0] - low[0]))
            number = min(max(number, low[0] + 1), high[0] - 1)
    return low[0]


def even(case: Case, count: int) -> list[Step]:
    """So many steps, evenly spread, in the wanted order."""
    places = (np.arange(count) + 0.5) / count
    sign = ORDERS[case.orders] if isinstance(case.orders, str) else 1
    if sign == 0:
        places = np.random.default_rng(SEEDS[0]).permutation(places)
    return between(case, places if sign >= 0 else places[::-1])


@cache
def even_count(expected: tuple[Any, Any, int], epsilon: float, block: int) -> int:
    """How many evenly spread blocks are allowed if they are fixed in advance, in any order."""
    case = Case("", "", [expected], "strongest first", epsilon, 0.0)

    def steps_of(n: int) -> list[Step]:
        return [one for one in even(case, n) for _ in range(block)]

    return allowed(steps_of, epsilon, START[epsilon] // block)


def sequences(case: Case, known: Sequence[int] = ()) -> Iterator[tuple[list[Step], int]]:
    """Sequences of requests, longer than any filter allows, and how many are allowed if fixed.

    The numbers of an earlier run may be given: they say nothing about the filters.
    """
    block, counts = case.block, iter(known)
    if isinstance(case.orders, str) and case.orders != "drawn":
        count = next(counts, 0) // block or even_count(case.expected[0], case.epsilon, block)
        yield even(case, count), count
        return
    start = START[case.epsilon] // block
    for seed in SEEDS if case.orders == "drawn" else (0,):
        if case.orders == "drawn":
            places = np.random.default_rng(seed).random(20_000)
            steps = between(case, places)
        elif len(case.orders) > 2:
            steps = [*case.orders, *[case.orders[-1]] * 10_000]
        else:
            steps = list(case.orders) * 10_000

        def steps_of(n: int, steps: list[Step] = steps) -> list[Step]:
            return [one for one in steps[:n] for _ in range(block)]

        start = next(counts, 0) // block or allowed(steps_of, case.epsilon, start)
        yield steps, start


def told(name: str, case: Case) -> list[tuple[Any, Any, int]]:
    """What a filter is told to expect: five values of a range, or the range."""
    if name == "Residual" or isinstance(case.expected[0][0], float) is isinstance(
        case.expected[0][1], float
    ):
        return case.expected
    steps = between(case, np.linspace(0, 1, 5))
    return [(*one, 1) for one in steps]


_built: dict[str, tuple[filters.Filter, float]] = {}


def built(name: str, case: Case) -> tuple[filters.Filter, float]:
    """A fresh filter, and the seconds that its design took; designs are made once."""
    target = {"epsilon": case.epsilon, "delta": DELTA}
    key = json.dumps([name, case.expected, case.epsilon, case.block])
    if key not in _built:
        began = time.process_time()
        blocks = {"block": case.block} if name in ("Residual", "Levy") else {}
        made = getattr(filters, name)(**target, expected=told(name, case), **blocks)
        _built[key] = made, time.process_time() - began
    made, seconds = _built[key]
    if name == "Residual":
        return filters.Residual(**target, design=made.design), seconds
    if name == "Levy":
        return filters.Levy(**target, process=made.process), seconds
    return getattr(filters, name)(**target, expected=told(name, case)), seconds


def permitted(budget: filters.Filter, steps: Sequence[Step], case: Case) -> list[float]:
    """The clip scales of all requests before the first that is refused, or clipped too much."""
    scales: list[float] = []
    for rate, noise in steps:
        asked = {"rate": rate, "noise_multiplier": noise, "steps": case.block, "clip": case.clip}
        try:
            permit = budget.request(**asked)
        except BudgetExceeded:
            break
        if permit.clip_scale < LEAST_SCALE:
            break
        permit.commit()
        scales.append(permit.clip_scale)
    return scales


def measured(case: Case, known: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Steps that these filters allow, for each sequence, and the seconds of the design."""
    found: dict[str, Any] = {**known, "fixed": [], **{name: [] for name in names}}
    found.pop("clipped", None)
    for steps, count in sequences(case, known.get("fixed", ())):
        found["fixed"].append(count * case.block)
        for name in names:
            try:
                budget, seconds = built(name, case)
            except HockeystickError as error:
                found[name].append(None)
                found[f"{name} refuses"] = str(error)
                continue
            # Those that are clipped may be more than if they were fixed without clipping.
            scales = permitted(budget, steps if case.clip else steps[:count], case)
            found[name].append(len(scales) * case.block)
            if name == "Residual":
                found["seconds"] = round(seconds, 1)
            if name == "Residual" and case.clip:
                clipped = sorted(one for one in scales if one < 1 - 1e-9)
                found.setdefault("clipped", []).append(
                    [len(clipped), round(min(clipped, default=1.0), 3)]
                )
    return found


def read() -> dict[str, dict[str, Any]]:
    """What was measured so far."""
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def measure(only: str, names: Sequence[str] = FILTERS) -> None:
    """Measure these filters in what has the text in its name; kept after every row.

    Rows that are known are measured again if not all filters are asked for.
    """
    for case in cases():
        known = read().get(case.name, {})
        if only not in case.name or (known and names == FILTERS):
            continue
        result = measured(case, known, names)
        everything = {**read(), case.name: result}
        RESULTS.write_text(json.dumps(everything, indent=1, sort_keys=True) + "\n")
        print(case.name, result, flush=True)


def counted(values: Sequence[int | None]) -> str:
    """The median number of steps."""
    numbers = [one for one in values if one is not None]
    return f"{statistics.median_low(numbers):,}" if numbers else "–"


def shares(result: dict[str, Any]) -> list[float]:
    """Steps of `Residual` over those of the fixed schedule, from the smallest on."""
    return sorted(a / b for a, b in zip(result["Residual"], result["fixed"], strict=True))


def row(case: Case, result: dict[str, Any]) -> str:
    """One row of the table; of several sequences medians, and the shares of all of them."""
    found = [f"{100 * one:.0f} %" for one in shares(result)]
    share = found[0] if found[0] == found[-1] else f"{found[0]} to {found[-1]}"
    verdict = "" if shares(result)[0] >= case.wanted else ", missed"
    cells = [case.announced, case.requested, f"{case.epsilon:g}"]
    cells += [counted(result.get(name, ())) for name in (*FILTERS, "fixed")]
    return "| " + " | ".join([*cells, share, f"{100 * case.wanted:.0f} %{verdict}"]) + " |"


def table() -> list[str]:
    """The rows of the page, of what was measured."""
    known = read()
    return [row(case, known[case.name]) for case in cases() if case.name in known]


def missing() -> list[str]:
    """What the page lists as not measured."""
    return [f"- {case.name}" for case in cases() if case.name not in read()]


if __name__ == "__main__":
    command, *rest = sys.argv[1:] or ["table"]
    if command == "measure":
        # "only Residual,Renyi" measures these filters alone.
        names = tuple(rest[1].split(",")) if rest[:1] == ["only"] else FILTERS
        measure(" ".join(rest[2 if rest[:1] == ["only"] else 0 :]), names)
    else:
        print("\n".join([*table(), *missing()]))

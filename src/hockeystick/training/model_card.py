"""A privacy statement in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any

from hockeystick.guarantee import Kind
from hockeystick.training.filtered import shared_budget
from hockeystick.training.joint import JointStatement
from hockeystick.training.plan_object import label_of
from hockeystick.training.schedules import from_lists
from hockeystick.training.stated_risk import risk_sentence
from hockeystick.training.statements import Statement
from hockeystick.training.sum_lattice import added_delta

__all__ = ["joint_paragraph", "paragraph"]

# Of epsilon, rounded up: as many as commands print.
DIGITS = 5
HOW_KNOWN: dict[Kind, str] = {
    "proven": "The bound is proven",
    "verified": (
        "The claim was verified by simulation before the run, with its failure probability inside "
        "delta"
    ),
    "confidence": "NOT A GUARANTEE: the number is a statistical confidence bound",
    "asymptotic": (
        "NOT A PROVEN GUARANTEE: the number is an asymptotic approximation and the true epsilon "
        "can be far above it"
    ),
    "conjectured": "NOT A PROVEN GUARANTEE: the number rests on a conjecture",
}

ONE_STEP = "The one planned step was taken."
OTHERS = (
    "other runs on the same data, such as a search for hyperparameters, are not in it, and neither "
    "are preprocessing and evaluation."
)
ABOUT_ONE_RUN = f"The statement is about this one run: {OTHERS}"
# Of several runs: without a budget in common, with one for all, with one for some.
COMPOSED = (
    "Epsilon is that of the composition of all runs; it requires that their number, their plans "
    "and their noise were fixed before the first one began."
)
ONE_BUDGET = (
    "All runs spent one budget, and epsilon is that of the budget: it holds for everything that "
    "was charged to it, also by others, however it was chosen."
)
SOME_BUDGETS = "Runs with the same budget id spent one budget, which counts once."
ABOUT_SEVERAL_RUNS = f"The statement is about these runs: {OTHERS}"


def paragraph(statement: Statement) -> str:
    """The statement as one paragraph for a model card; epsilon is rounded up."""
    return " ".join(
        (
            _claim("Training", statement),
            _known(statement),
            *_distance(statement),
            *([] if statement.risk is None else [risk_sentence(statement.risk)]),
            _course(statement),
            ABOUT_ONE_RUN,
            *_secret([statement]),
            _software([statement]),
        )
    )


def joint_paragraph(statement: JointStatement) -> str:
    """The same for several runs, each of which is described."""
    runs = statement.runs
    described = (f"Run {number}: {_course(run)}" for number, run in enumerate(runs, start=1))
    return " ".join(
        (
            _claim(f"Training in {len(runs)} runs on the same data, taken together,", statement),
            _known(statement),
            *_distance(statement),
            *described,
            _composed(runs),
            ABOUT_SEVERAL_RUNS,
            *_secret(runs),
            _software(runs),
        )
    )


def _composed(runs: Sequence[Statement]) -> str:
    """How epsilon follows from the runs."""
    budgets = [shared_budget(run.filter) for run in runs]
    named = [one for one in budgets if one is not None]
    if len(set(named)) == len(named):
        return COMPOSED
    if len(named) == len(runs) and len(set(named)) == 1:
        return ONE_BUDGET
    return f"{SOME_BUDGETS} {COMPOSED}"


def _claim(what: str, statement: Statement | JointStatement) -> str:
    hedged = statement.kind in ("asymptotic", "conjectured", "confidence")
    verb = "is claimed, without proof, to be" if hedged else "is"
    return (
        f"{what} {verb} (ε = {_rounded_up(statement.epsilon)}, δ = {statement.delta:g})-"
        f"differentially private for each {statement.unit}, under {statement.adjacency} adjacency."
    )


def _known(statement: Statement | JointStatement) -> str:
    note = "" if statement.note is None else f"; {statement.note}"
    return f"{HOW_KNOWN[statement.kind]} (method: {statement.method}{note})."


def _distance(statement: Statement | JointStatement) -> Iterator[str]:
    """What is added to delta where noise is drawn from its exact law, or nearly so."""
    exact_runs = sum(run.arithmetic == "exact" for run in statement.runs)
    if exact_runs:
        added = added_delta(statement.epsilon, exact_runs)
        yield f"The distance of drawn noise from its law adds {added:.1e} to δ."


def _course(statement: Statement) -> str:
    """What was run, what was probed and how it ended."""
    parts = (_run(statement), *_changes(statement), _independence(statement), _end(statement))
    return " ".join((*parts, *_facts(statement)))


def _facts(statement: Statement) -> Iterator[str]:
    """What tells this run, its data and its model from others, as far as it is stated."""
    if statement.arithmetic == "exact":
        yield "Sums and noise were computed in integers, from the exact law of the noise."
    known = {
        "examples": None if statement.examples is None else f"{statement.examples:,}",
        "data set": statement.dataset,
        "SHA-256 of the parameters": statement.parameters,
        "run": statement.run_id,
    }
    stated = ", ".join(f"{name} {value}" for name, value in known.items() if value is not None)
    if stated:
        yield f"Identified by: {stated}."


def _run(statement: Statement) -> str:
    strategy = label_of(statement.strategy)
    independent = strategy.get("factorization") == "identity"
    noise = "independent noise" if independent else f"noise correlated by {_named(strategy)}"
    done = (
        f"gradients were {_clipped(statement)}, and {noise} with noise "
        f"multiplier {statement.noise_multiplier:g} was added"
    )
    drawn = f"Batches were drawn by {_named(statement.scheme, ' sampling')}"
    if statement.filter is None:
        return f"{drawn}, {done}."
    later = (
        ""
        if statement.taken_schedule is not None
        else ("; later steps may have had other settings, for which the filter accounted")
    )
    return f"At the start of the run b{drawn[1:]}, {done}{later}."


def _changes(statement: Statement) -> Iterator[str]:
    """How often settings changed, and between which values."""
    schedule = from_lists(statement.taken_schedule or ())
    if len(schedule) > 1:
        named = {
            "noise multipliers": [part.noise_multiplier for part in schedule],
            "clip norms": [part.clip_norm for part in schedule],
            "rates": [part.rate for part in schedule if part.rate is not None],
        }
        ranges = (
            f"{name} from {min(values):g} to {max(values):g}"
            for name, values in named.items()
            if len(set(values)) > 1
        )
        times = "once" if len(schedule) == 2 else f"{len(schedule) - 1:,} times"
        yield f"The settings changed {times}: {', '.join(ranges)}."
    if any(part.count_noise is not None for part in schedule):
        yield (
            "Steps also released a noisy count of the gradients within the clip norm, which is "
            "accounted for together with their sum."
        )


def _clipped(statement: Statement) -> str:
    rule, total = statement.clipping, f"{statement.max_grad_norm:g}"
    if "norms" in rule:
        count = len(rule["norms"])
        return f"clipped layer by layer, {count} layers with norms of root sum of squares {total}"
    if "gamma" in rule:
        return f"scaled to norm {total} |g| / (|g| + {rule['gamma']:g}), below {total}"
    return f"clipped to norm {total}"


def _independence(statement: Statement) -> str:
    if statement.probe is None:
        return "Whether examples of a batch influence each other was not probed."
    loaded = statement.probe["inputs_as_loaded"]
    loop = "" if loaded else "; what the loop did to batches before the model saw them was not"
    return (
        f"Up to step {statement.probe['step']:,} the independence of the examples of a batch was "
        f"probed{loop}, and no influence of one on another was found."
    )


def _end(statement: Statement) -> str:
    taken, planned = statement.taken_steps, statement.planned_steps
    counted = f"{taken:,} of {planned:,} planned steps were taken"
    if statement.filter is not None:
        return (
            f"A privacy filter ({_named(statement.filter)}) limited the run and could stop it: "
            f"{counted}, and epsilon is that of the filter's whole budget."
        )
    if statement.whole_steps is not None:
        return (
            f"It is about the model after {taken:,} of {statement.whole_steps:,} planned steps: a "
            "number that was fixed before the run, of which nothing later may be released."
        )
    if taken == planned:
        return f"All {planned:,} planned steps were taken." if planned > 1 else ONE_STEP
    return (
        f"{counted}; epsilon accounts for all planned steps, because stopping early on what was "
        "seen saves nothing."
    )


def _secret(statements: Sequence[Statement]) -> Iterator[str]:
    """A warning where a seed is known; of several runs, which ones."""
    seeded = [str(number) for number, one in enumerate(statements, start=1) if one.seeded]
    if not seeded:
        return
    which = "it" if len(statements) == 1 else f"run {', '.join(seeded)}"
    yield f"The random seed was chosen by whoever ran {which}; the guarantee needs it to be secret."


def _software(statements: Sequence[Statement]) -> str:
    """The versions, those that several runs share once."""
    texts = [", ".join(f"{n} {v}" for n, v in one.versions.items()) for one in statements]
    return f"Software: {'; then '.join(dict.fromkeys(texts))}."


def _named(described: Mapping[str, Any], what: str = "") -> str:
    """The name, which comes first, and what it is, with the parameters in parentheses."""
    if not described:
        return "unnamed"
    (_, name), *parameters = described.items()
    inside = ", ".join(_parameter(key, value) for key, value in parameters if value is not False)
    return f"{name}{what} ({inside})" if inside else f"{name}{what}"


def _parameter(name: str, value: object) -> str:
    words = name.replace("_", " ")
    if value is True:
        return words
    return f"{words} {value:g}" if isinstance(value, float) else f"{words} {value}"


def _rounded_up(value: float) -> str:
    """Five digits, never below the number; a number that has no more is written as it is."""
    exact = Decimal(repr(float(value)))
    rounded = Context(prec=DIGITS, rounding=ROUND_CEILING).create_decimal(exact)
    return f"{float(rounded):.{DIGITS}g}"

"""Configurations of jax-privacy as guarantees, without jax-privacy.

Three of its classes describe a whole run: `DPKerasConfig`, `BandMFExecutionPlanConfig` and
`DpParams`, the last one beside a number of updates. Their fields are read, from objects or from
JSON; what the classes compute themselves is not asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from hockeystick import _validate as check
from hockeystick.bounds.profiles import ProfileBound
from hockeystick.errors import InvalidParameter, UnsupportedPlan
from hockeystick.guarantee import ADJACENCY, Analysis, Guarantee
from hockeystick.plan import Plan
from hockeystick.profile import Profile
from hockeystick.schemes import Poisson
from hockeystick.schemes.pairs import dominating_pair

__all__ = ["from_jax_privacy", "is_jax_privacy", "jax_privacy_cautions"]

# By which fields a description is known.
KERAS = ("train_steps", "train_size", "batch_size")
BAND_MF = ("iterations", "strategy", "sampling_prob")
PARAMETERS = ("noise_multipliers", "num_samples", "batch_size", "num_updates")
SHUFFLED = (
    "poisson_sampling_in_fit is off: fit() then takes the batches as they come, and epsilon is "
    "that of Poisson batches; shuffled ones can leak more."
)
SMALL_BATCHES = (
    "With gradient_accumulation_steps above 1, jax-privacy 2.0.0 checks a given noise_multiplier "
    "with the rate of one physical batch; here the rate is that of a whole update."
)
TOLERANCE = "jax-privacy 2.0.0 accepts a given noise_multiplier up to 0.1 above epsilon."
PARTITION = (
    "Groups of equal size are about replaced and zeroed-out examples: the size of the data is "
    "public."
)


@dataclass(frozen=True)
class Phase:
    """Steps of one kind, as far as one example sees them.

    Attributes
    ----------
    noise
        The standard deviation over the clip norm.
    rate
        Of Poisson sampling.
    steps
        How often.
    cap, examples
        The largest batch, and how many examples it is drawn from; or None.
    replaced
        Whether an example is replaced by another one.
    """

    noise: float
    rate: float
    steps: int
    cap: int | None = None
    examples: int | None = None
    replaced: bool = False

    def profile(self) -> Profile:
        """Of all of them."""
        if self.cap is None and self.replaced:
            step = Profile.replaced_gaussian(noise_multiplier=self.noise, rate=self.rate)
        elif self.cap is None:
            step = Profile.gaussian(noise_multiplier=self.noise).subsample(self.rate)
        elif self.replaced:
            raise UnsupportedPlan("Capped batches are accounted for examples that are zeroed out.")
        else:
            sampling = Poisson(rate=self.rate, max_batch_size=self.cap)
            plan = Plan(sampling=sampling, steps=1, examples=self.examples)
            step = dominating_pair(plan, self.noise).profile
        return step.self_compose(self.steps)


def from_jax_privacy(config: Any) -> Guarantee:
    """What a configuration of jax-privacy guarantees, if its batches are drawn as it says.

    Parameters
    ----------
    config
        A `DPKerasConfig`, a `BandMFExecutionPlanConfig`, or a mapping with the fields of one of
        them; or a mapping with the fields of `DpParams` and `num_updates`. With a noise multiplier.

    Returns
    -------
    Guarantee
        Proven. Tight for Poisson batches and independent noise.

    Raises
    ------
    UnsupportedPlan
        For users as the unit, and capped batches with replaced examples.

    Examples
    --------
    >>> import hockeystick as hs
    >>> config = {"train_size": 1000, "train_steps": 100, "batch_size": 10,
    ...           "gradient_accumulation_steps": 2, "noise_multiplier": 1.0}
    >>> round(hs.interop.from_jax_privacy(config).epsilon(1e-5), 2)
    1.43
    """
    facts = _facts(config)
    phases = list(_phases(facts))
    profile = reduce(Profile.compose, (phase.profile() for phase in phases))
    exact = _is_plain(facts) and all(one.cap is None for one in phases)
    analysis = Analysis("profile", "proven", ProfileBound(profile, exact=exact))
    described: dict[str, object] = {name: repr(value) for name, value in facts.items()}
    adjacency = "replace-one" if phases[0].replaced else ADJACENCY
    return Guarantee((analysis,), adjacency=adjacency, plans=({"jax-privacy": described},))


def is_jax_privacy(facts: Mapping[str, Any]) -> bool:
    """Whether the fields are those of one of the three classes."""
    return any(set(names) <= set(facts) for names in (KERAS, BAND_MF, PARAMETERS))


def jax_privacy_cautions(facts: Mapping[str, Any]) -> Iterator[str]:
    """What the configuration does not say, and where jax-privacy itself says less than it is."""
    if set(KERAS) <= set(facts):
        if not facts.get("poisson_sampling_in_fit", False):
            yield SHUFFLED
        if facts.get("gradient_accumulation_steps", 1) > 1:
            yield SMALL_BATCHES
        yield TOLERANCE
    if set(BAND_MF) <= set(facts) and "INDEPENDENT" not in str(facts.get("partition_type")):
        yield PARTITION


def _facts(config: Any) -> dict[str, Any]:
    """The fields by name."""
    known = {*KERAS, *BAND_MF, *PARAMETERS, *OTHERS}
    if isinstance(config, Mapping):
        facts = dict(config)
    else:
        facts = {name: getattr(config, name) for name in known if hasattr(config, name)}
        accountant = getattr(config, "accountant", None)
        if accountant is not None:
            facts["neighboring_relation"] = accountant.neighboring_relation
    if not is_jax_privacy(facts):
        allowed = "a configuration of jax-privacy, or a mapping with its fields"
        raise InvalidParameter("config", allowed, type(config).__name__)
    return facts


OTHERS = (
    "batch_size_scale_schedule",
    "batch_sizes",
    "column_normalize",
    "cycle_length",
    "examples_per_user",
    "gradient_accumulation_steps",
    "noise_multiplier",
    "num_examples",
    "partition_type",
    "poisson_sampling_in_fit",
    "sampling_method",
    "truncated_batch_size",
)


def _is_plain(facts: Mapping[str, Any]) -> bool:
    """Poisson batches from all examples, and independent noise."""
    if set(BAND_MF) <= set(facts):
        return len(facts["strategy"]) == 1 and not _replaced(facts)
    fixed = "FIXED" in str(facts.get("sampling_method"))
    return (facts.get("cycle_length") or 1) == 1 and not fixed


def _replaced(facts: Mapping[str, Any]) -> bool:
    return "REPLACE_ONE" in str(facts.get("neighboring_relation"))


def _phases(facts: Mapping[str, Any]) -> Iterator[Phase]:
    if set(BAND_MF) <= set(facts):
        yield _banded(facts)
    elif set(KERAS) <= set(facts):
        updates = check.positive_integer("train_steps", facts["train_steps"])
        size = check.positive_integer("batch_size", facts["batch_size"])
        size *= check.positive_integer(
            "gradient_accumulation_steps", facts.get("gradient_accumulation_steps", 1)
        )
        examples = check.positive_integer("train_size", facts["train_size"])
        yield Phase(_noise(facts.get("noise_multiplier")), _rate(size, examples), updates)
    else:
        yield from _scheduled(facts)


def _noise(value: Any) -> float:
    if value is None:
        allowed = "the one that is used: without it jax-privacy calibrates its own"
        raise InvalidParameter("noise_multiplier", allowed, value)
    return check.positive("noise_multiplier", value)


def _rate(size: float, examples: int) -> float:
    if not 0 < size <= examples:
        raise InvalidParameter("batch_size", f"at most {examples}, the examples", size)
    return size / examples


def _banded(facts: Mapping[str, Any]) -> Phase:
    """An example's group takes part once in as many steps as there are bands.

    So the columns of its participations do not overlap, and each is a Poisson-sampled Gaussian
    mechanism; noise is over the largest column norm. With replaced examples jax-privacy's noise is
    over twice the clip norm.
    """
    steps = check.positive_integer("iterations", facts["iterations"])
    bands = len(check.vector("strategy", facts["strategy"]))
    rate = check.sampling_rate("sampling_prob", facts["sampling_prob"])
    noise = _noise(facts.get("noise_multiplier"))
    cap, examples = facts.get("truncated_batch_size"), facts.get("num_examples")
    group = None if examples is None else -(-check.positive_integer("n", examples) // bands)
    replaced = _replaced(facts)
    noise *= 2 if replaced else 1
    return Phase(noise, rate, -(-steps // bands), cap or None, group, replaced)


def _scheduled(facts: Mapping[str, Any]) -> Iterator[Phase]:
    """Noise and batch sizes may change at given steps; of a cycle an example has every k-th step.

    Batches of a fixed size hold the example in the place of another one: half the noise, as in
    `from_dp_event`.
    """
    if (facts.get("examples_per_user") or 1) != 1:
        raise UnsupportedPlan("examples_per_user: users are accounted with hs.UserMinSep.")
    updates = check.positive_integer("num_updates", facts["num_updates"])
    examples = check.positive_integer("num_samples", facts["num_samples"])
    cycle = check.positive_integer("cycle_length", facts.get("cycle_length") or 1)
    cap = facts.get("truncated_batch_size")
    fixed = "FIXED" in str(facts.get("sampling_method"))
    if fixed and cap is not None:
        raise UnsupportedPlan("truncated_batch_size: batches of a fixed size have no cap.")
    noises = _changes("noise_multipliers", facts["noise_multipliers"])
    sizes = _changes("batch_size", _sizes(facts))
    begins = sorted({start for start, _ in (*noises, *sizes) if start < updates})
    for start, end in zip(begins, [*begins[1:], updates], strict=True):
        noise, size = (_current(one, start) for one in (noises, sizes))
        rate = _rate(size, examples // cycle)
        steps = -(-(end - start) // cycle)
        of_one = _noise(noise) / (2 if fixed else 1)
        yield Phase(of_one, rate, steps, cap, -(-examples // cycle) if cap else None)


def _sizes(facts: Mapping[str, Any]) -> Any:
    """The schedule multiplies the size from its steps on."""
    size, found = facts["batch_size"], [(0, facts["batch_size"])]
    schedule = facts.get("batch_size_scale_schedule") or {}
    for start, factor in sorted((int(k), v) for k, v in schedule.items()):
        size = size * factor
        found.append((start, size))
    return found


def _changes(name: str, value: Any) -> Sequence[tuple[int, float]]:
    """Pairs (first step, value), in their order; a number holds from the first step on."""
    pairs = [(0, value)] if np.ndim(value) == 0 else [(int(t), x) for t, x in value]
    pairs.sort()
    if not pairs or pairs[0][0] != 0:
        raise InvalidParameter(name, "a number, or pairs that begin with step 0", value)
    return [(start, check.positive(name, x)) for start, x in pairs]


def _current(pairs: Sequence[tuple[int, float]], step: int) -> float:
    return [value for start, value in pairs if start <= step][-1]

"""dp-accounting's events as guarantees (extra `pld`)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from hockeystick import _validate as check
from hockeystick.bounds.profiles import ProfileBound
from hockeystick.errors import InvalidParameter, MissingExtra, UnsupportedPlan
from hockeystick.guarantee import ADJACENCY, Analysis, Guarantee
from hockeystick.plan import Plan
from hockeystick.profile import Profile
from hockeystick.profile.expressions.mechanisms import random_shift
from hockeystick.schemes import Poisson
from hockeystick.schemes.pairs import dominating_pair
from hockeystick.tuning import RandomRuns

if TYPE_CHECKING:
    from dp_accounting.dp_event import DpEvent

__all__ = ["from_dp_event"]

# Events for which the pair is an upper bound only.
NOT_TIGHT = (
    "RepeatAndSelectDpEvent",
    "SampledWithoutReplacementDpEvent",
    "TruncatedSubsampledGaussianDpEvent",
    "ZCDpEvent",
)


def from_dp_event(event: DpEvent) -> Guarantee:
    """What a dp-accounting event guarantees, for neighbours that add or remove one example.

    Parameters
    ----------
    event
        Gaussian, Laplace and discrete Laplace noise, randomized response, mixtures of Gaussians,
        zero-concentrated privacy, single-epoch trees, Poisson sampling, also with a cap, Gaussian
        noise on samples without replacement, compositions, and repeat-and-select.

    Returns
    -------
    Guarantee
        Proven, in both directions. Tight where the event has one dominating pair.

    Raises
    ------
    UnsupportedPlan
        For an event without a proven bound, with the reason.

    Examples
    --------
    >>> import hockeystick as hs
    >>> from dp_accounting import dp_event
    >>> step = dp_event.PoissonSampledDpEvent(0.01, dp_event.GaussianDpEvent(1.0))
    >>> run = hs.interop.from_dp_event(dp_event.SelfComposedDpEvent(step, 1000))
    >>> round(run.epsilon(1e-6), 2)
    2.13
    """
    if not isinstance(event, _dp_event().DpEvent):
        raise InvalidParameter("event", "a dp_accounting.DpEvent", event)
    profile = _profile(event)
    tight = not _holds(event, NOT_TIGHT)
    analysis = Analysis("profile", "proven", ProfileBound(profile, exact=tight))
    return Guarantee((analysis,), adjacency=ADJACENCY, plans=({"event": repr(event)},))


def _dp_event() -> Any:
    try:
        from dp_accounting import dp_event
    except ImportError:
        raise MissingExtra("from_dp_event needs dp-accounting", extra="pld") from None
    return dp_event


def _profile(event: DpEvent) -> Profile:
    """The profile of an event, by its class."""
    name = type(event).__name__
    if name in _REFUSED:
        raise UnsupportedPlan(f"{name}: {_REFUSED[name]}")
    if name not in _PROFILES:
        known = ", ".join(sorted(_PROFILES))
        raise UnsupportedPlan(f"{name} is not known here; known are {known}.")
    return _PROFILES[name](event)


def _holds(event: Any, names: tuple[str, ...]) -> bool:
    """Whether the event is, or contains, one of the classes."""
    if type(event).__name__ in names:
        return True
    inner = getattr(event, "events", None) or [getattr(event, "event", None)]
    return any(_holds(one, names) for one in inner if one is not None)


def _nothing() -> Profile:
    return Profile.from_epsilon_delta(0.0, 0.0)


def _gaussian(event: Any) -> Profile:
    return Profile.gaussian(noise_multiplier=event.noise_multiplier)


def _laplace(event: Any) -> Profile:
    return Profile.laplace(scale=event.noise_multiplier)


def _discrete_laplace(event: Any) -> Profile:
    """Masses proportional to e^(-a |x|) against the same around the sensitivity s.

    Below 0 and above s the loss is constant, so s + 1 outcomes are enough.
    """
    a = check.positive("noise_parameter", event.noise_parameter)
    s = check.positive_integer("sensitivity", event.sensitivity)
    share = -math.expm1(-a) / (1 + math.exp(-a))
    inner = share * np.exp(-a * np.arange(1, s))
    tail = 1 / (1 + math.exp(-a))
    q = np.concatenate(([tail], inner, [math.exp(-a * s) * tail]))
    return Profile.from_pmfs(q[::-1], q)


def _randomized_response(event: Any) -> Profile:
    """The true value with probability 1 - p + p / k, each other one with p / k."""
    noise, buckets = event.noise_parameter, event.num_buckets
    if not 0 < check.probability("noise_parameter", noise) < 1:
        raise UnsupportedPlan("RandomizedResponseDpEvent: without noise nothing is private.")
    epsilon = math.log1p((1 - noise) * buckets / noise)
    return Profile.randomized_response(epsilon=epsilon, buckets=buckets)


def _mixture(event: Any) -> Profile:
    """Gaussian noise on a sensitivity that is drawn."""
    noise = check.noise_scale("standard_deviation", event.standard_deviation)
    shifts = np.asarray(event.sensitivities, dtype=float) / noise
    if not shifts.any():
        return _nothing()
    if not np.all(shifts >= 0):
        raise UnsupportedPlan("MixtureOfGaussiansDpEvent: sensitivities are not negative here.")
    return Profile(random_shift(shifts.tolist(), list(event.sampling_probs)))


def _zcdp(event: Any) -> Profile:
    return Profile.zcdp(event.rho, event.xi)


def _tree(event: Any) -> Profile:
    """One participation is in as many completed nodes of a binary tree as its height allows.

    Of the dyadic intervals within c steps at most floor(log2 c) + 1 hold one step.
    """
    counts = np.atleast_1d(event.step_counts)
    largest = check.positive_integer("step_counts", int(counts.max()))
    noise = check.positive("noise_multiplier", event.noise_multiplier)
    return Profile.gaussian(noise_multiplier=noise / math.sqrt(largest.bit_length()))


def _sampled(event: Any) -> Profile:
    rate = check.probability("sampling_probability", event.sampling_probability)
    return _nothing() if rate == 0 else _profile(event.event).subsample(rate)


def _truncated(event: Any) -> Profile:
    """A batch with a cap; `schemes/poisson.py` has the proof."""
    rate = check.probability("sampling_probability", event.sampling_probability)
    if rate == 0 or event.truncated_batch_size == 0 or event.dataset_size == 0:
        return _nothing()
    plan = Plan(
        sampling=Poisson(rate=rate, max_batch_size=event.truncated_batch_size),
        steps=1,
        examples=event.dataset_size,
    )
    return dominating_pair(plan, check.noise_scale("noise", event.noise_multiplier)).profile


def _without_replacement(event: Any) -> Profile:
    """A fixed number m out of n, with Gaussian noise, for an example that is added or removed.

    With the same m - 1 others, the batch with the example has it in the place of another one: two
    clip norms apart from the batch without it. Given who else is drawn, and in which order, the
    step is (1 - r) N(0, I) + r N(g - z, I) against N(0, I) with r = m / n and |g - z| <= 2, n the
    larger size; the hockey-stick divergence is convex, so who else is drawn may be told.
    """
    if event.sample_size == 0:
        return _nothing()
    size = check.positive_integer("sample_size", event.sample_size)
    most = check.positive_integer("source_dataset_size", event.source_dataset_size)
    if size > most:
        raise UnsupportedPlan(
            "SampledWithoutReplacementDpEvent: more examples are drawn than there are."
        )
    return _twice_as_far(event.event).subsample(size / most)


def _twice_as_far(event: Any) -> Profile:
    """Gaussian noise on sums that two data sets may have twice as far apart."""
    name = type(event).__name__
    if name == "GaussianDpEvent":
        return Profile.gaussian(noise_multiplier=event.noise_multiplier / 2)
    if name == "SelfComposedDpEvent" and event.count:
        return _twice_as_far(event.event).self_compose(event.count)
    raise UnsupportedPlan(
        "SampledWithoutReplacementDpEvent: a bound for batches of a fixed size is proven for "
        "Gaussian noise only; PoissonSampledDpEvent describes batches that are accounted tightly."
    )


def _repeated(event: Any) -> Profile:
    count = event.count
    if count == 0:
        return _nothing()
    return _profile(event.event).self_compose(check.positive_integer("count", count))


def _composed(event: Any) -> Profile:
    found = _nothing()
    for inner in event.events:
        found = found.compose(_profile(inner))
    return found


def _selected(event: Any) -> Profile:
    """The best of a random number of runs; an infinite shape is the Poisson law."""
    shape = float(event.shape)
    if not shape >= 0:
        raise UnsupportedPlan("RepeatAndSelectDpEvent: shapes below 0 have no bound here.")
    if event.mean == 1 and not math.isinf(shape):
        # Laws on 1, 2, ...: a single run.
        return _profile(event.event)
    if math.isinf(shape):
        runs = RandomRuns(distribution="poisson", mean=event.mean)
    else:
        runs = RandomRuns(distribution="negative-binomial", mean=event.mean, shape=shape)
    return runs.guarantee(from_dp_event(event.event)).profile


_PROFILES: dict[str, Callable[[Any], Profile]] = {
    "ComposedDpEvent": _composed,
    "DiscreteLaplaceDpEvent": _discrete_laplace,
    "GaussianDpEvent": _gaussian,
    "LaplaceDpEvent": _laplace,
    "MixtureOfGaussiansDpEvent": _mixture,
    "NoOpDpEvent": lambda _: _nothing(),
    "PoissonSampledDpEvent": _sampled,
    "RandomizedResponseDpEvent": _randomized_response,
    "RepeatAndSelectDpEvent": _selected,
    "SampledWithoutReplacementDpEvent": _without_replacement,
    "SelfComposedDpEvent": _repeated,
    "SingleEpochTreeAggregationDpEvent": _tree,
    "TruncatedSubsampledGaussianDpEvent": _truncated,
    "ZCDpEvent": _zcdp,
}
_REFUSED = {
    "NonPrivateDpEvent": "it guarantees nothing.",
    "UnsupportedDpEvent": "it says itself that it cannot be accounted.",
    "SampledWithReplacementDpEvent": "no bound is proven here for samples with replacement; "
    "PoissonSampledDpEvent describes batches that are accounted tightly.",
}

"""How gradients are shortened: all of one together, layer by layer, or to nearly one length.

Every rule bounds what one example adds to a sum by the clip norm `max_grad_norm`, to which the
noise is calibrated. A rule changes what is summed, and no guarantee.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from hockeystick import _validate as check
from hockeystick.errors import InvalidParameter

__all__ = ["Automatic", "ClipParts", "ClipRule", "Flat", "PerLayer", "clip_rule", "rule_of_vectors"]

# Shares of the clip norm are this much below their quotients, so that the squares of what follows
# from them, rounded in double precision, do not exceed that of the clip norm.
INWARD = 1.0 - 2.0**-48
COMPUTED = ("per-sample", "ghost")
# Squares of gradients as short as a smaller gamma would underflow.
SMALLEST_GAMMA = 1e-20


@dataclass(frozen=True)
class ClipParts:
    """A rule for one model: the clip norm, and which parameters share which part of it.

    Attributes
    ----------
    max_grad_norm
        What one example adds to a sum, at most.
    groups
        For each parameter the number of its group; each group is clipped by its own norm.
    shares
        For each group its norm over `max_grad_norm`; the sum of their squares is at most 1.
    gamma
        Of automatic clipping, or None.
    described
        The rule as plain values.
    """

    max_grad_norm: float
    groups: tuple[int, ...]
    shares: tuple[float, ...]
    gamma: float | None
    described: Mapping[str, Any]


class ClipRule(Protocol):
    """What `clipping=` says."""

    @property
    def computed(self) -> str:
        """How norms and sums are computed in PyTorch: "per-sample" or "ghost"."""

    def parts(
        self, layers: Sequence[str], sizes: Sequence[int], *, max_grad_norm: float | None
    ) -> ClipParts:
        """For parameters of these layers with so many numbers; `InvalidParameter` if it is none."""


@dataclass(frozen=True, kw_only=True)
class Flat:
    """A gradient longer than the clip norm C is shortened to it: factor min(1, C / |g|).

    Parameters
    ----------
    computed
        "per-sample", or "ghost": less memory.

    Examples
    --------
    >>> import hockeystick as hs
    >>> hs.training.Flat().computed
    'per-sample'
    """

    computed: str = "per-sample"

    def __post_init__(self) -> None:
        check.choice("computed", self.computed, COMPUTED)

    def parts(
        self, layers: Sequence[str], sizes: Sequence[int], *, max_grad_norm: float | None
    ) -> ClipParts:
        """One group of all parameters."""
        clip = _given(max_grad_norm)
        return ClipParts(clip, (0,) * len(layers), (1.0,), None, {"clipping": "flat"})


@dataclass(frozen=True, kw_only=True)
class Automatic:
    """Every gradient is scaled to nearly the clip norm C: factor C / (|g| + gamma) [Bu23].

    The result is shorter than C, however long g is, so that the sensitivity is at most C. The clip
    norm then only scales updates, together with the learning rate. Known as AUTO-S.

    Parameters
    ----------
    gamma
        Above 0: gradients much shorter than it stay short.
    computed
        "per-sample", or "ghost": less memory.

    Examples
    --------
    >>> import hockeystick as hs
    >>> hs.training.Automatic(gamma=0.1)
    Automatic(gamma=0.1, computed='per-sample')
    """

    gamma: float = 0.01
    computed: str = "per-sample"

    def __post_init__(self) -> None:
        gamma = check.positive("gamma", self.gamma)
        if not gamma >= SMALLEST_GAMMA:
            raise InvalidParameter("gamma", f"at least {SMALLEST_GAMMA:g}", gamma)
        object.__setattr__(self, "gamma", gamma)
        check.choice("computed", self.computed, COMPUTED)

    def parts(
        self, layers: Sequence[str], sizes: Sequence[int], *, max_grad_norm: float | None
    ) -> ClipParts:
        """One group of all parameters."""
        described = {"clipping": "automatic", "gamma": self.gamma}
        clip = _given(max_grad_norm)
        return ClipParts(clip, (0,) * len(layers), (1.0,), self.gamma, described)


@dataclass(frozen=True, kw_only=True)
class PerLayer:
    """The gradient of each layer l is clipped to a norm C_l of its own.

    One example changes the sum by at most C = sqrt(sum of C_l^2), which is `max_grad_norm`: the
    noise, the same for every coordinate, has standard deviation noise_multiplier * C.

    Parameters
    ----------
    norms
        "equal": C_l = C / sqrt(layers). "proportional": C_l is proportional to the square root of
        the layer's number of trained parameters. Or a norm for each layer, by the names of the
        modules that have the parameters; `max_grad_norm` is then left out.
    computed
        "per-sample", or "ghost": less memory.

    Examples
    --------
    >>> import hockeystick as hs
    >>> rule = hs.training.PerLayer(norms={"0": 3.0, "2": 4.0})
    >>> parts = rule.parts(["0", "0", "2"], [6, 2, 2], max_grad_norm=None)
    >>> round(parts.max_grad_norm, 9), parts.groups
    (5.0, (0, 0, 1))
    """

    ways: ClassVar[tuple[str, ...]] = ("equal", "proportional")

    norms: str | Mapping[str, float] = field(default="equal")
    computed: str = "per-sample"

    def __post_init__(self) -> None:
        check.choice("computed", self.computed, COMPUTED)
        if isinstance(self.norms, str):
            check.choice("norms", self.norms, self.ways)
            return
        given: Any = self.norms
        if not isinstance(given, Mapping) or not given:
            allowed = "'equal', 'proportional' or a norm for each layer, by its name"
            raise InvalidParameter("norms", allowed, given)
        found = {str(k): check.positive(f"norm of {k}", v) for k, v in given.items()}
        object.__setattr__(self, "norms", found)

    def parts(
        self, layers: Sequence[str], sizes: Sequence[int], *, max_grad_norm: float | None
    ) -> ClipParts:
        """A group for each layer."""
        names = tuple(dict.fromkeys(layers))
        weights = self._weights(names, layers, sizes)
        # Rounded up: at least the root of the exact sum of squares.
        total = math.sqrt(math.fsum(w * w for w in weights)) * (1.0 + 2.0**-50)
        clip = total if isinstance(self.norms, Mapping) else _given(max_grad_norm)
        if isinstance(self.norms, Mapping) and max_grad_norm is not None:
            allowed = "left out where every layer has its norm: it is the root of their squares"
            raise InvalidParameter("max_grad_norm", allowed, max_grad_norm)
        shares = tuple(w / total * INWARD for w in weights)
        norms = {name: share * clip for name, share in zip(names, shares, strict=True)}
        return ClipParts(
            clip,
            tuple(names.index(name) for name in layers),
            shares,
            None,
            {"clipping": "per-layer", "norms": norms},
        )

    def _weights(
        self, names: Sequence[str], layers: Sequence[str], sizes: Sequence[int]
    ) -> list[float]:
        """Norms up to a common factor, or as they were given."""
        if isinstance(self.norms, Mapping):
            if set(self.norms) != set(names):
                allowed = f"a norm for each of the trained layers {', '.join(names)}"
                raise InvalidParameter("norms", allowed, ", ".join(self.norms))
            return [self.norms[name] for name in names]
        if self.norms == "equal":
            return [1.0] * len(names)
        numbers = dict.fromkeys(names, 0)
        for name, size in zip(layers, sizes, strict=True):
            numbers[name] += size
        return [math.sqrt(number) for number in numbers.values()]


def clip_rule(clipping: Any) -> ClipRule:
    """The rule that `clipping=` means; names stand for rules with their defaults."""
    named: dict[str, ClipRule] = {
        "per-sample": Flat(),
        "ghost": Flat(computed="ghost"),
        "flat": Flat(),
        "automatic": Automatic(),
        "per-layer": PerLayer(),
    }
    if isinstance(clipping, str) and clipping in named:
        return named[clipping]
    if isinstance(clipping, (Flat, Automatic, PerLayer)):
        return clipping
    allowed = (
        "one of per-sample, ghost (both flat), automatic, per-layer, or one of Flat, Automatic and "
        "PerLayer of hs.training, as in PerLayer(norms='proportional', computed='ghost')"
    )
    raise InvalidParameter("clipping", allowed, clipping)


def rule_of_vectors(clipping: Any, *, dimension: int, max_grad_norm: float | None) -> ClipParts:
    """The rule for gradients that are vectors without layers, as in NumPy."""
    rule = clip_rule(clipping)
    if isinstance(rule, PerLayer) or rule.computed != "per-sample":
        allowed = "'flat', 'automatic' or Automatic(gamma=): a vector has no layers"
        raise InvalidParameter("clipping", allowed, clipping)
    return rule.parts([""], [dimension], max_grad_norm=max_grad_norm)


def _given(max_grad_norm: float | None) -> float:
    if max_grad_norm is None:
        raise InvalidParameter("max_grad_norm", "given: the clip norm of each gradient", None)
    return check.positive("max_grad_norm", max_grad_norm)

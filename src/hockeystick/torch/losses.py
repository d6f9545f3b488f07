"""Criteria with one value for each example, and losses whose backward pass clips."""

from __future__ import annotations

import copy
import math
import warnings
from typing import Any, Protocol

import torch
from torch import nn

from hockeystick.errors import InvalidParameter
from hockeystick.torch.progress import PhysicalBatch
from hockeystick.torch.recording import Recording, plain
from hockeystick.torch.replay import LossReplay

__all__ = ["PrivateCriterion", "PrivateLoss", "unreduced"]


def unreduced(criterion: Any) -> tuple[Any, str]:
    """The criterion with a value for each example, and the reduction that it had before."""
    reduction = getattr(criterion, "reduction", "none")
    if reduction == "none":
        return criterion, reduction
    if reduction not in ("mean", "sum", "batchmean"):
        raise InvalidParameter("criterion", "one with reduction 'none', 'mean' or 'sum'", reduction)
    weighted = isinstance(criterion, (nn.CrossEntropyLoss, nn.NLLLoss))
    if weighted and criterion.weight is not None and reduction == "mean":
        allowed = (
            "one with reduction='none': a weighted mean divides by the weights of all examples"
        )
        raise InvalidParameter("criterion", allowed, criterion)
    if reduction == "sum":
        warnings.warn(
            "reduction='sum' adds the losses within each example, as over its tokens; sums of "
            "gradients are divided by the expected batch size all the same, so that learning rates "
            "are those of reduction='mean'.",
            stacklevel=4,
        )
    each = copy.copy(criterion)
    each.reduction = "none"
    return each, reduction


# How far, relatively, the criterion's own mean may be from the mean over single examples: rounding
# in single precision.
MEAN_ERROR = 1e-3


class CurrentBatch(Protocol):
    """The current physical batch, as a loss needs it."""

    def physical_batch(self) -> PhysicalBatch:
        """Its place in the run, and its examples."""

    def recording(self) -> Recording | None:
        """The recording of it, if the batch is probed."""

    def compute(
        self, losses: torch.Tensor, loss_replay: LossReplay | None, of: PhysicalBatch
    ) -> None:
        """The backward pass of the losses of a physical batch."""


class PrivateCriterion:
    """A criterion of the run: the losses of single examples, of which `backward()` clips.

    The criterion gives one value for each example (`reduction="none"`); further dimensions, such as
    tokens, are averaged within the example, without those that `ignore_index` leaves out. One that
    averages or sums over the batch is evaluated with `reduction="none"`, if that is the same: a
    weighted mean, or a mean over the tokens of a batch some of which are ignored, is not, because
    its divisor depends on all examples. A sum is a sum within each example and a mean over the
    expected batch size, which a warning says. Made by `run.loss(criterion)`.

    Parameters
    ----------
    criterion
        A loss module or function.
    batch
        The current batch of the run.

    Examples
    --------
    >>> import torch
    >>> import hockeystick as hs
    >>> data = torch.utils.data.TensorDataset(torch.randn(8, 3), torch.randn(8, 1))
    >>> net = torch.nn.Linear(3, 1)
    >>> optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    >>> plan = hs.Plan(sampling=hs.FullBatch(), steps=1)
    >>> run = hs.torch.make_private(net, optimizer, data, plan, noise_multiplier=1, max_grad_norm=1)
    >>> inputs, targets = next(iter(run.loader))
    >>> loss = run.loss(torch.nn.MSELoss())(run.model(inputs), targets)
    >>> type(loss).__name__
    'PrivateLoss'
    """

    def __init__(self, criterion: Any, batch: CurrentBatch) -> None:
        if not callable(criterion):
            raise InvalidParameter("criterion", "a loss module or function", criterion)
        self._criterion, self._batch = criterion, batch
        self._each, self._reduction = unreduced(criterion)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """A `PrivateLoss`; under `torch.no_grad()` what the criterion itself returns."""
        if not torch.is_grad_enabled():
            return self._criterion(*plain(arguments), **plain(options))
        physical_batch, recording = self._batch.physical_batch(), self._batch.recording()
        if physical_batch.size == 0:
            return PrivateLoss(torch.zeros(0), self._batch, physical_batch, None)
        loss_replay: LossReplay | None = None
        if recording is not None:
            origins = recording.origins((arguments, options))
            loss_replay = lambda replay: self._values(replay.size, *replay(origins))  # noqa: E731
        arguments, options = plain(arguments), plain(options)
        values = self._values(physical_batch.size, arguments, options)
        if recording is not None:
            self._check_same(values, arguments, options)
        total = self._reduction == "sum"
        return PrivateLoss(values, self._batch, physical_batch, loss_replay, total=total)

    def _values(self, size: int, arguments: Any, options: Any) -> torch.Tensor:
        """One loss for each of `size` examples, in single precision or wider."""
        losses = self._each(*arguments, **options)
        if not isinstance(losses, torch.Tensor) or losses.ndim == 0 or len(losses) != size:
            got = tuple(losses.shape) if isinstance(losses, torch.Tensor) else type(losses)
            allowed = (
                f"one with a loss for each of the {size} examples of the batch, for instance with "
                "reduction='none' and the examples in the first dimension (for a part of a batch "
                "at a time give physical_batch_size to make_private)"
            )
            raise InvalidParameter("criterion", allowed, got)
        if losses.dtype in (torch.bfloat16, torch.float16):
            losses = losses.float()
        kept = self._kept(losses, arguments, options)
        if losses.ndim == 1:
            return losses
        flat = losses.reshape(size, math.prod(losses.shape[1:]))
        if self._reduction in ("sum", "batchmean"):
            return flat.sum(dim=1)
        if kept is None:
            return flat.mean(dim=1)
        return flat.sum(dim=1) / kept.reshape(size, -1).sum(dim=1).clamp(min=1)

    def _kept(self, losses: torch.Tensor, arguments: Any, options: Any) -> torch.Tensor | None:
        """Which losses count; None if all do. A mean that leaves some out is refused."""
        ignored = getattr(self._each, "ignore_index", None)
        target = options.get("target", arguments[1] if len(arguments) > 1 else None)
        if ignored is None or not isinstance(target, torch.Tensor) or target.shape != losses.shape:
            return None
        kept = target != ignored
        if self._reduction == "mean" and not kept.all():
            raise InvalidParameter(
                "criterion",
                f"one with reduction='none' where targets are ignored ({ignored}): a mean over "
                "the targets that count depends on all examples, a mean within each example "
                "does not",
                self._criterion,
            )
        return kept

    def _check_same(self, values: torch.Tensor, arguments: Any, options: Any) -> None:
        """`InvalidParameter` if the criterion's own value is not that of its examples."""
        half = (torch.bfloat16, torch.float16)
        rounded = any(t.dtype in half for t in arguments if isinstance(t, torch.Tensor))
        if self._each is self._criterion or rounded:
            return
        with torch.no_grad():
            own = float(self._criterion(*arguments, **options))
            ours = float(values.sum() if self._reduction == "sum" else values.mean())
        if math.isfinite(own) and not abs(own - ours) <= MEAN_ERROR * max(abs(own), abs(ours)):
            raise InvalidParameter(
                "criterion",
                "one with reduction='none': its own mean is not the mean of the losses of the "
                "examples",
                self._criterion,
            )


class PrivateLoss:
    """The losses of a batch, one for each example; `backward()` clips their gradients.

    Losses of the same batch can be added, and multiplied by numbers that do not depend on it. Made
    by a `PrivateCriterion`.

    Parameters
    ----------
    values
        One loss for each example.
    batch, physical_batch
        The current batch of the run, and the physical batch whose losses these are.
    loss_replay
        Computes the losses again for some examples, if the batch is probed.
    total
        Whether `item()` is the sum over the batch instead of the mean.

    Examples
    --------
    >>> import torch
    >>> import hockeystick as hs
    >>> data = torch.utils.data.TensorDataset(torch.randn(8, 3), torch.randn(8, 1))
    >>> net = torch.nn.Linear(3, 1)
    >>> optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    >>> plan = hs.Plan(sampling=hs.FullBatch(), steps=1)
    >>> run = hs.torch.make_private(net, optimizer, data, plan, noise_multiplier=1, max_grad_norm=1)
    >>> inputs, targets = next(iter(run.loader))
    >>> loss = run.loss(torch.nn.MSELoss())(run.model(inputs), targets)
    >>> (0.5 * loss + loss).backward()
    """

    def __init__(
        self,
        values: torch.Tensor,
        batch: CurrentBatch,
        physical_batch: PhysicalBatch,
        loss_replay: LossReplay | None,
        *,
        total: bool = False,
    ) -> None:
        self._values, self._batch, self._physical_batch = values, batch, physical_batch
        self._loss_replay, self._total = loss_replay, total

    def backward(self, **options: Any) -> None:
        """Clip the gradient of each example and keep their sum for the optimizer's step."""
        if options:
            raise InvalidParameter("backward", "called without options", sorted(options))
        self._batch.compute(self._values, self._loss_replay, self._physical_batch)

    def detach(self) -> torch.Tensor:
        """The mean over the batch (or the sum, if the criterion sums); as secret as the data."""
        values = self._values.detach()
        return values.sum() if self._total or not len(values) else values.mean()

    def item(self) -> float:
        """`detach` as a number."""
        return float(self.detach())

    def __float__(self) -> float:
        return self.item()

    def __format__(self, form: str) -> str:
        return format(self.item(), form)

    def __getattr__(self, name: str) -> Any:
        """Losses are of single examples: there is nothing to reduce or to move."""
        raise AttributeError(
            f"a loss of a private run has no {name}; it has backward(), item() and detach(), can "
            "be added to other losses of the batch and multiplied by numbers"
        )

    def __add__(self, other: Any) -> PrivateLoss:
        if not isinstance(other, PrivateLoss):
            raise InvalidParameter(
                "loss",
                "added to losses of the run only (weight decay belongs into the optimizer)",
                type(other),
            )
        if other._physical_batch is not self._physical_batch:
            raise InvalidParameter("loss", "added to losses of the same batch only", "another one")
        mine, theirs = self._loss_replay, other._loss_replay
        loss_replay = None
        if mine is not None and theirs is not None:
            loss_replay = lambda replay: mine(replay) + theirs(replay)  # noqa: E731
        return self._with(self._values + other._values, loss_replay)

    def __radd__(self, other: Any) -> PrivateLoss:
        # The sum of a list begins with 0.
        return self if isinstance(other, int) and other == 0 else self + other

    def __sub__(self, other: Any) -> PrivateLoss:
        return self + -1.0 * other if isinstance(other, PrivateLoss) else self + other

    def __neg__(self) -> PrivateLoss:
        return -1.0 * self

    def __mul__(self, number: Any) -> PrivateLoss:
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            raise InvalidParameter(
                "loss", "multiplied by a number: a tensor may depend on all examples", type(number)
            )
        mine = self._loss_replay
        loss_replay = None if mine is None else lambda replay: mine(replay) * number
        return self._with(self._values * number, loss_replay)

    __rmul__ = __mul__

    def __truediv__(self, number: Any) -> PrivateLoss:
        if not isinstance(number, (int, float)) or number == 0:
            raise InvalidParameter("loss", "divided by a number", number)
        return self * (1.0 / number)

    def _with(self, values: torch.Tensor, loss_replay: LossReplay | None) -> PrivateLoss:
        return PrivateLoss(
            values, self._batch, self._physical_batch, loss_replay, total=self._total
        )

    def __repr__(self) -> str:
        return f"PrivateLoss({self.item():.6g})"

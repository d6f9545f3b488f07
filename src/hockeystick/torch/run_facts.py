"""RunFacts: what a PyTorch run says about itself.

Among it is the fingerprint of a model's final parameters, for its statement.
"""

from __future__ import annotations

import hashlib

import torch
from torch import nn

from hockeystick._process import SingleUse
from hockeystick.errors import InvalidParameter
from hockeystick.plan import Plan
from hockeystick.torch.forms import Form
from hockeystick.torch.per_sample_module import PerSampleModule
from hockeystick.torch.progress import Progress
from hockeystick.torch.sharded_layout import is_sharded
from hockeystick.training.canaries import AuditedRun, RunCanaries
from hockeystick.training.schedules import Schedule

__all__ = [
    "RunFacts",
    "fingerprint",
]


class RunFacts(SingleUse, AuditedRun):
    """The part of a `TorchRun` that only reads."""

    _progress: Progress
    _form: Form
    _canaries: RunCanaries | None

    @property
    def canaries(self) -> RunCanaries | None:
        """What `audit` compares with the plan, if the run was made with `canaries=`."""
        return self._canaries

    @property
    def taken_steps(self) -> int:
        """How many steps have been taken."""
        return self._progress.taken

    @property
    def finished(self) -> bool:
        """Whether the plan's steps are taken or the filter permits no other."""
        return self._progress.finished

    @property
    def stopped_by(self) -> str | None:
        """What ended the run: "plan", "filter", "close", or None while steps may follow."""
        if self._progress.exhausted:
            return "filter"
        if self._progress.closed:
            return "close"
        return "plan" if self._progress.finished else None

    @property
    def plan(self) -> Plan:
        """What draws the batches and the noise."""
        return self._progress.settings.plan

    @property
    def noise_multiplier(self) -> float:
        """Standard deviation of Z over the clip norm."""
        return self._progress.now.noise_multiplier

    @property
    def max_grad_norm(self) -> float:
        """The clip norm."""
        return self._progress.now.max_grad_norm

    @property
    def rate(self) -> float | None:
        """The sampling rate that a filter is charged for; None without a filter."""
        return self._progress.now.rate

    @property
    def history(self) -> Schedule:
        """The steps that were taken, equal ones in a row together."""
        return self._progress.schedule

    @property
    def arithmetic(self) -> str:
        """What was given to make_private: "float" or "exact"."""
        return self._progress.settings.arithmetic

    @property
    def delta(self) -> float | None:
        """The delta for which plan and noise were chosen; None if they were given."""
        return self._form.delta

    @property
    def choice(self) -> str | None:
        """What was chosen and why, in one line; None if the plan was given."""
        return self._form.choice

    @property
    def expected_batch_size(self) -> float:
        """What sums of gradients are divided by."""
        return self._progress.expected_batch_size


def fingerprint(model: nn.Module) -> str | None:
    """SHA-256 of the names, types, shapes and numbers of all parameters and buffers.

    The same on every device; what `run.statement` has as `parameters`. Cost: one pass over the
    numbers.

    Parameters
    ----------
    model
        The model that was trained, as it was or as `run.model`, or one into which its state was
        loaded.

    Returns
    -------
    str or None
        64 hexadecimal digits; None for a sharded model, of which no rank has all numbers.

    Examples
    --------
    >>> import torch
    >>> import hockeystick as hs
    >>> import hockeystick.torch
    >>> one, other = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)
    >>> other.load_state_dict(one.state_dict())
    <All keys matched successfully>
    >>> hs.torch.fingerprint(one) == hs.torch.fingerprint(other)
    True
    """
    if not isinstance(model, nn.Module):
        raise InvalidParameter("model", "a torch.nn.Module", type(model).__name__)
    digest = hashlib.sha256()
    plain_model = model._module if isinstance(model, PerSampleModule) else model
    for name, value in sorted(plain_model.state_dict().items()):
        if not isinstance(value, torch.Tensor):
            continue
        if is_sharded(value):
            return None
        plain = value.detach().cpu().contiguous()
        digest.update(f"{name!r} {plain.dtype} {tuple(plain.shape)} ".encode())
        digest.update(plain.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()

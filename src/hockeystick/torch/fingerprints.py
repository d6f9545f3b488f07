"""The fingerprint of a model's final parameters, for its statement."""

from __future__ import annotations

import hashlib

import torch
from torch import nn

from hockeystick.errors import InvalidParameter
from hockeystick.torch.per_sample_module import PerSampleModule
from hockeystick.torch.sharded_layout import is_sharded

__all__ = ["fingerprint"]


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

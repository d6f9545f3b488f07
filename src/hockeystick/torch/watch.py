"""Notices parameters and buffers that something else than the run has changed."""

from __future__ import annotations

import torch

from hockeystick.errors import PlanMismatch

__all__ = ["Watch"]


class Watch:
    """Compares version counters, which every change in place of a tensor raises.

    A change through `tensor.data` raises none and is not seen.
    """

    def __init__(self, model: torch.nn.Module) -> None:
        self._model = model
        self._parameters: dict[str, tuple[int, int]] | None = None
        self._buffers: dict[str, tuple[int, int]] = {}

    @property
    def begun(self) -> bool:
        """Whether a change would be noticed."""
        return self._parameters is not None

    def begin(self) -> None:
        """What is there now is what the run left, or what it starts from."""
        self._parameters = _versions(dict(self._model.named_parameters()))

    def forget(self) -> None:
        """A state was restored: begin anew at the next batch."""
        self._parameters, self._buffers = None, {}

    def hold_buffers(self, except_for: frozenset[str]) -> None:
        """From now on these may not change: what a buffer keeps of a batch has no noise."""
        buffers = {n: b for n, b in self._model.named_buffers() if n not in except_for}
        self._buffers = _versions(buffers)

    def check(self) -> None:
        """`PlanMismatch` with the name of the first tensor that was changed."""
        if self._parameters is None:
            return
        now = _versions(dict(self._model.named_parameters()))
        for name, version in self._parameters.items():
            if now.get(name) != version:
                raise PlanMismatch(
                    f"The parameter {name} was changed by something else than the run's optimizer; "
                    "updates that the run does not make are not accounted (a projection belongs "
                    "into optimizer.register_step_post_hook)."
                )
        buffers = _versions(dict(self._model.named_buffers()))
        for name, version in self._buffers.items():
            if buffers.get(name) != version:
                raise PlanMismatch(
                    f"The buffer {name} was changed during the run; what a buffer keeps of a batch "
                    "would leave the run without noise."
                )


def _versions(tensors: dict[str, torch.Tensor]) -> dict[str, tuple[int, int]]:
    return {name: (id(tensor), tensor._version) for name, tensor in tensors.items()}

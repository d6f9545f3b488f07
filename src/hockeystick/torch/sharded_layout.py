"""ShardedLayout: parameters of which `fully_shard` has given each rank some rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate
from typing import Any

import torch
from torch import nn
from torch.distributed.tensor import DTensor, Shard

from hockeystick.errors import InvalidParameter
from hockeystick.torch.layouts import Layout, Ranges, ReplicatedLayout, WholeLayout, zero_sum
from hockeystick.torch.run_group import RunGroup

__all__ = ["ShardedLayout", "is_sharded", "layout_of"]


class ShardedLayout:
    """Each rank holds its own rows of every parameter, and their sums, noise and gradients.

    The sums of a layer are exchanged as soon as they are there: no rank ever holds the sums of all
    parameters.
    """

    group: RunGroup
    sharded = True

    def __init__(
        self, parameters: list[Any], group: RunGroup, names: dict[torch.Tensor, str]
    ) -> None:
        self.group, self._parameters = group, parameters
        for parameter in parameters:
            _check_placement(parameter, group, names.get(parameter, "a parameter"))
        starts = [0, *accumulate(p.numel() for p in parameters)]
        self.ranges: Ranges = [
            _range_of(p, start, group) for p, start in zip(parameters, starts, strict=False)
        ]

    def scattered(self, number: int, total: torch.Tensor) -> torch.Tensor:
        """The sum over the ranks of this rank's rows."""
        parameter, (start, stop) = self._parameters[number], self.ranges[number]
        length = _rows_of_rank(parameter, self.group) * _row_length(parameter)
        everything = zero_sum(length * self.group.size, total.device)
        everything[: len(total)] = total
        return self.group.sum_of_part(everything)[: stop - start]

    def like(self) -> list[torch.Tensor]:
        """The rows of each parameter."""
        return [p.to_local() for p in self._parameters]

    def zeros(self) -> list[torch.Tensor]:
        """For each parameter's rows."""
        return [
            zero_sum(stop - start, p.to_local().device)
            for p, (start, stop) in zip(self._parameters, self.ranges, strict=True)
        ]

    def held(self, sums: list[torch.Tensor]) -> list[torch.Tensor]:
        """They were scattered before."""
        return sums

    def gradients(self, released: list[torch.Tensor]) -> list[torch.Tensor]:
        """Sharded like the parameters, in their types: this is the only rounding."""
        return [
            _sharded_like(p, r.view_as(p.to_local()).to(p.dtype))
            for r, p in zip(released, self._parameters, strict=True)
        ]

    @contextmanager
    def whole(self, model: nn.Module) -> Iterator[None]:
        """All parameters are gathered on every rank, and afterwards sharded again."""
        parts = sharded_modules(model)
        settings = [_exchanges(part) for part in parts]
        for part in parts:
            part.unshard()
            part.set_requires_gradient_sync(False, recurse=False)
            part.set_reshard_after_forward(False, recurse=False)
            part.set_reshard_after_backward(False, recurse=False)
        try:
            yield
        finally:
            for part, kept in zip(parts, settings, strict=True):
                for group, values in zip(_parameter_groups(part), kept, strict=True):
                    vars(group).update(values)
                part.reshard()


def layout_of(model: nn.Module, parameters: list[torch.Tensor], group: RunGroup | None) -> Layout:
    """How the ranks of the group hold the parameters; a single process holds all of them."""
    if group is None:
        return WholeLayout(parameters)
    group.device = parameters[0].device
    if not any(is_sharded(p) for p in parameters):
        return ReplicatedLayout(parameters, group)
    names = {p: name for name, p in model.named_parameters()}
    return ShardedLayout(parameters, group, names)


def is_sharded(parameter: torch.Tensor) -> bool:
    """Whether ranks have parts of the parameter."""
    return isinstance(parameter, DTensor)


def sharded_modules(model: nn.Module) -> list[Any]:
    """The modules to which `fully_shard` was applied."""
    from torch.distributed.fsdp import FSDPModule

    return [part for part in model.modules() if isinstance(part, FSDPModule)]


def _parameter_groups(part: Any) -> list[Any]:
    """What PyTorch keeps of the parameters that are gathered together."""
    state = part._get_fsdp_state()
    several = getattr(state, "_fsdp_param_groups", None)
    found = [state._fsdp_param_group] if several is None else list(several)
    return [group for group in found if group is not None]


def _exchanges(part: Any) -> list[dict[str, Any]]:
    """The settings that decide when a module's parameters and gradients are exchanged."""
    names = (
        "reduce_grads",
        "all_reduce_grads",
        "reshard_after_backward",
        "post_forward_mesh_info",
    )
    return [{name: getattr(group, name) for name in names} for group in _parameter_groups(part)]


def _check_placement(parameter: Any, group: RunGroup, name: str) -> None:
    """`InvalidParameter` unless each rank of the group has some rows of the parameter."""
    if not is_sharded(parameter):
        allowed = (
            "with all trained parameters sharded, or none: apply fully_shard to the whole model "
            "before the optimizer is made"
        )
        raise InvalidParameter("model", allowed, f"{name}, which is not sharded")
    mesh = parameter.device_mesh
    if mesh.ndim != 1 or mesh.size() != group.size or parameter.placements != (Shard(0),):
        allowed = (
            "sharded by rows over all ranks, as fully_shard does on a mesh of one dimension "
            "(no replicas of shards, no tensor parallelism)"
        )
        raise InvalidParameter("model", allowed, f"{name} with {parameter.placements} on {mesh}")


def _rows_of_rank(parameter: Any, group: RunGroup) -> int:
    """How many rows the first ranks have; the last ones may have fewer."""
    return -(-parameter.shape[0] // group.size)


def _row_length(parameter: Any) -> int:
    return int(parameter.numel()) // max(int(parameter.shape[0]), 1)


def _range_of(parameter: Any, start: int, group: RunGroup) -> tuple[int, int]:
    """The coordinates of this rank's rows, if those of the parameter begin at `start`."""
    rows, length = _rows_of_rank(parameter, group), _row_length(parameter)
    first = min(group.rank * rows, parameter.shape[0])
    last = min(first + rows, parameter.shape[0])
    if parameter.to_local().numel() != (last - first) * length:
        raise InvalidParameter("model", "sharded evenly by rows", tuple(parameter.shape))
    return start + first * length, start + last * length


def _sharded_like(parameter: Any, local: torch.Tensor) -> torch.Tensor:
    return DTensor.from_local(
        local,
        parameter.device_mesh,
        parameter.placements,
        run_check=False,
        shape=parameter.shape,
        stride=parameter.stride(),
    )

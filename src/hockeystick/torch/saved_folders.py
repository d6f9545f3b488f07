"""A run in a folder, through torch.distributed.checkpoint: each rank writes what it holds.

A folder of any number of ranks can be continued by any other number: tensors are stored with their
places in the whole.
"""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from io import BytesIO
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.metadata import TensorStorageMetadata

from hockeystick._states import MALFORMED
from hockeystick.errors import HockeystickError, InvalidParameter, PlanMismatch
from hockeystick.torch.layouts import Layout, Ranges, place_of
from hockeystick.torch.run_group import RunGroup, agreed

__all__ = ["load_folder", "save_folder"]

# The run's own part of the optimizer's state.
OURS = "hockeystick"
MODEL, OPTIMIZER, MEMORY, REST = "model/", "optimizer/", "memory/", "rest"


def save_folder(folder: str | Path, state: Mapping[str, Any], group: RunGroup | None) -> None:
    """Write the state; the folder appears when all of it is there.

    Parameters
    ----------
    folder
        One that does not exist yet, on a disk that all ranks share.
    state
        What `TorchRun.state_dict` returned.
    group
        The ranks of the run.
    """
    folder = Path(folder)
    unfinished = folder.with_name(folder.name + ".partial")
    first = group is None or group.first
    agreed(group, partial(_begin, folder, unfinished) if first else _nothing)
    _exchanged(
        group,
        lambda: dcp.save(
            _flat(state, group),
            storage_writer=dcp.FileSystemWriter(unfinished),
            no_dist=group is None,
        ),
    )
    agreed(group, partial(_finish, folder, unfinished) if first else _nothing)


def load_folder(
    folder: str | Path,
    model: Mapping[str, Any],
    parameters: list[torch.Tensor],
    layout: Layout,
) -> dict[str, Any]:
    """The state in a folder, of the coordinates that are held here.

    Parameters
    ----------
    folder
        What `save_folder` wrote. Reading it can execute code, as with all pickles.
    model
        The state of the model, whose tensors are not changed.
    parameters
        The trained parameters in the optimizer's order.
    layout
        Which coordinates are held here.

    Returns
    -------
    dict
        What `TorchRun.load_state_dict` takes.
    """
    tensors = agreed(layout.group, partial(_tensors, Path(folder)))
    wanted = agreed(layout.group, lambda: _wanted(tensors, model, parameters, layout))
    _exchanged(
        layout.group,
        lambda: dcp.load(
            wanted,
            storage_reader=dcp.FileSystemReader(Path(folder)),
            no_dist=layout.group is None,
        ),
    )
    return agreed(layout.group, partial(_nested, wanted))


def _flat(state: Mapping[str, Any], group: RunGroup | None) -> dict[str, torch.Tensor]:
    """Tensors by name; everything else is in one of bytes, which is the first rank's."""
    optimizer = dict(state["optimizer"])
    ours = dict(optimizer.pop(OURS))
    flat = {MEMORY + name: piece for name, piece in ours.pop("memory").items()}
    plain: dict[int, dict[str, Any]] = {}
    for number, values in optimizer["state"].items():
        tensors, plain[number] = _sorted(values)
        flat |= {f"{OPTIMIZER}{number}/{name}": value for name, value in tensors.items()}
    tensors, others = _sorted(state["model"])
    flat |= {MODEL + name: value for name, value in tensors.items()}
    written = BytesIO()
    rest_of_optimizer = {**optimizer, "state": plain}
    torch.save({"ours": ours, "optimizer": rest_of_optimizer, "model": others}, written)
    rest = written.getvalue() if group is None else group.of_first(written.getvalue())
    flat[REST] = torch.frombuffer(bytearray(rest), dtype=torch.uint8)
    return flat


def _nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """The state again."""
    try:
        rest = torch.load(BytesIO(flat[REST].numpy().tobytes()), weights_only=True)
        optimizer, ours = dict(rest["optimizer"]), dict(rest["ours"])
        ours["memory"] = _after(MEMORY, flat)
        values: dict[int, dict[str, Any]] = {n: dict(v) for n, v in optimizer["state"].items()}
        for name, tensor in _after(OPTIMIZER, flat).items():
            number, part = name.split("/", 1)
            values[int(number)][part] = tensor
        return {
            "model": {**rest["model"], **_after(MODEL, flat)},
            "optimizer": {**optimizer, "state": values, OURS: ours},
        }
    except (*MALFORMED, UnpicklingError) as error:
        raise PlanMismatch("The folder was not saved by a private run, or is damaged.") from error


def _sorted(values: Mapping[str, Any]) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Tensors, and everything else."""
    tensors = {name: v for name, v in values.items() if isinstance(v, torch.Tensor)}
    return tensors, {name: v for name, v in values.items() if name not in tensors}


def _after(prefix: str, flat: Mapping[str, Any]) -> dict[str, Any]:
    return {name[len(prefix) :]: v for name, v in flat.items() if name.startswith(prefix)}


def _tensors(folder: Path) -> dict[str, TensorStorageMetadata | None]:
    """The names in the folder, with the shapes and types of tensors."""
    if not (folder / ".metadata").is_file():
        raise InvalidParameter("folder", "one that run.save(folder) has finished", folder)
    try:
        found = dcp.FileSystemReader(folder).read_metadata().state_dict_metadata
    except Exception as error:
        raise PlanMismatch("The folder was not saved by a private run, or is damaged.") from error
    return {
        name: value if isinstance(value, TensorStorageMetadata) else None
        for name, value in found.items()
    }


def _wanted(
    stored: Mapping[str, TensorStorageMetadata | None],
    model: Mapping[str, Any],
    parameters: list[torch.Tensor],
    layout: Layout,
) -> dict[str, Any]:
    """Empty tensors for what this rank needs of the folder."""
    tensors, _ = _sorted(model)
    if _after(MODEL, stored).keys() != tensors.keys() or (rest := stored.get(REST)) is None:
        raise PlanMismatch("The folder is of another model: it has other names in it.")
    wanted: dict[str, Any] = {REST: torch.empty(rest.size, dtype=torch.uint8)}
    for name, value in tensors.items():
        kept = stored[MODEL + name]
        if kept is None or kept.size != value.shape:
            raise PlanMismatch(
                f"The folder has no tensor of the shape {tuple(value.shape)} as {name}."
            )
        wanted[MODEL + name] = torch.empty_like(value, dtype=kept.properties.dtype)
    for name, kept in _after(OPTIMIZER, stored).items():
        number = int(name.split("/", 1)[0])
        if kept is None or number >= len(parameters):
            raise PlanMismatch("The folder is of another optimizer.")
        wanted[OPTIMIZER + name] = _like(parameters[number], kept)
    return wanted | _wanted_memory(_after(MEMORY, stored), layout.ranges)


def _wanted_memory(
    stored: Mapping[str, TensorStorageMetadata | None], ranges: Ranges
) -> dict[str, torch.Tensor]:
    """The pieces that have coordinates of this rank; one of them if it has none."""
    names = [
        name
        for name in stored
        if any(max(place_of(name)[0], a) < min(place_of(name)[1], b) for a, b in ranges)
    ]
    wanted = {}
    for name in names or list(stored)[:1]:
        if (kept := stored[name]) is None:
            raise PlanMismatch("The folder has no noise where noise was remembered.")
        wanted[MEMORY + name] = torch.empty(kept.size, dtype=kept.properties.dtype)
    return wanted


def _like(parameter: torch.Tensor, kept: TensorStorageMetadata) -> torch.Tensor:
    """A tensor of the optimizer's state, sharded like its parameter if it has its shape."""
    dtype = kept.properties.dtype
    if kept.size == parameter.shape and parameter.ndim:
        return torch.empty_like(parameter, dtype=dtype, requires_grad=False)
    return torch.empty(kept.size, dtype=dtype)


def _exchanged(group: RunGroup | None, work: Callable[[], Any]) -> None:
    """One sentence if the disk fails or a rank is gone."""
    try:
        with warnings.catch_warnings():
            # A single process is what is meant.
            warnings.filterwarnings("ignore", "torch.distributed is disabled")
            work()
    except HockeystickError:
        raise
    except Exception as error:
        if group is not None and isinstance(error, RuntimeError) and group.is_loss(error):
            group.lost(error)
        raise HockeystickError(
            "The run could not be written to the folder or read from it "
            f"({type(error).__name__}: {' '.join(str(error).split())[:200]})."
        ) from error


def _begin(folder: Path, unfinished: Path) -> None:
    if folder.exists():
        allowed = "one that does not exist yet: a saved run is never overwritten"
        raise InvalidParameter("folder", allowed, folder)
    try:
        if unfinished.exists():
            shutil.rmtree(unfinished)
        unfinished.mkdir(mode=0o700, parents=True)
    except OSError as error:
        raise InvalidParameter("folder", "one that can be written", folder) from error


def _finish(folder: Path, unfinished: Path) -> None:
    try:
        unfinished.rename(folder)
    except OSError as error:
        raise InvalidParameter("folder", "one that can be written", folder) from error


def _nothing() -> None:
    """The first rank does it."""

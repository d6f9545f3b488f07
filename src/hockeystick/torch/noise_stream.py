"""TorchNoiseStream: the rows of C^-1 Z as tensors in the shapes of a model's parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate, pairwise
from typing import Any

import torch

from hockeystick._process import SingleUse
from hockeystick._states import MALFORMED
from hockeystick._validate import positive, positive_integer
from hockeystick.errors import InvalidParameter
from hockeystick.plan import Plan
from hockeystick.randomness import Key, RandomSource
from hockeystick.strategies.noise import NoiseStream
from hockeystick.strategies.pieces import Coordinates
from hockeystick.torch.device_noise import DeviceNoiseStream
from hockeystick.torch.original_state import as_arrays, as_tensors

__all__ = ["TorchNoiseStream"]

# The type of the noise for each type of parameters. In half precision it would be rounded to a few
# bits; the sum of gradients and noise is rounded once, by the optimizer.
TYPES = {
    torch.bfloat16: torch.float32,
    torch.float16: torch.float32,
    torch.float32: torch.float32,
    torch.float64: torch.float64,
}


class TorchNoiseStream(SingleUse, Iterator[list[torch.Tensor]]):
    """For each step of the plan the noise C^-1 Z, one tensor for each parameter.

    Entries of Z are independent with standard deviation noise_multiplier * max_grad_norm; the noise
    belongs on the *sum* of the clipped gradients, before any division. It ends after the plan's
    steps.

    Drawn where the parameters are, if that is one device; from several devices they are drawn on
    the CPU and copied. The noise of a key is the same everywhere, up to rounding.

    Drawn in double precision if a parameter has it, otherwise in single. The noise of parameters
    in half precision is single precision: round it once, together with the sum.
    What `plan.noise` says about memory, states and floating point holds here too: a state reveals
    past and future noise, restoring an older one repeats noise, and a stream works only in the
    process that made it and cannot be copied or pickled.

    Several processes that hold parts of one vector share a `Key`, and each says where its tensors
    are in the whole (`coordinates`, `dimension`). What a coordinate gets does not depend on who
    holds it. All of them pass a tensor for every parameter, if need be an empty one: whether a
    parameter has double precision decides for all.

    Parameters
    ----------
    plan
        Steps and strategy.
    parameters
        Tensors of float16, bfloat16, float32 or float64; the noise has their shapes and devices.
    noise_multiplier
        The standard deviation of Z over the clip norm.
    max_grad_norm
        The clip norm.
    rng
        What `plan.noise` takes.
    noise_memory
        "rows" or "replay", as in `plan.noise`.
    coordinates
        Where the tensors are in the whole vector: a range (start, stop) for each of them, in order
        and disjoint. By default they are all of it, one after the other.
    dimension
        The size of the whole vector; needed with `coordinates`.
    arithmetic, resolution
        As in `plan.noise`: with "exact" the tensors are int64, in units of `lattice`.

    Examples
    --------
    >>> import torch
    >>> import hockeystick as hs
    >>> plan = hs.Plan(sampling=hs.Poisson(rate=0.1), steps=3)
    >>> parameters = torch.nn.Linear(3, 2).parameters()
    >>> stream = hs.torch.TorchNoiseStream(
    ...     plan, parameters, noise_multiplier=1.0, max_grad_norm=1.0
    ... )
    >>> [tuple(noise.shape) for noise in next(stream)]
    [(2, 3), (2,)]
    """

    what = "The noise stream"
    instead = "let one follow the other by state_dict() and load_state_dict()"

    def __init__(
        self,
        plan: Plan,
        parameters: Iterable[torch.Tensor],
        *,
        noise_multiplier: float,
        max_grad_norm: float,
        rng: RandomSource | Key = None,
        noise_memory: str = "rows",
        coordinates: Coordinates | None = None,
        dimension: int | None = None,
        arithmetic: str = "float",
        resolution: int | None = None,
    ) -> None:
        if not isinstance(plan, Plan):
            raise InvalidParameter("plan", "a Plan", plan)
        scale = positive("noise_multiplier", noise_multiplier)
        scale *= positive("max_grad_norm", max_grad_norm)
        given = [(p.shape, p.dtype, p.device) for p in parameters]
        for _, dtype, _ in given:
            if dtype not in TYPES:
                raise InvalidParameter("parameters", "of a floating-point type", dtype)
        self._like = [(shape, TYPES[dtype], device) for shape, dtype, device in given]
        self._sizes = [shape.numel() for shape, _, _ in self._like]
        self._ends = [0, *accumulate(self._sizes)]
        wide = any(dtype == torch.float64 for _, dtype, _ in self._like)
        whole = self._whole(coordinates, dimension)
        settings: dict[str, Any] = {
            "scale": scale,
            "dtype": "float64" if wide else "float32",
            "rng": rng,
            "noise_memory": noise_memory,
            "coordinates": coordinates,
        }
        where = drawing_device([device for _, _, device in self._like])
        self._rows: NoiseStream = (
            plan.noise(whole, **settings, arithmetic=arithmetic, resolution=resolution)
            if where is None or arithmetic == "exact"
            else DeviceNoiseStream(
                plan.strategy.recurrence,
                steps=plan.steps,
                dimension=whole,
                device=where,
                **settings,
            )
        )
        self._exact = arithmetic == "exact"

    def _whole(self, coordinates: Coordinates | None, dimension: int | None) -> int:
        """The size of the whole vector; `InvalidParameter` if the ranges are not the tensors'."""
        if coordinates is None:
            if dimension not in (None, self._ends[-1]):
                raise InvalidParameter("dimension", f"{self._ends[-1]}, or coordinates", dimension)
            if not self._ends[-1] > 0:
                raise InvalidParameter("parameters", "one or more tensors", self._like)
            return self._ends[-1]
        sizes = [stop - start for start, stop in coordinates]
        if sizes != [end - start for start, end in pairwise(self._ends)]:
            raise InvalidParameter("coordinates", "a range for each tensor, of its size", sizes)
        if dimension is None:
            raise InvalidParameter("dimension", "the size of the whole vector", dimension)
        return positive_integer("dimension", dimension)

    @property
    def step(self) -> int:
        """How many rows were drawn."""
        return self._rows.step

    @property
    def steps(self) -> int:
        """How many rows there are."""
        return self._rows.steps

    @property
    def lattice(self) -> float | None:
        """The unit of exact noise; None for floating point."""
        return getattr(self._rows, "lattice", None)

    @property
    def seeded(self) -> bool:
        """Whether noise came from a seed of the caller, here or before a state was saved."""
        return self._rows.seeded

    def __iter__(self) -> TorchNoiseStream:
        return self

    def __next__(self) -> list[torch.Tensor]:
        row = torch.as_tensor(next(self._rows))
        parts = row.split_with_sizes(self._sizes)
        return [
            part.view(shape)
            if part.dtype == dtype and part.device == device
            else part.view(shape).to(device=device, dtype=None if self._exact else dtype)
            for part, (shape, dtype, device) in zip(parts, self._like, strict=True)
        ]

    @property
    def memory(self) -> torch.Tensor:
        """What is remembered of the held coordinates: rows, and a column for each coordinate.

        Not a copy: the next row changes it. Columns are in the order of the coordinates, so those
        of several processes can be put together, or shared out in another way.
        """
        return torch.as_tensor(self._rows.memory)

    def head(self) -> dict[str, Any]:
        """The state without what depends on the coordinates; the same in all processes."""
        state: dict[str, Any] = as_tensors(self._rows.head())
        return state

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to continue from here, as `torch.save` and `torch.load` take it."""
        state: dict[str, Any] = as_tensors(self._rows.state())
        return state

    def load_state_dict(
        self, state: Mapping[str, Any], *, memory: torch.Tensor | None = None
    ) -> None:
        """Continue from a saved state.

        Parameters
        ----------
        state
            What `state_dict()` returned; or what `head()` returned.
        memory
            With a head: the memory of the coordinates that are held here.

        Raises
        ------
        InvalidParameter
            If the state is of another plan or model, or was changed. The stream is not changed
            then.
        """
        self.prepared(state, memory=memory)()

    def change(self, *, scale: float, reason: str | None = None) -> None:
        """Another standard deviation from the next row on; see `NoiseStream.change`.

        Parameters
        ----------
        scale
            The standard deviation.
        reason
            What changes, as a text; noise then follows from another key.
        """
        self._rows.change(scale=scale, reason=reason)

    @property
    def lineage(self) -> str:
        """What tells the present key from others, and says nothing about it.

        After a change by hand it is another one: a step that a restored run takes again has the
        noise that it had before only in the same lineage.
        """
        return self.key.secret(b"lineage")[:8].hex()

    @property
    def key(self) -> Key:
        """What the next rows follow from: as secret as the data."""
        return self._rows._key

    def prepared(
        self,
        state: Mapping[str, Any],
        *,
        memory: torch.Tensor | None = None,
        scale: float | None = None,
    ) -> Callable[[], None]:
        """`load_state_dict` in two parts: everything is checked now, and changed by the result."""
        try:
            saved, rows = as_arrays(dict(state)), as_arrays(memory)
        except MALFORMED as error:
            raise InvalidParameter("state", "what `state_dict()` returned", type(state)) from error
        return self._rows.prepared(saved, rows, scale=scale)


def drawing_device(devices: list[torch.device]) -> torch.device | None:
    """The device on which noise for tensors on these devices is drawn; None is the CPU."""
    places = set(devices)
    if len(places) != 1:
        return None
    (only,) = places
    return None if only.type == "cpu" else only

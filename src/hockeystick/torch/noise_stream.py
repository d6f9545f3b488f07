"""TorchNoiseStream: the rows of C^-1 Z as tensors in the shapes of a model's parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate, pairwise
from typing import Any

import torch

from hockeystick._process import SingleUse
from hockeystick._states import MALFORMED
from hockeystick._validate import positive
from hockeystick.errors import InvalidParameter
from hockeystick.plan import Plan
from hockeystick.randomness import RandomSource
from hockeystick.torch.state_dicts import as_arrays, as_tensors

__all__ = ["TorchNoiseStream"]

# Types of parameters. Noise in a coarser type would be rounded to a few bits.
TYPES = {torch.float32: "float32", torch.float64: "float64"}


class TorchNoiseStream(SingleUse, Iterator[list[torch.Tensor]]):
    """For each step of the plan the noise C^-1 Z, one tensor for each parameter.

    Entries of Z are independent with standard deviation noise_multiplier * max_grad_norm; the noise
    belongs on the *sum* of the clipped gradients, before any division. It ends after the plan's
    steps.

    Drawn in double precision if a parameter has it, otherwise in single; other types are refused.
    What `plan.noise` says about memory, states and floating point holds here too: a state reveals
    past and future noise, restoring an older one repeats noise, and a stream works only in the
    process that made it and cannot be copied or pickled.

    Parameters
    ----------
    plan
        Steps and strategy.
    parameters
        Tensors of float32 or float64; the noise has their shapes, types and devices.
    noise_multiplier
        The standard deviation of Z over the clip norm.
    max_grad_norm
        The clip norm.
    rng
        What `plan.noise` takes.

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
        rng: RandomSource = None,
    ) -> None:
        if not isinstance(plan, Plan):
            raise InvalidParameter("plan", "a Plan", plan)
        scale = positive("noise_multiplier", noise_multiplier)
        scale *= positive("max_grad_norm", max_grad_norm)
        self._like = [(p.shape, p.dtype, p.device) for p in parameters]
        self._ends = [0, *accumulate(shape.numel() for shape, _, _ in self._like)]
        if not self._ends[-1] > 0:
            raise InvalidParameter("parameters", "one or more tensors", self._like)
        for _, dtype, _ in self._like:
            if dtype not in TYPES:
                raise InvalidParameter("parameters", "of type float32 or float64", dtype)
        wide = any(dtype == torch.float64 for _, dtype, _ in self._like)
        name = TYPES[torch.float64 if wide else torch.float32]
        self._rows = plan.noise(self._ends[-1], scale=scale, dtype=name, rng=rng)

    @property
    def step(self) -> int:
        """How many rows were drawn."""
        return self._rows.step

    @property
    def steps(self) -> int:
        """How many rows there are."""
        return self._rows.steps

    @property
    def seeded(self) -> bool:
        """Whether noise came from a seed of the caller, here or before a state was saved."""
        return self._rows.seeded

    def __iter__(self) -> TorchNoiseStream:
        return self

    def __next__(self) -> list[torch.Tensor]:
        row = torch.from_numpy(next(self._rows))
        return [
            row[start:end].view(shape).to(device=device, dtype=dtype)
            for (start, end), (shape, dtype, device) in zip(
                pairwise(self._ends), self._like, strict=True
            )
        ]

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to continue from here, as `torch.save` and `torch.load` take it."""
        state: dict[str, Any] = as_tensors(self._rows.state())
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a saved state.

        Parameters
        ----------
        state
            What `state_dict()` returned.

        Raises
        ------
        InvalidParameter
            If the state is of another plan or model, or was changed. The stream is not changed
            then.
        """
        self.prepared(state)()

    def prepared(self, state: Mapping[str, Any]) -> Callable[[], None]:
        """`load_state_dict` in two parts: everything is checked now, and changed by the result."""
        try:
            saved = as_arrays(dict(state))
        except MALFORMED as error:
            raise InvalidParameter("state", "what `state_dict()` returned", type(state)) from error
        return self._rows.prepared(saved)

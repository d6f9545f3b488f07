"""NoiseStream: the rows of C^-1 Z as tensors in the shapes of a model's parameters."""

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
from hockeystick.torch.portable import from_portable, to_portable

__all__ = ["NoiseStream"]

# Noise in a coarser type than these would be rounded visibly.
TYPES = {torch.float32: "float32", torch.float64: "float64"}


class NoiseStream(SingleUse, Iterator[list[torch.Tensor]]):
    """For each step of the plan the noise C^-1 Z, one tensor for each parameter.

    Entries of Z are independent with standard deviation noise_multiplier * max_grad_norm; the noise
    belongs on the *sum* of the clipped gradients, before any division. Tensors have the shapes,
    types and devices of `parameters` at the start. It ends after the plan's steps.

    Drawn in double precision if a parameter has it, otherwise in single; other types are refused.
    What `plan.noise` says about memory, states and floating point holds here too: a state reveals
    past and future noise, to restore an older one repeats noise, and a stream works only in the
    process that made it and cannot be copied or pickled.
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
        """How many rows were handed out."""
        return self._rows.step

    @property
    def steps(self) -> int:
        """How many there are."""
        return self._rows.steps

    @property
    def seeded(self) -> bool:
        """Whether noise came from a seed of the caller, here or where a state was saved."""
        return self._rows.seeded

    def __iter__(self) -> NoiseStream:
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
        """Everything needed to go on from here, as `torch.save` and `torch.load` take it."""
        state: dict[str, Any] = to_portable(self._rows.state())
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state; `InvalidParameter` if it is of another plan or model."""
        self.prepared(state)()

    def prepared(self, state: Mapping[str, Any]) -> Callable[[], None]:
        """`load_state_dict` in two parts: everything is checked now, and changed by the result."""
        try:
            saved = from_portable(dict(state))
        except MALFORMED as error:
            raise InvalidParameter("state", "what `state_dict()` returned", type(state)) from error
        return self._rows.prepared(saved)

"""Two cases in which no clipped gradient may arise: empty batches, and tensors outside the model.

The model is not called for an empty batch; something else stands for its output. A tensor outside
the model would get a gradient without noise.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import torch

from hockeystick.errors import PlanMismatch
from hockeystick.torch.model_state import tensors_of
from hockeystick.torch.sharded_layout import is_sharded

__all__ = ["EmptyOutput", "nothing_like", "refuse_other_leaves"]


class EmptyOutput:
    """Whatever is computed from it is nothing again, so that the loop goes on as for other batches.

    Attributes, elements, methods, arithmetic, comparisons and PyTorch's functions give the same
    object. As a number it is 0, it has no elements, and it is false.
    """

    def item(self) -> float:
        """Nothing: 0."""
        return 0.0

    def tolist(self) -> list[Any]:
        """No numbers."""
        return []

    def __getattr__(self, name: str) -> Self:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, _: Any) -> Self:
        return self

    def __call__(self, *_: Any, **__: Any) -> Self:
        """A method gives the same object."""
        return self

    @classmethod
    def __torch_function__(cls, *_: Any, **__: Any) -> Self:
        """Carry out nothing."""
        return cls()

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return False

    def __float__(self) -> float:
        return 0.0

    def __int__(self) -> int:
        return 0

    def __format__(self, form: str) -> str:
        return format(0.0, form)

    def __eq__(self, _: object) -> Self:  # type: ignore[override]
        return self

    def __ne__(self, _: object) -> Self:  # type: ignore[override]
        return self

    __hash__ = object.__hash__

    def _same(self, *_: Any) -> Self:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _same
    __truediv__ = __rtruediv__ = __pow__ = __matmul__ = __rmatmul__ = _same
    __neg__ = __abs__ = __lt__ = __le__ = __gt__ = __ge__ = _same


def nothing_like(output: Any) -> Any:
    """The same tuple, list or dictionary without anything in it: a loop may unpack it."""
    if isinstance(output, dict) and type(output) is dict:
        return {name: nothing_like(part) for name, part in output.items()}
    if type(output) in (tuple, list):
        return type(output)(nothing_like(part) for part in output)
    return EmptyOutput()


def refuse_other_leaves(losses: torch.Tensor, model: torch.nn.Module) -> None:
    """`PlanMismatch` if the losses depend on a leaf that is not a parameter of the model.

    Its gradient would neither be clipped nor have noise, and the probe sees that only in the steps
    in which it runs. Goes once over the graph: about a microsecond for each operation. Leaves of
    sharded models are parameters that were gathered for the pass; they are not told apart.
    """
    parameters = tensors_of(model, "_parameters")
    own = set(map(id, parameters))
    seen: set[Any] = set()
    waiting = [losses.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        following = node.next_functions
        if following:
            waiting += [one for one, _ in following]
            continue
        # Of nodes that add a gradient to a leaf, where the graph ends.
        leaf = getattr(node, "variable", None)
        if leaf is not None and id(leaf) not in own and not any(map(is_sharded, parameters)):
            raise PlanMismatch(
                f"The losses depend on a tensor of shape {tuple(leaf.shape)} that requires a "
                "gradient and is not a parameter of the model: its gradient would be neither "
                "clipped nor noisy; make it a parameter of the model, or detach() it."
            )

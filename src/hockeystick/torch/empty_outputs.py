"""What stands for the model's output of an empty batch, for which the model is not called."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

__all__ = ["EmptyOutput", "nothing_like"]


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

"""Gradients of a linear layer, as the two factors of each outer product."""

from __future__ import annotations

from typing import Any

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.errors import InvalidParameter

__all__ = ["OuterProducts", "lengths_of_rows"]

TINY = float(np.finfo(np.float64).tiny)
# Sums of squares between this and its inverse have lost nothing to the ends of floating point: a
# row has at most 2^62 numbers, and those whose squares vanish are less than 2^-511 each.
SAFE = 2.0**-400


class OuterProducts:
    """The gradients u_i v_i^T of a batch, without the matrices.

    The scores of a linear layer are W v, so that the gradient of one example in W is u v^T, with u
    the derivatives of its loss in the scores and v its inputs. Its length is |u| |v|, and a
    weighted sum is one product of matrices: O(batch · (outputs + inputs)) memory where rows would
    take O(batch · outputs · inputs). What `PrivateRun.step` computes from it is what it would
    compute from the rows, up to rounding. With `arithmetic="exact"` the rows are made.

    Parameters
    ----------
    outputs
        A row u_i for each example.
    inputs
        A row v_i for each example.

    Examples
    --------
    >>> import numpy as np
    >>> import hockeystick as hs
    >>> gradients = hs.training.OuterProducts(np.ones((1, 2)), np.array([[3.0, 4.0]]))
    >>> gradients.rows()
    array([[3., 4., 3., 4.]])
    >>> gradients.lengths().round(6)
    array([7.071068])
    """

    # A vector of weights, times these, is computed here and not number by number.
    __array_ufunc__ = None

    def __init__(self, outputs: Any, inputs: Any) -> None:
        self.outputs, self.inputs = np.asarray(outputs), np.asarray(inputs)
        allowed = "two matrices of real numbers with a row for each example"
        for given in (self.outputs, self.inputs):
            if given.ndim != 2 or given.dtype.kind not in "biuf":
                shape = f"an array of {given.dtype} and shape {given.shape}"
                raise InvalidParameter("gradients", allowed, shape)
        if len(self.outputs) != len(self.inputs):
            lengths = f"{len(self.outputs)} and {len(self.inputs)} rows"
            raise InvalidParameter("gradients", allowed, lengths)
        self.outputs = self.outputs.astype(np.float64, copy=False)
        self.inputs = self.inputs.astype(np.float64, copy=False)

    @property
    def shape(self) -> tuple[int, int]:
        """That of the rows."""
        return len(self.outputs), self.outputs.shape[1] * self.inputs.shape[1]

    def __len__(self) -> int:
        return len(self.outputs)

    def __getitem__(self, chosen: Any) -> OuterProducts:
        return OuterProducts(self.outputs[chosen], self.inputs[chosen])

    def __rmatmul__(self, weights: FloatArray) -> FloatArray:
        """The weighted sum of the rows, in double precision."""
        total: FloatArray = (weights[:, None] * self.outputs).T @ self.inputs
        return total.ravel()

    def rows(self) -> FloatArray:
        """The gradients themselves, u_i v_i^T row by row."""
        products: FloatArray = self.outputs[:, :, None] * self.inputs[:, None, :]
        return products.reshape(self.shape)

    def lengths(self) -> FloatArray:
        """|u_i| |v_i|, also where squares would overflow or vanish."""
        with np.errstate(over="ignore"):
            return lengths_of_rows(self.outputs) * lengths_of_rows(self.inputs)


def lengths_of_rows(rows: FloatArray) -> FloatArray:
    """The Euclidean length of each row, also where squares would overflow or vanish."""
    with np.errstate(over="ignore", invalid="ignore"):
        squares: FloatArray = np.einsum("ij,ij->i", rows, rows)
        extreme = ~((squares > SAFE) & (squares < 1.0 / SAFE))
        lengths = np.sqrt(squares)
        if extreme.any():
            some = rows[extreme]
            largest = np.maximum(np.abs(some).max(axis=1, initial=0.0), TINY)
            lengths[extreme] = largest * np.linalg.norm(some / largest[:, None], axis=1)
    return lengths

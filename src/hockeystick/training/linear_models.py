"""Models that are linear in their parameters, with the exact gradient of every example.

`OuterProducts` are gradients of a linear layer, as the two factors of each outer product.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from hockeystick import _validate as check
from hockeystick._numerics.law import FloatArray
from hockeystick.errors import InvalidParameter

__all__ = [
    "LinearModel",
    "LinearRegression",
    "LogisticRegression",
    "OuterProducts",
    "lengths_of_rows",
    "softmax",
]


class LinearModel(ABC):
    """A weight for each feature and an intercept, which is the last parameter.

    The score of an example x is w.x + b; the loss is a function of score and target, so that the
    gradient of one example is the derivative of its loss in the score, times (x, 1).
    """

    def __init__(self, *, features: int) -> None:
        self.parameters: FloatArray = np.zeros(check.positive_integer("features", features) + 1)

    @property
    def weights(self) -> FloatArray:
        """One for each feature."""
        return self.parameters[:-1]

    @property
    def intercept(self) -> float:
        """The score where all features are zero."""
        return float(self.parameters[-1])

    def scores(self, examples: Any) -> FloatArray:
        """w.x + b for each row x."""
        scores: FloatArray = check.vector("examples", examples) @ self.weights + self.intercept
        return scores

    def example_gradients(self, examples: FloatArray, targets: FloatArray) -> FloatArray:
        """A row for each example: the gradient of its own loss, exact."""
        slopes = self._slopes(examples @ self.weights + self.intercept, targets)
        ones = np.ones((examples.shape[0], 1))
        return slopes[:, None] * np.hstack((examples, ones))

    @abstractmethod
    def losses(self, examples: FloatArray, targets: FloatArray) -> FloatArray:
        """The loss of each example."""

    @abstractmethod
    def predict(self, examples: Any) -> FloatArray:
        """The prediction for each row."""

    @abstractmethod
    def check_targets(self, targets: FloatArray) -> None:
        """`InvalidParameter` for targets that the loss is not meant for."""

    @abstractmethod
    def _slopes(self, scores: FloatArray, targets: FloatArray) -> FloatArray:
        """The derivative of each example's loss in its score."""


class LogisticRegression(LinearModel):
    """Targets 0 and 1, whose odds are e^score; loss log(1 + e^score) - target * score.

    Parameters
    ----------
    features
        The number of weights; there is an intercept besides.

    Examples
    --------
    >>> import hockeystick as hs
    >>> hs.training.LogisticRegression(features=2).predict([[1.0, 2.0]])
    array([0.5])
    """

    def losses(self, examples: FloatArray, targets: FloatArray) -> FloatArray:
        """The negative log-likelihood of each target."""
        scores = self.scores(examples)
        return np.logaddexp(0.0, scores) - targets * scores

    def predict(self, examples: Any) -> FloatArray:
        """The probability that the target is 1, for each row."""
        return _sigmoid(self.scores(examples))

    def check_targets(self, targets: FloatArray) -> None:
        """They are 0 or 1."""
        if not np.isin(targets, (0.0, 1.0)).all():
            raise InvalidParameter("targets", "0 or 1, each of them", np.unique(targets)[:4])

    def _slopes(self, scores: FloatArray, targets: FloatArray) -> FloatArray:
        return _sigmoid(scores) - targets


class LinearRegression(LinearModel):
    """Real targets; loss half the squared distance of score and target.

    Parameters
    ----------
    features
        The number of weights; there is an intercept besides.

    Examples
    --------
    >>> import hockeystick as hs
    >>> hs.training.LinearRegression(features=2).predict([[1.0, 2.0]])
    array([0.])
    """

    def losses(self, examples: FloatArray, targets: FloatArray) -> FloatArray:
        """Half the squared errors."""
        return 0.5 * (self.scores(examples) - targets) ** 2

    def predict(self, examples: Any) -> FloatArray:
        """The score of each row."""
        return self.scores(examples)

    def check_targets(self, targets: FloatArray) -> None:
        """Any finite number is allowed."""

    def _slopes(self, scores: FloatArray, targets: FloatArray) -> FloatArray:
        return scores - targets


def _sigmoid(scores: FloatArray) -> FloatArray:
    """1 / (1 + e^-score) without overflow."""
    result: FloatArray = 0.5 * (1.0 + np.tanh(0.5 * scores))
    return result


def softmax(scores: FloatArray) -> FloatArray:
    """Of each row: e^score over their sum, without overflow."""
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    result: FloatArray = shifted / shifted.sum(axis=1, keepdims=True)
    return result


# Keeps the quotient of a row of zeros finite.
TINY = float(np.finfo(np.float64).tiny)
# Sums of squares between this and its inverse have lost nothing to the ends of floating point: a
# row has at most 2^62 numbers, and those whose squares vanish are less than 2^-511 each.
SAFE = 2.0**-400
# Rows in single precision that are converted together: 64 of a thousand numbers are half a MB.
ROWS_AT_ONCE = 64


class OuterProducts:
    """The gradients u_i v_i^T of a batch, without the matrices.

    The scores of a linear layer are W v, so that the gradient of one example in W is u v^T, with u
    the derivatives of its loss in the scores and v its inputs. Its length is |u| |v|, and a
    weighted sum is one product of matrices: O(batch · (outputs + inputs)) memory where rows would
    take O(batch · outputs · inputs). What `PrivateRun.step` computes from it is what it would
    compute from the rows, up to rounding. With `arithmetic="exact"` the rows are made. Inputs in
    single precision are kept so, and lengths and sums computed in double precision.

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
        if self.inputs.dtype != np.float32:
            self.inputs = self.inputs.astype(np.float64, copy=False)
        self._lengths: FloatArray | None = None

    def measured(self) -> OuterProducts:
        """The same factors for one step, in which they do not change: lengths are computed once."""
        found = OuterProducts(self.outputs, self.inputs)
        found._lengths = found.lengths()
        return found

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
        weighted = weights[:, None] * self.outputs
        if self.inputs.dtype == np.float64:
            whole: FloatArray = weighted.T @ self.inputs
            return whole.ravel()
        # A few rows at a time stay in the cache while they are converted.
        total: FloatArray = np.zeros((self.outputs.shape[1], self.inputs.shape[1]))
        for start in range(0, len(weighted), ROWS_AT_ONCE):
            some = slice(start, start + ROWS_AT_ONCE)
            total += weighted[some].T @ self.inputs[some].astype(np.float64)
        return total.ravel()

    def rows(self) -> FloatArray:
        """The gradients themselves, u_i v_i^T row by row."""
        products: FloatArray = self.outputs[:, :, None] * self.inputs[:, None, :]
        return products.reshape(self.shape)

    def lengths(self) -> FloatArray:
        """|u_i| |v_i|, also where squares would overflow or vanish."""
        if self._lengths is not None:
            return self._lengths
        with np.errstate(over="ignore"):
            return lengths_of_rows(self.outputs) * lengths_of_rows(self.inputs)


def lengths_of_rows(rows: FloatArray) -> FloatArray:
    """The Euclidean length of each row, also where squares would overflow or vanish.

    In double precision, without a copy of rows in single precision.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        squares: FloatArray = np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
        extreme = ~((squares > SAFE) & (squares < 1.0 / SAFE))
        lengths = np.sqrt(squares)
        if extreme.any():
            some = rows[extreme].astype(np.float64)
            largest = np.maximum(np.abs(some).max(axis=1, initial=0.0), TINY)
            lengths[extreme] = largest * np.linalg.norm(some / largest[:, None], axis=1)
    return lengths

"""Norms and clipped sums of per-example gradients, in double precision.

One example changes a clipped sum by at most its clipped norm plus what rounding can do. With n
examples of norm at most C after clipping, the sum in double precision is wrong by at most
(n + 1) * 1.12e-16 * n * C in norm, with the example and without it: together 2.3e-16 * n * (n + 1)
clip norms, which is 2.3e-6 for 100,000 examples. Noise is added to the sum before it is rounded to
the parameters' type, so that this rounding is post-processing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import torch
from numba import njit

from hockeystick._numerics.law import FloatArray
from hockeystick._numerics.threads import in_threads

__all__ = ["grouped_squares", "per_example_norms", "squared_norms", "weighted_sum", "with_noise"]

# Numbers that are copied to double precision at a time on other devices than the CPU (128 MB).
COPIED = 2**24
# Below this many numbers a second thread costs more than it gains. There are at most as many as
# PyTorch may use.
WORTH_A_THREAD = 2**18
# Columns whose sums (16 kB) stay in a first-level cache.
BLOCK = 2048


def per_example_norms(rows: Sequence[torch.Tensor]) -> torch.Tensor:
    """The length of each example's gradient over all parameters, in double precision.

    `rows` has for each parameter a tensor with one gradient for each example.
    """
    return grouped_squares(rows, [0] * len(rows))[0].sqrt()


def grouped_squares(rows: Sequence[torch.Tensor], groups: Sequence[int]) -> torch.Tensor:
    """The sums of squares over the parameters of each group: a row for each of them.

    `rows` is that of `per_example_norms`, `groups` has the number of each parameter's group.
    """
    count, examples = max(groups) + 1, len(rows[0])
    if all(gradient.device.type == "cpu" for gradient in rows):
        totals = np.zeros((count, examples))
        for gradient, group in zip(rows, groups, strict=True):
            _add_squares_on_cpu(_flat(gradient), totals[group])
        return torch.from_numpy(totals)
    on = rows[0].device
    found = torch.zeros(count, examples, dtype=torch.float64, device=on)
    for gradient, group in zip(rows, groups, strict=True):
        found[group] += squared_norms(gradient).to(on)
    return found


def squared_norms(gradient: torch.Tensor) -> torch.Tensor:
    """The sum of squares of each example's gradient for one parameter, in double precision."""
    flat = _flat(gradient)
    if flat.device.type != "cpu":
        return _squares(flat)
    squares = np.zeros(len(flat))
    _add_squares_on_cpu(flat, squares)
    return torch.from_numpy(squares)


def weighted_sum(
    gradient: torch.Tensor, weights: torch.Tensor, *, spacing: float | None = None
) -> torch.Tensor:
    """The sum over the examples of weight times gradient, flat and in double precision.

    With a spacing every term is rounded to its multiples, and the sum is in units of it: integers,
    which add up exactly and in any order.
    """
    flat = _flat(gradient)
    weights = weights.to(device=flat.device, dtype=torch.float64)
    if spacing is not None:
        weights = weights / spacing
    on_cpu = flat.device.type == "cpu"
    found = _sum_on_cpu if on_cpu else _sum
    return found(flat, weights, rounded=spacing is not None)


def with_noise(
    total: torch.Tensor, noise: torch.Tensor, dtype: torch.dtype, *, unit: float, size: float
) -> torch.Tensor:
    """(total + noise) unit / size in double precision, rounded once if `dtype` is the noise's type.

    That takes one pass over memory on the CPU and the noise is overwritten; otherwise the total is,
    and nothing is rounded.
    """
    flat = noise.flatten()
    if flat.dtype != dtype or total.device.type != "cpu":
        return total.add_(flat).mul_(unit).div_(size)
    values, sums = flat.numpy(), total.numpy()
    _in_parts(
        values.size, values.size, lambda part: _add_total(values[part], sums[part], unit, size)
    )
    # Not a view of the whole row of noise: each gradient counts its own changes.
    return torch.from_numpy(values)


def _flat(gradient: torch.Tensor) -> torch.Tensor:
    """One row for each example, in single or double precision."""
    flat = gradient.detach()
    if flat.ndim != 2 or not flat.is_contiguous():
        flat = flat.flatten(1).contiguous()
    return flat if flat.dtype == torch.float64 else flat.float()


def _add_squares_on_cpu(flat: torch.Tensor, squares: FloatArray) -> None:
    values = flat.numpy()
    _in_parts(values.size, len(values), lambda part: _add_squares(values[part], squares[part]))


def _sum_on_cpu(flat: torch.Tensor, weights: torch.Tensor, *, rounded: bool) -> torch.Tensor:
    values, factors, total = flat.numpy(), weights.numpy(), np.zeros(flat.shape[1])
    add = _add_rounded_rows if rounded else _add_weighted_rows
    _in_parts(
        values.size,
        values.shape[1],
        lambda part: add(values, factors, total, part.start, part.stop),
    )
    return torch.from_numpy(total)


def _in_parts(work: int, length: int, task: Callable[[slice], None]) -> None:
    """The task for consecutive parts of range(length), in threads if there is enough work."""
    count = min(work // WORTH_A_THREAD, length)
    if count > 1:
        count = min(count, torch.get_num_threads())
    if count <= 1:
        task(slice(0, length))
        return
    edges = [length * i // count for i in range(count + 1)]
    parts = [slice(a, b) for a, b in pairwise(edges)]
    in_threads([lambda part=part: task(part) for part in parts])  # type: ignore[misc]


def _squares(flat: torch.Tensor) -> torch.Tensor:
    """On other devices, in column blocks so that no copy of all gradients is made."""
    squares = torch.zeros(len(flat), dtype=torch.float64, device=flat.device)
    for block in _blocks(flat):
        squares += block.double().square().sum(dim=1)
    return squares


def _sum(flat: torch.Tensor, weights: torch.Tensor, *, rounded: bool) -> torch.Tensor:
    if not rounded:
        return torch.cat([weights @ block.double() for block in _blocks(flat)])
    terms = (weights[:, None] * block.double() for block in _blocks(flat))
    return torch.cat([one.round_().sum(dim=0) for one in terms])


def _blocks(flat: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return flat.split(max(COPIED // max(len(flat), 1), 1), dim=1)


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
def _add_squares(rows: FloatArray, squares: FloatArray) -> None:
    """Add the sum of squares of each row to `squares`."""
    for i in range(len(rows)):
        row, total = rows[i], 0.0
        for k in range(row.size):
            total += np.float64(row[k]) * np.float64(row[k])
        squares[i] += total


@njit(cache=True, nogil=True, error_model="numpy")
def _add_total(noise: FloatArray, total: FloatArray, unit: float, size: float) -> None:
    """noise <- (total + noise) unit / size."""
    for k in range(noise.size):
        noise[k] = (total[k] + np.float64(noise[k])) * unit / size


@njit(cache=True, nogil=True)
def _add_weighted_rows(
    rows: FloatArray, weights: FloatArray, total: FloatArray, first: int, last: int
) -> None:
    """Add columns first to last of the rows, each row times its weight, to `total`.

    In blocks of columns and four rows at a time: the sums stay in the cache.
    """
    count = len(rows)
    for start in range(first, last, BLOCK):
        end = min(start + BLOCK, last)
        sums = total[start:end]
        for i in range(0, count - 3, 4):
            a, b, c, d = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
            p, q = rows[i, start:end], rows[i + 1, start:end]
            r, s = rows[i + 2, start:end], rows[i + 3, start:end]
            for k in range(end - start):
                sums[k] += (a * np.float64(p[k]) + b * np.float64(q[k])) + (
                    c * np.float64(r[k]) + d * np.float64(s[k])
                )
        for i in range(count - count % 4, count):
            a, p = weights[i], rows[i, start:end]
            for k in range(end - start):
                sums[k] += a * np.float64(p[k])


@njit(cache=True, nogil=True)
def _add_rounded_rows(
    rows: FloatArray, weights: FloatArray, total: FloatArray, first: int, last: int
) -> None:
    """The same with every product rounded to an integer: sums below 2^53 are exact."""
    count = len(rows)
    for start in range(first, last, BLOCK):
        end = min(start + BLOCK, last)
        sums = total[start:end]
        for i in range(count):
            weight, row = weights[i], rows[i, start:end]
            for k in range(end - start):
                sums[k] += np.rint(weight * np.float64(row[k]))

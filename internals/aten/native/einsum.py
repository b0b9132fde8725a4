"""`einsum`: sums of products, written with one letter per dimension
(`aten/src/ATen/native/Linear.cpp`).

`einsum("bij,bjk->bik", a, b)`: letters that appear in the output are kept, all others are summed
over. First every operand gets one dimension for every letter of the equation, in the same order,
output letters first (a repeated letter takes the diagonal, a missing one has size 1). Then two
operands at a time are contracted, until only the output is left. A contraction is one batched
matrix product: letters of both operands that are still needed are the batch, those of only one of
them are rows or columns. Letters that neither the output nor another operand needs are the inner
dimension, which is summed.

All of it is views, `bmm` and `sum`, which autograd differentiates.

How the real one differs: the order of contractions comes from the Python package opt_einsum where
that is installed; here it is left to right unless `path` says otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from internals._generated import ops
from internals.core.tensor_impl import Tensor

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
ELLIPSIS = "."  # stands for "..." in the labels of an operand: one character for each entry


def einsum(equation: str, tensors: Sequence[Any], path: Sequence[int] | None = None) -> Any:
    """Contract `tensors` as `equation` says. `path` lists the positions of the operands to
    contract, two for each contraction; a result is appended at the end.

    Raises RuntimeError for an invalid equation or path, and for sizes that do not fit.
    """
    if not tensors:
        raise RuntimeError("einsum(): must provide at least one operand")
    left, arrow, right = equation.partition("->")
    labels = _parse_operands(left, tensors)
    ellipsis_dims = max(
        [t.dim() - len(_letters(s)) for s, t in zip(labels, tensors) if ELLIPSIS in s], default=0
    )
    output = _parse_output(right, len(left) + 2, labels) if arrow else _implicit_output(labels)
    used = "".join(labels)
    contracted = [c for c in LETTERS if c in used and c not in output]
    if ELLIPSIS in used and ELLIPSIS not in output:
        contracted.insert(0, ELLIPSIS)
    order = [*output, *contracted]  # of the dimensions of all aligned operands
    _check_sizes(labels, tensors, ellipsis_dims)
    operands = [_aligned(t, s, order, ellipsis_dims) for t, s in zip(tensors, labels)]
    kept = sum(ellipsis_dims if c == ELLIPSIS else 1 for c in output)
    return _contract(operands, kept, list(path) if path else None)


def _contract(operands: list[Any], kept: int, path: list[int] | None) -> Any:
    """The product of the aligned operands, pair by pair. The dimensions from `kept` on are summed,
    as soon as no other operand has them.
    """
    if path is not None and len(path) != 2 * (len(operands) - 1):
        raise RuntimeError(
            "einsum(): expected contraction path given in path parameter to have the same length "
            "as the number of operands"
        )
    while len(operands) > 1:
        i, j = (path.pop(0), path.pop(0)) if path else (0, 1)
        if not (0 <= i < len(operands) and 0 <= j < len(operands) and i != j):
            raise RuntimeError("einsum(): invalid contraction path")
        pair = operands[i], operands[j]
        operands = [t for k, t in enumerate(operands) if k not in (i, j)]
        summed = [d for d in range(kept, pair[0].dim()) if all(t.shape[d] == 1 for t in operands)]
        result = _multiply_and_sum(*pair, summed)
        operands = operands + [result] if path is not None else [result] + operands
    result = operands[0]
    rest = list(range(kept, result.dim()))
    if all(result.shape[d] == 1 for d in rest):
        return result.squeeze(rest) if rest else result
    return result.sum(rest)


def _multiply_and_sum(left: Tensor, right: Tensor, summed: list[int]) -> Any:
    """The product of two aligned operands, summed over the dimensions `summed`, which stay with
    size 1 (PyTorch's `sumproduct_pair`).
    """
    for d in summed:  # a dimension that only one operand has can be summed before the product
        if left.shape[d] != 1 and right.shape[d] == 1:
            left = left.sum(d, keepdim=True)
        elif left.shape[d] == 1 and right.shape[d] != 1:
            right = right.sum(d, keepdim=True)
    dims = [d for d in range(left.dim()) if d not in summed]
    batch = [d for d in dims if left.shape[d] != 1 and right.shape[d] != 1]
    rows = [d for d in dims if d not in batch and right.shape[d] == 1]
    columns = [d for d in dims if d not in batch and right.shape[d] != 1]

    def size(t: Tensor, group: list[int]) -> int:
        return prod(t.shape[d] for d in group)

    # (batch, rows, summed) @ (batch, summed, columns); an operand has size 1 in the groups that are
    # permuted to the end, which `reshape` drops
    a = left.permute([*batch, *rows, *summed, *columns]).reshape(
        size(left, batch), size(left, rows), size(left, summed)
    )
    b = right.permute([*batch, *summed, *columns, *rows]).reshape(
        size(right, batch), size(right, summed), size(right, columns)
    )
    # back to one dimension for each letter, in the common order
    order = [*batch, *rows, *columns, *summed]
    sizes = (
        [left.shape[d] for d in batch + rows]
        + [right.shape[d] for d in columns]
        + [1] * len(summed)
    )
    return ops.bmm(a, b).reshape(sizes).permute([order.index(d) for d in range(len(order))])


def _aligned(t: Tensor, labels: str, order: list[str], ellipsis_dims: int) -> Any:
    """`t` with one dimension for each letter of `order` (`ellipsis_dims` for the ellipsis), of size
    1 where it has none.
    """
    own = t.dim() - len(_letters(labels))  # the dimensions of its ellipsis, if it has one
    # the ellipses of the operands are aligned at their last dimensions, as in broadcasting
    names: list[Any] = []
    for c in labels:
        names += (
            [(ELLIPSIS, d) for d in range(ellipsis_dims - own, ellipsis_dims)]
            if c == ELLIPSIS
            else [c]
        )
    # a repeated letter: the diagonal of both dimensions takes the place of the first
    for c in dict.fromkeys(_letters(labels)):
        while names.count(c) > 1:
            first = names.index(c)
            second = names.index(c, first + 1)
            t = t.diagonal(0, first, second).movedim(-1, first)
            del names[second]
    wanted: list[Any] = []
    for c in order:
        wanted += [(ELLIPSIS, d) for d in range(ellipsis_dims)] if c == ELLIPSIS else [c]
    t = t.permute([names.index(n) for n in wanted if n in names])
    for d, n in enumerate(wanted):
        if n not in names:
            t = t.unsqueeze(d)
    return t


def _parse_operands(text: str, tensors: Sequence[Any]) -> list[str]:
    """The letters of each operand, an ellipsis as one '.'. Indices in the messages count characters
    of the equation.
    """
    labels, current, i = [], "", 0
    while i < len(text):
        c = text[i]
        if c == ",":
            labels.append(current)
            current = ""
            if len(labels) >= len(tensors):
                raise RuntimeError(
                    "einsum(): fewer operands were provided than specified in the equation"
                )
        elif c == ".":
            if ELLIPSIS in current:
                raise RuntimeError(
                    f"einsum(): found '.' for operand {len(labels)} for which an ellipsis was "
                    "already found"
                )
            if text[i : i + 3] != "...":
                raise RuntimeError(
                    f"einsum(): found '.' for operand {len(labels)} that is not part of any "
                    "ellipsis"
                )
            current += ELLIPSIS
            i += 2
        elif c in LETTERS:
            current += c
        elif c != " ":
            raise _bad_subscript(i)
        i += 1
    labels.append(current)
    if len(labels) < len(tensors):
        raise RuntimeError("einsum(): more operands were provided than specified in the equation")
    for i, (s, t) in enumerate(zip(labels, tensors)):
        n = len(_letters(s))
        if n > t.dim() or (n < t.dim() and ELLIPSIS not in s):
            without = "" if ELLIPSIS in s else " and no ellipsis was given"
            verb = "is more than" if ELLIPSIS in s else "does not match"
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({n}) {verb} the number of "
                f"dimensions ({t.dim()}) for operand {i}{without}"
            )
    return labels


def _parse_output(text: str, start: int, labels: list[str]) -> str:
    """The letters of the output, which begins at character `start` of the equation. Raises
    RuntimeError for letters that are repeated or in no operand.
    """
    output, i = "", 0
    while i < len(text):
        c = text[i]
        if c == ".":
            if ELLIPSIS in output:
                raise RuntimeError(
                    "einsum(): found '.' for output but an ellipsis (...) was already found"
                )
            if text[i : i + 3] != "...":
                raise RuntimeError(
                    "einsum(): found '.' for output that is not part of any ellipsis (...)"
                )
            output += ELLIPSIS
            i += 2
        elif c in LETTERS:
            if c in output:
                raise RuntimeError(
                    f"einsum(): output subscript {c} appears more than once in the output"
                )
            if not any(c in s for s in labels):
                raise RuntimeError(
                    f"einsum(): output subscript {c} does not appear in the equation for any input "
                    "operand"
                )
            output += c
        elif c != " ":
            raise _bad_subscript(start + i)
        i += 1
    return output


def _implicit_output(labels: list[str]) -> str:
    """The output of an equation without an arrow: the ellipsis, then every letter that appears
    exactly once, in the order of `LETTERS`.
    """
    used = "".join(labels)
    return (ELLIPSIS if ELLIPSIS in used else "") + "".join(
        c for c in LETTERS if used.count(c) == 1
    )


def _check_sizes(labels: list[str], tensors: Sequence[Any], ellipsis_dims: int) -> None:
    """Raises RuntimeError unless each letter has one size in all operands, or 1."""
    seen: dict[Any, int] = {}  # (letter, dimension of the ellipsis or -1) -> its size so far
    for i, (s, t) in enumerate(zip(labels, tensors)):
        own = t.dim() - len(_letters(s))
        d = 0
        here: dict[str, int] = {}  # within one operand, a repeated letter must have one size
        for c in s:
            for e in range(ellipsis_dims - own, ellipsis_dims) if c == ELLIPSIS else [-1]:
                n, known = t.shape[d], seen.setdefault((c, e), 1)
                if c != ELLIPSIS and n != here.setdefault(c, n):
                    raise RuntimeError(
                        f"einsum(): subscript {c} is repeated for operand {i} but the sizes don't "
                        f"match, {n} != {here[c]}"
                    )
                if known == 1:
                    seen[c, e] = n
                elif n not in (1, known):
                    raise RuntimeError(_mismatch(c, e, i, n, known))
                d += 1


def _mismatch(letter: str, ellipsis_dim: int, operand: int, size: int, known: int) -> str:
    """The message for a letter, or a dimension of the ellipsis, with two sizes."""
    if letter == ELLIPSIS:  # (PyTorch's message lacks the space, too)
        return (
            f"einsum(): dimension {ellipsis_dim} covered by ellipsis in operand {operand}has size "
            f"{size} which does not broadcast with previously seen ellipsis with size {known} for "
            "the respective dimension"
        )
    return (
        f"einsum(): subscript {letter} has size {size} for operand {operand} which does not "
        f"broadcast with previously seen size {known}"
    )


def _letters(labels: str) -> str:
    """The labels without the ellipsis."""
    return labels.replace(ELLIPSIS, "")


def _bad_subscript(index: int) -> RuntimeError:
    """The error for a character of the equation that is not a letter."""
    return RuntimeError(
        f"einsum(): invalid subscript given at index {index} in the equation string, subscripts "
        "must be in [a-zA-Z]"
    )

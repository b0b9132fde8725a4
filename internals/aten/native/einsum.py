"""`einsum`: sums of products, written with one letter per dimension
(`aten/src/ATen/native/Linear.cpp`).

`einsum("bij,bjk->bik", a, b)`: letters that appear in the output are kept, all others are summed
over. Three steps. Every operand gets one dimension for every letter there is, in the same order,
output letters first (a repeated letter takes the diagonal, a missing one has size 1). Then two
operands at a time are contracted, and a contraction is always one batched matrix product: letters
of both that stay are the batch, letters of one side are rows or columns, letters that end here are
the inner dimension. What is left at the end is the output.

Everything is done by views, `bmm` and `sum`, so that autograd sees through it.

How the real one differs: the order of contractions comes from the Python package opt_einsum where
that is installed; here it is left to right unless `path` says otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from internals._generated import ops

if TYPE_CHECKING:
    from internals._tensor import Tensor

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
ELLIPSIS = "."


def einsum(equation: str, tensors: Sequence[Any], path: Sequence[int] | None = None) -> Any:
    """Contract `tensors` as `equation` says. `path` lists the positions of the operands to contract
    next, in pairs.

    Raises RuntimeError that says what is wrong with the equation, or which sizes do not fit.
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
    order = [*output, *contracted]
    _check_sizes(labels, tensors, ellipsis_dims)
    operands = [_aligned(t, s, order, ellipsis_dims) for t, s in zip(tensors, labels)]
    kept = sum(ellipsis_dims if c == ELLIPSIS else 1 for c in output)
    return _contract(operands, kept, list(path) if path else None)


def _contract(operands: list[Any], kept: int, path: list[int] | None) -> Any:
    """Multiply the aligned operands, pair by pair; dimensions from `kept` on are summed as soon as
    only the pair has them.
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
        ending = [d for d in range(kept, pair[0].dim()) if all(t.shape[d] == 1 for t in operands)]
        result = _multiply_and_sum(*pair, ending)
        operands = operands + [result] if path is not None else [result] + operands
    result = operands[0]
    rest = list(range(kept, result.dim()))
    if all(result.shape[d] == 1 for d in rest):
        return result.squeeze(rest) if rest else result
    return result.sum(rest)


def _multiply_and_sum(left: Tensor, right: Tensor, ending: list[int]) -> Any:
    """The product of two aligned operands, summed over the dimensions `ending`, which stay with
    size 1 (`sumproduct_pair`).
    """
    for d in ending:  # what only one side has can be summed before
        if left.shape[d] != 1 and right.shape[d] == 1:
            left = left.sum(d, keepdim=True)
        elif left.shape[d] == 1 and right.shape[d] != 1:
            right = right.sum(d, keepdim=True)
    dims = [d for d in range(left.dim()) if d not in ending]
    batch = [d for d in dims if left.shape[d] != 1 and right.shape[d] != 1]
    rows = [d for d in dims if d not in batch and right.shape[d] == 1]
    columns = [d for d in dims if d not in batch and right.shape[d] != 1]

    def size(t: Tensor, group: list[int]) -> int:
        return prod(t.shape[d] for d in group)

    a = left.permute([*batch, *rows, *ending, *columns]).reshape(
        size(left, batch), size(left, rows), size(left, ending)
    )
    b = right.permute([*batch, *ending, *columns, *rows]).reshape(
        size(right, batch), size(right, ending), size(right, columns)
    )
    order = [*batch, *rows, *columns, *ending]
    sizes = (
        [left.shape[d] for d in batch + rows]
        + [right.shape[d] for d in columns]
        + [1] * len(ending)
    )
    return ops.bmm(a, b).reshape(sizes).permute([order.index(d) for d in range(len(order))])


def _aligned(t: Tensor, labels: str, order: list[str], ellipsis_dims: int) -> Any:
    """`t` with one dimension for each letter of `order` (`ellipsis_dims` for the ellipsis), of size
    1 where it has none.
    """
    own = t.dim() - len(_letters(labels))  # dimensions its ellipsis stands for, if it has one
    names: list[Any] = []
    for c in labels:
        names += (
            [(ELLIPSIS, d) for d in range(ellipsis_dims - own, ellipsis_dims)]
            if c == ELLIPSIS
            else [c]
        )
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
    """Without an arrow: the ellipsis, then every letter that appears exactly once, in the order of
    `LETTERS`.
    """
    used = "".join(labels)
    return (ELLIPSIS if ELLIPSIS in used else "") + "".join(
        c for c in LETTERS if used.count(c) == 1
    )


def _check_sizes(labels: list[str], tensors: Sequence[Any], ellipsis_dims: int) -> None:
    """A letter has one size everywhere, or 1."""
    seen: dict[Any, int] = {}
    for i, (s, t) in enumerate(zip(labels, tensors)):
        own = t.dim() - len(_letters(s))
        d = 0
        here: dict[str, int] = {}
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
    return labels.replace(ELLIPSIS, "")


def _bad_subscript(index: int) -> RuntimeError:
    return RuntimeError(
        f"einsum(): invalid subscript given at index {index} in the equation string, subscripts "
        "must be in [a-zA-Z]"
    )

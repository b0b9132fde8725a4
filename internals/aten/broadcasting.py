"""The arithmetic of broadcasting, and of walking several tensors at once
(`aten/src/ATen/ExpandUtils.cpp`, `TensorIterator.cpp`).

It computes the shape that shapes broadcast to, the strides with which a smaller operand is walked,
the order of dimensions in memory, and which of them can be merged. All functions take sizes and
strides, not tensors.

    >>> broadcast_shapes((8, 1, 6), (7, 1))
    (8, 7, 6)
    >>> broadcast_strides((7, 1), (1, 1), (8, 7, 6))
    (0, 1, 0)
    >>> coalesce((8, 7, 6), [(42, 6, 1)], (0, 1, 2))
    ((336,), [(1,)])

How the real one differs: it lists the dimensions of a walk from the innermost to the outermost;
here they have the order of `shape`.
"""

from __future__ import annotations

from collections.abc import Sequence

Strides = tuple[int, ...]


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that several shapes broadcast to, aligned at their last dimension. Raises
    RuntimeError with the dimension that does not fit.
    """
    result: tuple[int, ...] = tuple(shapes[0]) if shapes else ()
    for shape in shapes[1:]:
        if tuple(shape) == result:
            continue
        n = max(len(result), len(shape))
        # dimensions that are missing on the left have size 1
        a = (1,) * (n - len(result)) + result
        b = (1,) * (n - len(shape)) + tuple(shape)
        for d in range(n - 1, -1, -1):
            if a[d] != b[d] and a[d] != 1 and b[d] != 1:
                raise RuntimeError(
                    f"The size of tensor a ({a[d]}) must match the size of tensor b ({b[d]}) at "
                    f"non-singleton dimension {d}"
                )
        result = tuple(y if x == 1 else x for x, y in zip(a, b))
    return result


def broadcast_strides(
    sizes: Sequence[int], strides: Sequence[int], shape: Sequence[int]
) -> Strides:
    """The strides for walking an operand of these `sizes` and `strides` as if it had `shape`: 0
    along dimensions that are missing, or that repeat a single element.
    """
    missing = len(shape) - len(sizes)
    return (0,) * missing + tuple(
        0 if n == 1 != m else s for n, s, m in zip(sizes, strides, shape[missing:])
    )


def memory_order(shape: Sequence[int], strides: Sequence[Strides]) -> tuple[int, ...]:
    """The dimensions from the outermost to the innermost in memory. For two dimensions the first
    operand whose strides differ decides (`reorder_dimensions`).
    """

    def should_swap(a: int, b: int) -> int:
        """1 if dimension `a` should lie outside `b`, -1 if inside, 0 if no operand decides."""
        for s in strides:
            if s[a] == 0 or s[b] == 0:  # broadcast: any order will do for this operand
                continue
            if s[a] != s[b]:
                return -1 if s[a] < s[b] else 1
            if shape[a] > shape[b]:
                return 1
        return 0

    # Innermost first. An insertion sort: other sorts need an answer for every two dimensions.
    order = list(range(len(shape) - 1, -1, -1))
    for i in range(1, len(shape)):
        j = i
        for k in range(i - 1, -1, -1):
            swap = should_swap(order[k], order[j])
            if swap > 0:
                order[k], order[j] = order[j], order[k]
                j = k
            elif swap < 0:
                break
    return tuple(reversed(order))


def coalesce(
    shape: Sequence[int], rows: Sequence[Strides], order: Sequence[int]
) -> tuple[tuple[int, ...], list[Strides]]:
    """`shape`, and each operand's strides, in `order`, with neighbouring dimensions merged wherever
    all operands allow it: where one step outside is as far as all steps inside.
    """
    merged: list[int] = []
    strides: list[list[int]] = [[] for _ in rows]
    for d in reversed(order):
        size = shape[d]
        if merged and size == 1:
            continue
        if merged and merged[-1] == 1:
            # so far there is one dimension, of size 1: its stride does not matter
            merged[-1] = size
            for m, r in zip(strides, rows):
                m[-1] = r[d]
        elif merged and all(m[-1] * merged[-1] == r[d] for m, r in zip(strides, rows)):
            merged[-1] *= size
        else:
            merged.append(size)
            for m, r in zip(strides, rows):
                m.append(r[d])
    return tuple(reversed(merged)), [tuple(reversed(m)) for m in strides]

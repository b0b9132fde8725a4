"""Functions of the top-level namespace that are written in Python (`torch/functional.py`).

Schemas cannot express their signatures: any number of tensors, as in `meshgrid(a, b, c)`, or
arguments of several kinds in one place, as in `einsum`.

How the real one differs: there are more of them, and each first looks for a `__torch_function__` of
its arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from numbers import Number
from typing import Any

from internals._generated import functions, ops
from internals.core.dtype import bool_
from internals.core.size import Size
from internals.core.tensor_impl import Tensor, TensorImpl

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def einsum(*args: Any) -> Any:
    """The sum of products in Einstein's notation: `einsum("ij,jk->ik", a, b)`, or, with numbers for
    letters, `einsum(a, [0, 1], b, [1, 2], [0, 2])`.

    The sum is over all letters that are not in the output. If no output is given, it has the
    letters that occur once, in alphabetical order. `...` stands for any number of further
    dimensions, which are broadcast. See `internals.aten.native.einsum`.
    """
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one "
            "operand and its subscripts list"
        )
    if isinstance(args[0], TensorImpl):
        equation, operands = _from_sublists(args)
    else:
        equation, operands = args[0], args[1:]
    # einsum("ij,jk", [a, b]), the older form
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        return einsum(equation, *operands[0])
    if not isinstance(equation, str):
        raise TypeError(
            f"einsum(): argument 'equation' (position 1) must be str, not {type(equation).__name__}"
        )
    return ops.einsum(equation, list(operands), None)


def broadcast_tensors(*tensors: Any) -> tuple[Any, ...]:
    """The tensors, expanded to the shape that they broadcast to: views with stride 0. Raises
    RuntimeError when shapes do not fit.
    """
    return tuple(ops.broadcast_tensors(_only_tensors(tensors)))


def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that tensors of these shapes (or 1-d sizes) broadcast to.

    Raises RuntimeError when they do not fit, ValueError for a negative size.
    """
    given = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    result = [1] * max(map(len, given), default=0)
    for index, shape in enumerate(given):
        for d in range(-1, -1 - len(shape), -1):  # shapes are aligned at their last dimension
            if shape[d] < 0:
                raise ValueError("Attempting to broadcast a dimension with negative length!")
            if shape[d] in (1, result[d]):
                continue
            if result[d] != 1:
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {shape[d]} at {d}! Mismatching "
                    f"argument at index {index} had {shapes[index]}; but expected shape should be "
                    f"broadcastable to {result}"
                )
            result[d] = shape[d]
    return Size(result)


def block_diag(*tensors: Any) -> Any:
    """A matrix with the given matrices as blocks along its diagonal; a vector counts as one row, a
    0-d tensor as one element.

    Raises RuntimeError for a tensor of more dimensions, TypeError for a non-tensor.
    """
    return ops.block_diag(_only_tensors(tensors))


def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Any, ...]:
    """The coordinates of a grid: an expanded view of each vector, with a dimension for every
    vector, so that `result[i][p] == tensors[i][p[i]]` for an index `p`.

    With `indexing` "ij" the first tensor runs along the first dimension; with "xy" along the
    second, as in pictures. None warns, and means "ij". Raises RuntimeError for matrices, for no
    tensors, and for several dtypes.
    """
    given = _unwrapped(tensors)
    return tuple(
        ops.meshgrid(given) if indexing is None else ops.meshgrid_indexing(given, indexing)
    )


def cartesian_prod(*tensors: Any) -> Any:
    """All combinations of one element of each vector, one in each row, in the order of
    `itertools.product`; a single vector as it is.
    """
    return ops.cartesian_prod(_only_tensors(tensors))


def atleast_1d(*tensors: Any) -> Any:
    """The tensor with at least one dimension: a 0-d one becomes (1,). The result is a tuple if
    there are several tensors, or a list of them.
    """
    return functions.atleast_1d(*_one_or_list(tensors))


def atleast_2d(*tensors: Any) -> Any:
    """The tensor with at least two dimensions: a vector becomes (1, n). The result is a tuple if
    there are several tensors, or a list of them.
    """
    return functions.atleast_2d(*_one_or_list(tensors))


def atleast_3d(*tensors: Any) -> Any:
    """The tensor with at least three dimensions: a vector becomes (1, n, 1), a matrix (m, n, 1).
    The result is a tuple if there are several tensors, or a list of them.
    """
    return functions.atleast_3d(*_one_or_list(tensors))


def split(
    tensor: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0
) -> tuple[Any, ...]:
    """Consecutive views along `dim`: of this size each, though the last may be shorter; or, for a
    list, of these sizes.
    """
    return tensor.split(split_size_or_sections, dim)


def unravel_index(indices: Any, shape: int | Sequence[int]) -> tuple[Any, ...]:
    """The indices of elements of a tensor of this shape, as an index tensor for each dimension,
    from their numbers in row-major order.

    Raises TypeError for a `shape` of another type and for indices that are not integers, ValueError
    for a negative size.
    """
    if indices.is_complex() or indices.is_floating_point() or indices.dtype is bool_:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not isinstance(shape, (int, Sequence)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    sizes = [shape] if isinstance(shape, int) else list(shape)
    for n in sizes:
        if not isinstance(n, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(n)}")
    if any(n < 0 for n in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {tuple(sizes)}")
    steps = [prod(sizes[d + 1 :]) for d in range(len(sizes))]
    return tuple(
        indices.long().div(step, rounding_mode="floor") % n for step, n in zip(steps, sizes)
    )


def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: bool = False) -> Any:
    """The indices of the elements that are not zero, (count, ndim); or, with `as_tuple`, an index
    tensor for each dimension. Raises RuntimeError for `as_tuple` together with `out`.
    """
    if out is not None and not isinstance(out, TensorImpl):
        raise TypeError(f"nonzero(): argument 'out' must be Tensor, not {type(out).__name__}")
    if as_tuple:
        if out is not None:
            raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True")
        return tuple(ops.nonzero_numpy(input))
    return ops.nonzero(input) if out is None else ops.nonzero_out(input, out)


def where(*args: Any, **kwargs: Any) -> Any:
    """`where(condition, input, other)`: the elements of `input` where `condition` is true, those of
    `other` elsewhere; all three are broadcast.

    `where(condition)` is `nonzero(condition, as_tuple=True)`. One argument of another kind, which
    PyTorch refuses, is looked up in the source map: `where("autograd engine")`, `where(nn.Linear)`
    (see `internals.source_map`).
    """
    if (
        len(args) == 1
        and not kwargs
        and not isinstance(args[0], (TensorImpl, Number, list, tuple, type(None)))
    ):
        from internals.source_map import where as place

        return place(args[0])
    return functions.where(*args, **kwargs)


def _unwrapped(tensors: tuple[Any, ...]) -> list[Any]:
    """The list of tensors that were given as `f(a, b)` or as `f([a, b])`."""
    return (
        list(tensors[0])
        if len(tensors) == 1 and isinstance(tensors[0], (list, tuple))
        else list(tensors)
    )


def _only_tensors(tensors: tuple[Any, ...]) -> list[Any]:
    """The tensors as a list. Raises TypeError for a non-tensor."""
    for i, t in enumerate(tensors):
        if not isinstance(t, TensorImpl):
            raise TypeError(
                f"expected Tensor as element {i} in argument 0, but got {type(t).__name__}"
            )
    return list(tensors)


def _one_or_list(tensors: tuple[Any, ...]) -> tuple[Any]:
    """The arguments for an operator with one overload for a tensor and another for a list."""
    return (tensors[0],) if len(tensors) == 1 else (tensors,)


def _from_sublists(args: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """The equation and the operands of a call `einsum(a, [0, 1], b, [1, 2], [0, 2])`, where the
    list for the output may be missing.
    """
    equation = ",".join("".join(map(_letter, subscripts)) for subscripts in args[1::2])
    if len(args) % 2 == 1:
        return f"{equation}->{''.join(map(_letter, args[-1]))}", args[:-1:2]
    return equation, args[::2]


def _letter(subscript: Any) -> str:
    """The letter for a number from 0 to 51; "..." for an Ellipsis."""
    if subscript is Ellipsis:
        return "..."
    if not 0 <= subscript < len(_LETTERS):
        raise ValueError(
            "einsum(): subscript in subscript list is not within the valid range [0, 52)"
        )
    return _LETTERS[subscript]

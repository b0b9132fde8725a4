"""Functions of the top-level namespace whose Python signature the schema language cannot express (`torch/functional.py`).

How the real one differs: there are more of them, and each first asks its arguments for a `__torch_function__`.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Number
from typing import Any

from internals._generated import ops
from internals._generated.functions import where as _generated_where
from internals.aten.broadcasting import broadcast_shapes as _broadcast_shapes
from internals.core.dtype import dtype
from internals.core.size import Size
from internals.core.tensor_impl import TensorImpl

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def einsum(*args: Any) -> Any:
    """Sums of products in Einstein's notation: `einsum("ij,jk->ik", a, b)`, or `einsum(a, [0, 1], b, [1, 2], [0, 2])`.

    Letters (numbers) that do not appear in the output are summed over; without an output, those appearing once are kept,
    in alphabetical order. `...` stands for any number of further dimensions, broadcast. See `internals.aten.native.einsum`.
    """
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its subscripts list"
        )
    if isinstance(args[0], TensorImpl):
        equation, operands = _from_sublists(args)
    else:
        equation, operands = args[0], args[1:]
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        return einsum(equation, *operands[0])
    if not isinstance(equation, str):
        raise TypeError(f"einsum(): argument 'equation' (position 1) must be str, not {type(equation).__name__}")
    return ops.einsum(equation, list(operands), None)


def broadcast_tensors(*tensors: Any) -> tuple[Any, ...]:
    """All tensors expanded to the shape they broadcast to: views with stride 0. Raises RuntimeError when shapes do not fit."""
    return tuple(ops.broadcast_tensors(list(tensors[0]) if isinstance(tensors[0], (list, tuple)) else list(tensors)))


def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that tensors of these shapes (or 1-d sizes) broadcast to. Raises RuntimeError when they do not fit."""
    return Size(_broadcast_shapes(*[(s,) if isinstance(s, int) else tuple(s) for s in shapes]))


def nonzero(input: Any, *, out: Any = None, as_tuple: bool = False) -> Any:
    """Positions of the elements that are not zero: shape (count, ndim), or with `as_tuple` one index tensor a dimension."""
    if as_tuple:
        return tuple(ops.nonzero_numpy(input))
    return ops.nonzero(input) if out is None else ops.nonzero_out(input, out)


def where(*args: Any, **kwargs: Any) -> Any:
    """`where(condition, input, other)`: from `input` where `condition` is true, from `other` elsewhere, broadcast together.

    `where(condition)` alone gives the positions of what is true, as `nonzero(condition, as_tuple=True)` does. What PyTorch
    refuses, one argument that is neither tensor nor number, asks the source map: `where("autograd engine")`, `where(nn.Linear)`
    (see `internals.source_map`).
    """
    if len(args) == 1 and not kwargs and not isinstance(args[0], (TensorImpl, Number, list, tuple, type(None))):
        from internals.source_map import where as place

        return place(args[0])
    return _generated_where(*args, **kwargs)


def norm(
    input: Any,
    p: float | str | None = "fro",
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    out: Any = None,
    dtype: dtype | None = None,
) -> Any:
    """A vector or matrix norm of `input` over `dim` (all dimensions when None).

    `p` is a number, inf, -inf, "fro" (the same as 2) or "nuc" (the sum of singular values; two dimensions). Raises RuntimeError
    for another string and for integer tensors.
    """
    dims = [] if dim is None else [dim] if isinstance(dim, int) else list(dim)
    if p == "nuc":
        dims = dims or list(range(input.dim()))
        source = input if dtype is None else input.to(dtype)
        if out is not None:
            return ops.nuclear_norm_dim_out(source, dims, keepdim, out)
        return ops.nuclear_norm_dim(source, dims, keepdim)
    if isinstance(p, str) and p != "fro":
        raise RuntimeError(f"linalg.matrix_norm: Order {p} not supported.")
    order = 2 if p in (None, "fro") else p
    if out is not None:
        return ops.linalg_vector_norm_out(input, order, dims, keepdim, dtype, out)
    return ops.linalg_vector_norm(input, order, dims or None, keepdim, dtype)


def _from_sublists(args: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """Operands alternating with lists of subscripts, and perhaps an output list at the end, as an equation."""
    equation = ",".join("".join(map(_letter, subscripts)) for subscripts in args[1::2])
    if len(args) % 2 == 1:
        return f"{equation}->{''.join(map(_letter, args[-1]))}", args[:-1:2]
    return equation, args[::2]


def _letter(subscript: Any) -> str:
    if subscript is Ellipsis:
        return "..."
    if not 0 <= subscript < len(_LETTERS):
        raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
    return _LETTERS[subscript]

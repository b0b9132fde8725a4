"""Subscripts: `x[...]` (`emitSubscript`, `emitIntAndSliceIndexing` of `ir_emitter.cpp`).

On a tensor, each part of an index applies to the next dimension: an int selects from it and removes
it, a slice keeps it, None adds a dimension, and a tensor of indices is deferred. Views are taken
from left to right (dimensions after `...` are counted from the right), and the deferred tensors
become one `aten::index` at the end.

    x[0, 1:, None, i]   =   index(unsqueeze(slice(select(x, 0, 0), 0, 1), 1), [None, None, i])

On lists, strings and dicts it is `aten::__getitem__`, on tuples `prim::TupleIndex` with a constant
int.

How the real one differs: `slice` objects may be indices too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from internals.jit.ir import (
    IntType,
    ListType,
    NoneType,
    OptionalType,
    SourceRange,
    TensorType,
    TupleType,
    Type,
    Value,
)
from internals.jit.ir.constants import constant_of, is_constant

from . import tree
from .error_report import error, spell
from .schema_matching import NamedValue, convertible_to_list
from .sugared_values import SimpleValue, SugaredTuple, SugaredValue

if TYPE_CHECKING:
    from .compiler import Compiler

LONG = 4  # the IR's number of the dtype int64
OPTIONAL_TENSOR = OptionalType(TensorType.get())


def emit_subscript(c: Compiler, expr: tree.Subscript, hint: Type | None) -> SugaredValue:
    """`x[...]` as an expression; assignments to it are in `emit_assignments.py`."""
    container = c.emit_sugared(expr.value, 1)
    where, value_range = expr.range, expr.value.range
    exprs = expr.subscript_exprs
    if len(exprs) != 1:  # x[i, j]: only tensors have several dimensions
        return SimpleValue(_index_tensor(c, where, container.as_value(value_range, c), exprs))
    if isinstance(exprs[0], tree.SliceExpr):
        if container.kind() == "module":
            container = container.iter(value_range, c)
            return _slice_parts(c, where, container, exprs[0])
        value = container.as_value(value_range, c)
        dim = c.constant(0, where) if isinstance(value.type(), TensorType) else None
        return SimpleValue(_emit_slice(c, where, value, dim, exprs[0]))
    if container.kind() == "module":
        return container.getitem(where, c, c.emit(exprs[0]), hint)
    value = container.as_value(value_range, c)
    if isinstance(value.type(), TupleType) and not isinstance(exprs[0], tree.Dots):
        return SimpleValue(_index_tuple(c, where, value, c.emit(exprs[0])))
    if isinstance(value.type(), TensorType) or isinstance(exprs[0], tree.Dots):
        return SimpleValue(_index_tensor(c, where, value, exprs))
    return container.getitem(where, c, c.emit(exprs[0]), hint)


# Tensors.


def _index_tensor(
    c: Compiler, where: SourceRange, value: Value, exprs: Sequence[tree.Expr]
) -> Value:
    """`x[i, j, ...]` for a tensor. Raises RuntimeError for any other value."""
    if not isinstance(value.type(), TensorType):
        raise error(
            where,
            "Unsupported operation: attempted to use multidimensional indexing on a non-tensor "
            "type",
        )
    view, indices = split_indices(c, where, value, exprs)
    if not indices:
        return view
    return c.insert("aten::index", [view, c.list_construct(OPTIONAL_TENSOR, indices)], where)


def split_indices(
    c: Compiler, where: SourceRange, value: Value, exprs: Sequence[tree.Expr]
) -> tuple[Value, list[Value]]:
    """Apply the ints, slices and Nones of an index. Returns the view, and the index tensors that
    remain to be applied to it.

    The latter have one entry for each dimension of the view up to the last indexed one, which is
    None where that dimension is not indexed by a tensor.
    """
    n = len(exprs)
    dims = [0] * n  # the dimension of the view that each part applies to, < 0 after the `...`
    values: list[Value | None] = [None] * n
    dots = next((i for i, e in enumerate(exprs) if isinstance(e, tree.Dots)), n)
    dim = 0
    for i in range(dots):
        dims[i] = dim
        values[i] = _index_value(c, where, exprs[i])
        dim += _dimensions_after(c, where, values[i], reverse=False)
    dim = -1
    for i in range(n - 1, dots, -1):
        if isinstance(exprs[i], tree.Dots):
            raise error(where, "An index can only have a single ellipsis ('...')")
        dims[i] = dim
        values[i] = _index_value(c, where, exprs[i])
        dim -= _dimensions_after(c, where, values[i], reverse=True)
    tensors: dict[int, Value] = {}
    for expr, d, index in zip(exprs, dims, values):
        if isinstance(expr, tree.Dots):
            continue
        if index is None:
            assert isinstance(expr, tree.SliceExpr)
            value = _emit_slice(c, where, value, c.constant(d, where), expr)
        elif isinstance(index.type(), NoneType):
            value = c.insert("aten::unsqueeze", [value, c.constant(d, where)], where)
        elif isinstance(index.type(), IntType):
            value = c.insert("aten::select", [value, c.constant(d, where), index], where)
        else:
            tensors[d] = index
    count = max(tensors, default=-1) + 1
    return value, [tensors[i] if i in tensors else c.constant(None) for i in range(count)]


def _index_value(c: Compiler, where: SourceRange, expr: tree.Expr) -> Value | None:
    """The value of one part of an index; None for a slice. A list of ints becomes a tensor of
    int64.
    """
    if isinstance(expr, tree.SliceExpr):
        return None
    index = c.emit(expr, NoneType.get() if isinstance(expr, tree.NoneLiteral) else None)
    if isinstance(index.type(), ListType):
        index = c.insert("aten::tensor", [index], None, dtype=LONG)
    return index


def _dimensions_after(c: Compiler, where: SourceRange, index: Value | None, reverse: bool) -> int:
    """The distance from the dimension that one part of an index applies to, to that of its
    neighbour on the right, or, with `reverse`, on the left.

    The parts are applied from left to right. When a part is applied, those to its left have been
    applied already, so they count as the dimensions they leave: an int 0, None 1. Those to its
    right, which matter for parts after a `...` (`reverse`), have not been applied yet, so they
    count as the dimensions they take: an int 1, None 0.
    """
    if index is None:
        return 1
    t = index.type()
    if isinstance(t, NoneType):
        return 0 if reverse else 1
    if isinstance(t, IntType):
        return 1 if reverse else 0
    if t.isSubtypeOf(OPTIONAL_TENSOR):
        if reverse:
            raise error(where, "Ellipses followed by tensor indexing is currently not supported")
        return 1
    raise error(
        where,
        f"Unsupported operation: indexing tensor with unsupported index type '{spell(t)}'. Only "
        "ints, slices, lists and tensors are supported",
    )


# Slices.


def _emit_slice(
    c: Compiler, where: SourceRange, value: Value, dim: Value | None, expr: tree.SliceExpr
) -> Value:
    """`x[start:end:step]`, along `dim` if x is a tensor. An omitted step is 1."""
    start, end, step = (None if e is None else c.emit(e) for e in (expr.start, expr.end, expr.step))
    if isinstance(value.type(), TupleType):
        return _slice_tuple(c, where, value, start, end, step)
    args = [NamedValue(value, where, "self"), *([] if dim is None else [NamedValue(dim)])]
    kwargs = [
        NamedValue(v, where, name) for name, v in (("start", start), ("end", end)) if v is not None
    ]
    if step is None:
        step = c.constant(1, where)
    return c.call_builtin(where, "aten::slice", args, [*kwargs, NamedValue(step, where, "step")])


# Tuples.


def _index_tuple(c: Compiler, where: SourceRange, value: Value, index: Value) -> Value:
    """`t[i]`. i must be constant, or the elements of t must all have one type. Otherwise the type
    of the result is unknown, and it raises RuntimeError.
    """
    t = value.type()
    assert isinstance(t, TupleType)
    if not isinstance(index.type(), IntType):
        raise error(where, "tuple index must be an integer")
    if is_constant(index):
        result = t.elements[_position(where, t, constant_of(index))]
    elif t.elements and convertible_to_list(t, ListType(t.elements[0])):
        result = t.elements[0]
    else:
        raise error(
            where,
            f"Cannot index into a {spell(t)} with a non-integer literal because we cannot resolve "
            "the output type",
        )
    node = c.add_node("prim::TupleIndex", [value, index])
    return node.output().setType(result)


def _position(where: SourceRange, t: TupleType, index: int) -> int:
    """An index into a tuple, made non-negative. Raises RuntimeError if it is out of range."""
    n = len(t.elements)
    if not -n <= index < n:
        raise error(where, f"Tuple index out of range. Tuple is length {n} and index is {index}")
    return index % n


def _slice_tuple(
    c: Compiler,
    where: SourceRange,
    value: Value,
    start: Value | None,
    end: Value | None,
    step: Value | None,
) -> Value:
    """`t[a:b:c]`: a new tuple of the selected elements. The bounds must be constant."""
    t = value.type()
    assert isinstance(t, TupleType)
    bounds = [None if v is None else _int_constant(where, v) for v in (start, end, step)]
    parts = []
    for i in range(len(t.elements))[slice(*bounds)]:
        node = c.add_node("prim::TupleIndex", [value, c.constant(i)])
        parts.append(node.output().setType(t.elements[i]))
    return c.tuple_construct(parts)


def _int_constant(where: SourceRange, v: Value) -> Any:
    """The int that a bound of a slice is, or None. Raises RuntimeError if it is not constant."""
    if isinstance(v.type(), NoneType):
        return None
    if not (is_constant(v) and isinstance(v.type(), IntType)):
        raise error(where, "tuple slice indices must be integer constants")
    return constant_of(v)


def _slice_parts(
    c: Compiler, where: SourceRange, parts: SugaredValue, expr: tree.SliceExpr
) -> SugaredValue:
    """A slice of a list of modules, as a tuple of modules."""
    bounds = [
        None if e is None else _int_constant(where, c.emit(e))
        for e in (expr.start, expr.end, expr.step)
    ]
    return SugaredTuple(parts.as_tuple(where, c)[slice(*bounds)])

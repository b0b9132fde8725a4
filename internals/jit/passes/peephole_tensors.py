"""Peephole rules for tensors (`peephole.cpp`, `peephole_alias_sensitive.cpp`), with the table
`TENSOR_RULES` at the end.

Most rules need to know something of a tensor before it exists, which its type tells in a trace or
after shape propagation. Sizes are trusted only if the tensor is not written to, since `x.t_()`
changes them; dtype and device cannot change.

A rule's function gets a node of its kind. It returns the value that replaces the node's output, or
None if the rule does not apply. `peephole.py` says how the real one differs.
"""

from __future__ import annotations

from internals.jit.ir import Node, TensorType, Value
from internals.jit.passes.aliasing import escapes
from internals.jit.passes.overloads import constant
from internals.jit.passes.peephole_rules import Constant, Facts, Rule

NO_TYPE = TensorType.get()  # of which nothing is known


def _type(value: Value) -> TensorType:
    type = value.type()
    return type if isinstance(type, TensorType) else NO_TYPE


def _transposed_twice(node: Node, facts: Facts) -> Value | None:
    inner = node.input(0).node()
    return inner.input(0) if inner.kind() == "aten::t" else None


def _expanded_to_its_size(node: Node, facts: Facts) -> Value | None:
    sizes, x = constant(node.input(1)), node.input(0)
    return x if isinstance(sizes, list) and sizes == _sizes(x, facts) else None


def _cast_to_its_type(node: Node, facts: Facts) -> Value | None:
    a, b = _type(node.input(0)), _type(node.input(1))
    known = a.dtype() is not None and a.device() is not None
    return node.input(0) if known and a.dtype() is b.dtype() and a.device() == b.device() else None


def _times_one(node: Node, facts: Facts) -> Value | None:
    return (
        _unchanged(node)
        if node.inputsSize() == 2 and _is_number(constant(node.input(1)), 1)
        else None
    )


def _plus_zero(node: Node, facts: Facts) -> Value | None:
    is_noop = (
        node.inputsSize() == 3
        and _is_number(constant(node.input(1)), 0)
        and constant(node.input(2)) == 1
    )
    return _unchanged(node) if is_noop else None


def _unchanged(node: Node) -> Value | None:
    """The x of `x op number`, if the result is known to have its dtype, and no view of the result
    is taken: `view` depends on strides, and those of x may differ from those of the result.
    """
    x, number = node.input(0), constant(node.input(1))
    dtype = _type(x).dtype()
    # The result has at least the category of the number; that of a division is a float.
    if dtype is None or dtype.category < max(
        _CATEGORY[type(number)], 2 if node.kind() == "aten::div" else 1
    ):
        return None
    schemas = [use.user.schema() for use in node.output().uses()]
    return (
        None if any(s is not None and any(r.alias_info for r in s.returns) for s in schemas) else x
    )


# as `dtype.category`
_CATEGORY: dict[type, int] = {bool: 0, int: 1, float: 2, complex: 3}


def _is_number(value: object, number: int) -> bool:
    return type(value) in _CATEGORY and value == number


def _summed_twice(node: Node, facts: Facts) -> Value | None:
    """`sum_to(x, b)` for `sum_to(sum_to(x, a), b)`: the node itself, with its input replaced."""
    inner = node.input(0).node()
    if inner.kind() != node.kind() or constant(node.input(1)) is None:
        return None
    node.replaceInput(0, inner.input(0))
    return node.output()


def _sizes(x: Value, facts: Facts) -> list[int] | None:
    """The sizes of a tensor, if all are known and it is not written to."""
    sizes = _type(x).sizes()
    return None if sizes is None or facts.is_written(x) else sizes


def _all_sizes(node: Node, facts: Facts) -> Constant | None:
    """The list of sizes as a constant, unless the list may be written to, in the graph or by the
    caller: a constant is one list for all runs.
    """
    if (
        node.inputsSize() != 1
        or facts.is_written(node.output())
        or escapes(facts.aliases, node.outputs())
    ):
        return None
    sizes = _sizes(node.input(), facts)
    return None if sizes is None else Constant(list(sizes))


def _one_size(node: Node, facts: Facts) -> Constant | None:
    """One size as a constant; the others need not be known."""
    if node.inputsSize() != 2:
        return None
    dim, sizes = constant(node.input(1)), _type(node.input(0)).varyingSizes()
    if not isinstance(dim, int) or sizes is None or not -len(sizes) <= dim < len(sizes):
        return None
    size = sizes[dim]
    return None if size is None or facts.is_written(node.input(0)) else Constant(size)


def _number_of_dims(node: Node, facts: Facts) -> Constant | None:
    dim = _type(node.input(0)).dim()
    return None if dim is None or facts.is_written(node.input(0)) else Constant(dim)


def _length_of_sizes(node: Node, facts: Facts) -> Constant | None:
    size = node.input(0).node()
    if size.kind() != "aten::size" or size.inputsSize() != 1 or facts.is_written(size.output()):
        return None
    return _number_of_dims(size, facts)


def _dtype(node: Node, facts: Facts) -> Constant | None:
    dtype = _type(node.input()).dtype()
    return None if dtype is None else Constant(dtype.code)


def _device(node: Node, facts: Facts) -> Constant | None:
    device = _type(node.input()).device()
    return None if device is None else Constant(device)


def _is_floating_point(node: Node, facts: Facts) -> Constant | None:
    dtype = _type(node.input()).dtype()
    return None if dtype is None else Constant(dtype.is_floating_point)


def _is_complex(node: Node, facts: Facts) -> Constant | None:
    dtype = _type(node.input()).dtype()
    return None if dtype is None else Constant(dtype.is_complex)


def _is_cuda(node: Node, facts: Facts) -> Constant | None:
    device = _type(node.input()).device()
    return None if device is None else Constant(device.type == "cuda")


TENSOR_RULES = (
    Rule("aten::t", "t(t(x))", "x", _transposed_twice),
    Rule("aten::expand", "expand(x, sizes)", "x, if these are its sizes", _expanded_to_its_size),
    Rule(
        "aten::type_as", "type_as(x, y)", "x, if dtype and device are the same", _cast_to_its_type
    ),
    Rule("aten::mul", "x * 1", "x, if it keeps its dtype", _times_one, merges=True),
    Rule("aten::div", "x / 1", "x, if it keeps its dtype", _times_one, merges=True),
    Rule("aten::add", "x + 0", "x, if it keeps its dtype", _plus_zero, merges=True),
    Rule("aten::sub", "x - 0", "x, if it keeps its dtype", _plus_zero, merges=True),
    Rule("aten::_grad_sum_to_size", "sum_to(sum_to(x, a), b)", "sum_to(x, b)", _summed_twice),
    Rule("aten::size", "size(x)", "a constant list, if known", _all_sizes),
    Rule("aten::size", "size(x, 1)", "a constant, if known", _one_size),
    Rule("aten::len", "len(size(x))", "a constant, if known", _length_of_sizes),
    Rule("aten::dim", "dim(x)", "a constant, if known", _number_of_dims),
    Rule("prim::dtype", "x.dtype", "a constant, if known", _dtype),
    Rule("prim::device", "x.device", "a constant, if known", _device),
    Rule(
        "aten::is_floating_point",
        "is_floating_point(x)",
        "a constant, if known",
        _is_floating_point,
    ),
    Rule("aten::is_complex", "is_complex(x)", "a constant, if known", _is_complex),
    Rule("prim::is_cuda", "x.is_cuda", "a constant, if known", _is_cuda),
)

"""What a node keeps, and where: shared by the writers of nodes and of kernels.

How the real one differs: `tools/autograd/gen_autograd_functions.py` keeps it in the C++ members of
each node class.
"""

from __future__ import annotations

from dataclasses import replace

from codegen.derivatives import Derivative, Saved
from codegen.model import NativeFunction
from internals.core.schema import Argument

# To PyTorch's operators Python's numbers are 0-d tensors: `x * 2` is recorded by the node of
# mul.Tensor, with an edge to nowhere.
NUMBERS_AS_TENSORS = ("add", "sub", "mul", "div", "floor_divide")
# Kernels written by hand in internals/autograd/manual.py (`VariableTypeManual.cpp`).
MANUAL = ("copy_", "detach_", "resize_", "set_")


def derivative_of(f: NativeFunction, entries: dict[str, Derivative]) -> Derivative | None:
    """The entry `f` is recorded by: its own, or that of the functional op for an in-place twin."""
    if f.schema.is_out or f.is_composite or f.schema.name in MANUAL:
        return None
    if f.base is not None:
        return None if f.base.is_composite else entries.get(f.base.schema.full_name)
    own = entries.get(f.schema.full_name)
    if own is None and f.schema.is_inplace:  # declared on its own, like index_put_
        return entries.get(replace(f.schema, name=f.schema.name.removesuffix("_")).full_name)
    return own


def is_missing(f: NativeFunction, entries: dict[str, Derivative]) -> bool:
    """Whether nobody says what the gradient of this operator is. Composites are seen through, out=
    is not differentiated.
    """
    seen_through = f.schema.is_out or f.is_composite or f.schema.name in MANUAL
    return not seen_through and derivative_of(f, entries) is None


def is_inplace_view(f: NativeFunction) -> bool:
    if f.base is None or f.same_as:
        return False
    return f.schema.is_inplace and f.base.schema.is_view and f.schema.name not in MANUAL


def copy_node(d: Derivative) -> str:
    """The node of `select_copy` is called after that of `select`, whose formula it has."""
    return f"{d.node}_copy"


def twin_node(
    f: NativeFunction, functions: list[NativeFunction], entries: dict[str, Derivative]
) -> str:
    """The node of `t_`: PyTorch numbers those of in-place views after those of the views
    themselves.
    """
    d = derivative_of(f, entries)
    assert d is not None
    same = [e for e in entries.values() if e.schema.name == d.schema.name and e.formulas]
    earlier = [g for g in functions if is_inplace_view(g) and g.schema.name == f.schema.name]
    return f"{d.node.rstrip('0123456789')}{len(same) + earlier.index(f)}"


def node_of(
    f: NativeFunction,
    d: Derivative,
    functions: list[NativeFunction],
    entries: dict[str, Derivative],
) -> str:
    """The node that records `f`: that of the entry, or, of the twins of a view, one of its own."""
    if is_inplace_view(f):
        return twin_node(f, functions, entries)
    return copy_node(d) if f.is_view_copy else d.node


def is_tensor(d: Derivative, s: Saved) -> bool:
    if s.detail:
        return False
    return s.is_output or any(
        a.name == s.of and a.type.base == "Tensor" for a in d.schema.arguments
    )


def slot(d: Derivative, s: Saved) -> str:
    return f"_raw_saved_{s.name}" if is_tensor(d, s) else f"_saved_{s.name}"


def argument(d: Derivative, name: str) -> Argument:
    return next(a for a in d.schema.arguments if a.name == name)


def takes_number(d: Derivative) -> bool:
    return d.schema.name in NUMBERS_AS_TENSORS and d.schema.overload.startswith("Scalar")

"""In which order the overloads of a name are tried (`tools/autograd/gen_python_functions.py`:
`sort_overloads`).

A 0-d tensor will do where a number is asked for, so an overload that takes the tensor as a tensor
has to come first: otherwise `clamp(t, zero_dim)` would lose the tensor's dtype, and its gradient.
Overloads are sorted by their signatures as text, then so that the more special one comes before the
more general.

How the real one differs: nothing but the spelling of the signatures; the rules below are PyTorch's.
"""

from __future__ import annotations

from codegen.model import NativeFunction
from internals.core.schema import Argument, FunctionSchema, Type

_CPP = {
    "int": "int64_t", "float": "double", "str": "c10::string_view",
    "int[]": "IntArrayRef", "float[]": "ArrayRef<double>", "bool[]": "::std::array<bool>",
    "Tensor[]": "TensorList", "Scalar[]": "ScalarList",
}  # fmt: skip


def sort_overloads(group: list[NativeFunction]) -> list[NativeFunction]:
    """The overloads of one name in PyTorch's order."""
    group = sorted(group, key=lambda f: _text(f.schema))
    before = {
        i: {j for j in range(len(group)) if _is_more_general(group[i], group[j])}
        for i in range(len(group))
    }
    order = [i for i in before if not before[i]]
    for i in order:
        # grows while it is walked: an overload follows when all that have to come before it are
        # there
        for j in sorted(before):
            if before[j] and j not in order:
                before[j].discard(i)
                if not before[j]:
                    order.append(j)
    return [group[i] for i in order]


def _is_more_general(a: NativeFunction, b: NativeFunction) -> bool:
    """Whether `a` has to be tried after `b`: it accepts what `b` accepts, and more."""
    pairs = list(zip(a.schema.arguments, b.schema.arguments))
    if len(a.schema.arguments) != len(b.schema.arguments) or all(
        x.type == y.type for x, y in pairs
    ):
        return False
    return all(x.type == y.type or _takes_more(x.type, y.type) for x, y in pairs)


def _takes_more(a: Type, b: Type) -> bool:
    if a.base in ("Scalar", "int") and b.base == "Tensor" and not a.is_list and not b.is_list:
        return a.optional == b.optional or a.base == "int"
    if a.base == "int" and a.is_list:
        return b.base == "int" and not (b.is_list or a.optional or a.list_size)
    return a.base == "Tensor" and a.is_list and b.is_list and b.base != "Tensor"


def _text(schema: FunctionSchema) -> str:
    parts, starred = [], False
    for a in schema.arguments:
        if a.kwarg_only and not starred:
            parts.append("*")
            starred = True
        parts.append(_argument(a))
    return f"{schema.name}({', '.join(parts)})"


def _argument(a: Argument) -> str:
    base = _CPP.get(a.type.base + "[]" * a.type.is_list, a.type.base)
    size = f"[{a.type.list_size}]" if a.type.is_list and a.type.list_size else ""
    name = "input" if a.name == "self" and a.type.base == "Tensor" else a.name
    return f"{base}{size}{'?' * a.type.optional} {name}" + (
        f"={a.default}" if a.has_default else ""
    )

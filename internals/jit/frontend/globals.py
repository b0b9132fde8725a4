"""The names every function knows: Python's builtins, as far as the language has them
(`Environment::getSugaredVar` of `torch/csrc/jit/frontend/ir_emitter.cpp`).

How the real one differs: `_to_tensor` and a few more that only its own library uses are among them,
`super` is not.
"""

from __future__ import annotations

from functools import cache

from internals.jit.ir import BoolType, FloatType, IntType, StringType

from .sugared_values import (
    BuiltinFunction,
    CastValue,
    ExceptionValue,
    MagicMethod,
    PrintValue,
    SpecialForm,
    SugaredValue,
)

OPERATORS = {
    "hash": "aten::hash", "id": "prim::id", "min": "prim::min", "max": "prim::max",
    "abs": "prim::abs", "all": "aten::all", "any": "aten::any", "divmod": "aten::divmod",
    "sum": "aten::sum", "ord": "aten::ord", "chr": "aten::chr", "bin": "aten::bin",
    "pow": "aten::pow", "complex": "aten::Complex", "rangelist": "prim::rangelist",
    "sorted": "aten::sorted",
}  # fmt: skip
MAGIC_OPERATORS = {
    "len": "aten::len",
    "hex": "aten::hex",
    "oct": "aten::oct",
    "round": "aten::round",
}
SPECIAL_FORMS = {
    "tuple": "tuple", "getattr": "getattr", "hasattr": "hasattr", "isinstance": "isinstance",
    "list": "list", "dict": "dict", "range": "range", "zip": "zip", "enumerate": "enumerate",
    "super": "super",
}  # fmt: skip


def builtin_name(name: str) -> SugaredValue | None:
    """What the builtin `name` is to the compiler; None for other names."""
    return _table().get(name)


@cache
def _table() -> dict[str, SugaredValue]:
    table: dict[str, SugaredValue] = {
        "print": PrintValue(),
        "AssertionError": ExceptionValue("AssertionError"),
    }
    casts = (
        ("float", FloatType, "Float"),
        ("int", IntType, "Int"),
        ("bool", BoolType, "Bool"),
        ("str", StringType, "str"),
    )
    for name, t, operator in casts:
        table[name] = MagicMethod(f"__{name}__", CastValue(t.get(), f"aten::{operator}"))
    table |= {
        name: MagicMethod(f"__{name}__", BuiltinFunction(symbol))
        for name, symbol in MAGIC_OPERATORS.items()
    }
    table |= {name: BuiltinFunction(symbol) for name, symbol in OPERATORS.items()}
    table |= {name: SpecialForm(form) for name, form in SPECIAL_FORMS.items()}
    return table

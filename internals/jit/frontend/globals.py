"""The names that every function knows: Python's builtins, as far as TorchScript has them
(`Environment::getSugaredVar` of `torch/csrc/jit/frontend/ir_emitter.cpp`).

How the real one differs: it has `_to_tensor` and a few more names that only its own library uses,
but not `super`.
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
# for an object of a compiled class, these call its method: `len(x)` calls `x.__len__()`
MAGIC_OPERATORS = {
    "len": "aten::len",
    "hex": "aten::hex",
    "oct": "aten::oct",
    "round": "aten::round",
}
# calls whose arguments are not simply evaluated, see `emit_special_forms.py`
SPECIAL_FORMS = {
    "tuple": "tuple", "getattr": "getattr", "hasattr": "hasattr", "isinstance": "isinstance",
    "list": "list", "dict": "dict", "range": "range", "zip": "zip", "enumerate": "enumerate",
    "super": "super",
}  # fmt: skip


def builtin_name(name: str) -> SugaredValue | None:
    """The sugared value of the builtin `name`; None for any other name."""
    return _table().get(name)


@cache
def _table() -> dict[str, SugaredValue]:
    """All builtins, by name."""
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

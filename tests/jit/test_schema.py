"""Schemas with JIT types: read, printed as PyTorch prints them, and type variables bound."""

from __future__ import annotations

from typing import Any

import pytest

from internals.jit.ir import (
    DictType,
    IntType,
    ListType,
    NoneType,
    OptionalType,
    StringType,
    TensorType,
    TupleType,
    VarType,
)
from internals.jit.ir.type_parser import parse_type
from internals.jit.operators import all_operators
from internals.jit.schema_parser import parse_schema
from internals.jit.type_variables import evaluate, free_variables, match_type_variables
from tests.answers import answer

APPEND = "aten::append.t(t[](a!) self, t(c -> *) el) -> t[](a!)"


def test_the_parts_of_a_schema() -> None:
    schema = parse_schema(APPEND)
    assert (schema.name, schema.overload_name, schema.operator_name) == (
        "aten::append",
        "t",
        "aten::append.t",
    )
    self, el = schema.arguments
    assert self.type == ListType(VarType("t")) and self.is_write and not self.has_default_value()
    assert self.alias_info is not None and self.alias_info.before == ("a",)
    assert (
        el.alias_info is not None
        and el.alias_info.is_wildcard_after
        and not el.alias_info.is_wildcard_before
    )
    assert (
        schema.is_mutable
        and schema.argument_index("el") == 1
        and schema.argument_index("other") is None
    )


def test_defaults_are_values() -> None:
    text = (
        'conv(int[2] stride=1, float eps=1e-05, bool flag=False, str mode="a\\"b", int? n=None, *, '
    )
    schema = parse_schema(text + "MemoryFormat m=contiguous_format) -> Tensor")
    assert [a.default_value for a in schema.arguments] == [[1, 1], 1e-05, False, 'a"b', None, 0]
    assert schema.arguments[0].N == 2
    assert schema.arguments[-1].kwarg_only and schema.arguments[-1].enum == "MemoryFormat"
    assert schema.arguments[-1].type == IntType.get()
    shown = (
        "aten::conv(int[2] stride=1, float eps=1.0000000000000001e-05, bool flag=False, str "
        'mode="a\\"b", int? n=None, *, '
    )
    assert str(schema) == shown + "MemoryFormat m=0) -> Tensor"


@pytest.mark.parametrize(
    "text",
    [
        APPEND,
        "aten::split.sizes(Tensor(a -> *) self, int[] split_size, int dim=0) -> Tensor(a)[]",
        "aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor "
        "indices)",
        "aten::items.str(Dict(str, t) self) -> ((str, t)[])",
        "aten::format(str self, ...) -> str",
        "prim::TupleUnpack(Any tup) -> ...",
        "aten::warn(str message, int stacklevel=2) -> ()",
        "aten::get.str(Dict(str, t) self, str key) -> t(*)?",
        "aten::as_tensor(Tensor(a) data, *, ScalarType? dtype=None, Device? device=None) -> "
        "Tensor(b|a)",
        'aten::lstrip(str self, str chars=" \\n\\t\\f\\v") -> str',
        "aten::wait(Future(t) self) -> t",
    ],
)
def test_str_gives_the_text_back(text: str) -> None:
    assert str(parse_schema(text)) == text
    assert parse_schema(text) == parse_schema(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f(Tensr x) -> Tensor", "unknown type specifier"),
        ("f(Tensor) -> Tensor", "expected ident"),
        ("f(Tensor x -> Tensor", "expected"),
        ("f(Tensor x) Tensor", "expected arrow"),
        ("f(int x=banana) -> int", "invalid numeric default value"),
        ("f(int x) -> int y z", "expected eof"),
    ],
)
def test_what_is_no_schema_is_refused_with_the_place(text: str, message: str) -> None:
    with pytest.raises(RuntimeError, match=message) as info:
        parse_schema(text)
    assert "<--- HERE" in str(info.value)


def schemas_of_pytorch() -> list[str]:
    """All but those that other tests register."""
    kinds = ("aten::", "prim::")

    def ask(torch: Any) -> list[str]:
        return sorted(str(s) for s in torch._C._jit_get_all_schemas() if s.name.startswith(kinds))

    return answer(ask, family="jit")


def test_every_schema_of_pytorch_reads_and_prints_back() -> None:
    ours = {o.name for o in all_operators()}
    unknown = (
        "SymInt",
        "SymBool",
        "RRef",
        "Await",
        "Enum",
        "AnyClass",
        "QScheme",
        "Stream",
        "__torch__",
        "Dimname",
    )
    texts = [t for t in schemas_of_pytorch() if t.startswith(("aten::", "prim::"))]
    known = [t for t in texts if not any(word in t for word in unknown)]
    assert len(known) > 3000
    assert [t for t in known if str(parse_schema(t)) != t] == []
    assert len(ours & {t.partition("(")[0] for t in texts}) > 1300


def test_every_schema_of_ours_exists_in_pytorch() -> None:
    """Sizes are `int` here and `SymInt` there; `max.dim_out` is our name for `max.dim_max`."""
    real = {t.partition("(")[0]: t.replace("SymInt", "int") for t in schemas_of_pytorch()}
    differ = []
    for operator in all_operators():
        text = str(operator.schema)
        if operator.name.startswith(("aten::", "prim::")) and operator.name not in (
            "aten::max.dim_out",
            "aten::min.dim_out",
        ):
            if real.get(operator.name) != text and (
                operator.handle is None or operator.name not in real
            ):
                differ.append((text, real.get(operator.name)))
    assert differ == []


def test_a_variable_is_bound_by_the_first_argument_that_mentions_it() -> None:
    env: dict = {}
    formals = [a.type for a in parse_schema(APPEND).arguments]
    assert match_type_variables(formals[0], ListType(IntType.get()), env) is None
    assert match_type_variables(formals[1], IntType.get(), env) is None
    assert env == {"t": IntType.get()}
    why = match_type_variables(formals[1], StringType.get(), env)
    assert why == "Type variable 't' previously matched to type int is matched to type str"


@pytest.mark.parametrize(
    ("formal", "actual", "bound"),
    [
        ("t?", "int?", "int"),
        ("t?", "int", "int"),
        ("Dict(str, t)", "Dict(str, Tensor)", "Tensor"),
        ("(int, t)[]", "(int, str)[]", "str"),
        ("t[]", "(int, int)", "int"),
        ("Future(t)", "Future(int[])", "int[]"),
    ],
)
def test_variables_inside_of_types(formal: str, actual: str, bound: str) -> None:
    env: dict = {}
    f, a = parse_type(formal, in_graph=False), parse_type(actual)
    assert free_variables(f) == {"t"}
    assert match_type_variables(f, a, env) is None and env["t"] == parse_type(bound)
    evaluated = evaluate(f, env)
    assert evaluated is not None and not free_variables(evaluated) and evaluated.kind() == f.kind()


@pytest.mark.parametrize(
    ("formal", "actual", "why"),
    [
        ("t[]", "int", "Cannot match List[t] to int"),
        ("Dict(str, t)", "int[]", "Cannot match a dict to List[int]"),
        ("(t, t)", "int", "Cannot match a tuple to int"),
        ("(t, t)", "(int, int, int)", "Cannot match tuples of mismatched size"),
        ("t[]", "(int, str)", "Cannot match List[t] to Tuple[int, str]"),
    ],
)
def test_why_types_do_not_match(formal: str, actual: str, why: str) -> None:
    assert match_type_variables(parse_type(formal, in_graph=False), parse_type(actual), {}) == why


def test_evaluation_needs_every_variable() -> None:
    t = VarType("t")
    assert evaluate(DictType(StringType.get(), t), {}) is None
    assert evaluate(OptionalType(t), {"t": TensorType.get()}) == OptionalType(TensorType.get())
    assert evaluate(TupleType([t, NoneType.get()]), {"t": IntType.get()}) == TupleType(
        [IntType.get(), NoneType.get()]
    )

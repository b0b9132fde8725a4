"""A schema is parsed into parts and printed back; what cannot be parsed is named."""

from __future__ import annotations

from typing import Any

import pytest

import internals  # noqa: F401
from internals.core.dispatcher import dispatcher
from internals.core.schema import parse_schema
from tests.answers import answer


def test_every_declared_schema_prints_back() -> None:
    for op in dispatcher.operators.values():
        if op.name.startswith("aten::"):
            assert str(op.schema) == f"aten::{op.text}"
            assert parse_schema(str(op.schema)) == op.schema


def test_every_declared_schema_is_one_that_pytorch_has() -> None:
    ours = [op for op in dispatcher.operators.values() if op.name.startswith("aten::")]
    theirs = answer(argument_names)
    missing = [op.name for op in ours if op.name not in theirs and op.name not in OURS_ALONE]
    assert not missing
    for op in ours:
        if op.name in OURS_ALONE:
            continue
        names = [
            a.name
            for a in op.schema.arguments
            if not (op.schema.is_out and a.kwarg_only and a.is_write)
        ]
        real_names = theirs[op.name]
        if op.schema.is_out and "dtype" not in real_names:
            names = [n for n in names if n not in FACTORY_OPTIONS]
        assert names == [n for n in real_names if n in names], op.name


def argument_names(T: Any) -> dict[str, list[str]]:
    """Of every operator that PyTorch has: what its arguments are called."""
    schemas = {
        s.name + (f".{s.overload_name}" if s.overload_name else ""): s
        for s in T._C._jit_get_all_schemas()
    }
    return {
        name: [a.name for a in schemas[name].arguments]
        for name in sorted(schemas)
        if name.startswith("aten::")
    }


# twins that PyTorch calls otherwise
OURS_ALONE: set[str] = {"aten::max.dim_out", "aten::min.dim_out"}
FACTORY_OPTIONS = {
    "dtype",
    "layout",
    "device",
    "pin_memory",
}  # which out= forms of factories here share with the factory


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Tensor", "Tensor"),
        ("Tensor?", "Tensor?"),
        ("Tensor[]", "Tensor[]"),
        ("Tensor?[]", "Tensor?[]"),
        ("int[2]", "int[2]"),
        ("int[1]?", "int[1]?"),
        ("float[]?", "float[]?"),
    ],
)
def test_types(text: str, shown: str) -> None:
    assert str(parse_schema(f"f({text} x) -> ()").arguments[0].type) == shown


def test_parts_of_a_schema() -> None:
    s = parse_schema(
        "demo::f.two(Tensor(a!) x, int[2] k=1, *, float? p=None) -> (Tensor(a!), Tensor indices)"
    )
    assert (s.namespace, s.name, s.overload) == ("demo", "f", "two")
    x, k, p = s.arguments
    assert x.is_write and not k.is_write and p.kwarg_only
    assert k.default == [1, 1] and p.default is None and p.has_default
    assert s.is_mutable and not s.is_view and not s.is_inplace and not s.is_out
    assert s.returns[1].name == "indices"
    assert parse_schema("view(Tensor(a) self, int[] size) -> Tensor(a)").is_view


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("add(Tensor self", "expected ) but found 'eof' here"),
        ("add(Tensr self) -> Tensor", "unknown type specifier"),
        ("add(Tensor) -> Tensor", "expected ident but found ')' here"),
        ("add(Tensor x) Tensor", "expected arrow but found 'ident' here"),
        ("add(Tensor(a! x) -> Tensor", "expected ) but found 'ident' here"),
        ("add(int k=four) -> Tensor", "invalid numeric default value"),
    ],
)
def test_errors_name_the_part(text: str, message: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        parse_schema(text)
    assert message in str(caught.value)
    assert str(caught.value).partition(":\n")[0] == answer(
        lambda torch: refusal(torch, text), about=(text,)
    )


def refusal(torch: Any, text: str) -> str:
    with pytest.raises(RuntimeError) as caught:
        torch._C.parse_schema(text)
    return str(caught.value).partition(":\n")[0]


def test_a_default_may_be_infinite() -> None:
    schema = parse_schema(
        "t::f(float a=inf, float b=-inf, bool c=True, Tensor? d=None, int e=Mean) -> ()"
    )
    assert [a.default for a in schema.arguments] == [float("inf"), -float("inf"), True, None, 1]

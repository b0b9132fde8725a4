"""Keeps the meaning of operators in older archives
(`torch/csrc/jit/operator_upgraders/upgraders_entry.cpp`, `version_map.cpp`).

The record `version` of an archive is the version of the operators in its code. Some have changed
since: `div` of two integers once rounded towards zero. Old code has to keep its meaning, so for
each overload that changed there is an *upgrader*: the old schema, the last version in which it was
valid, and a function of today's operators with the same result. The compiler inserts the nodes of
the function in place of the call.

| operator           | until version | earlier meaning                                         |
|--------------------|---------------|---------------------------------------------------------|
| div, div_          | 3             | on integers, division rounded towards zero              |
| full               | 4             | floats also for an integer or bool, unless with a dtype |
| linspace           | 7             | 100 steps by default                                    |
| gelu               | 9             | no choice of an approximation                           |
| _convolution       | 9             | no argument `allow_tf32`                                |

How the real one differs: it first compiles the calls to nodes of the old schema, which a pass then
replaces; and it has an upgrader for `logspace`.
"""

from __future__ import annotations

import ast
from functools import cache
from typing import Any, NamedTuple

from internals.jit.frontend.build_tree import build_def
from internals.jit.frontend.builtin_calls import WrittenFunction
from internals.jit.frontend.compiler import compile_with_schema
from internals.jit.frontend.source import SourceContext, parse_module
from internals.jit.schema_parser import parse_schema

from .archive_names import Namespace


class Upgrader(NamedTuple):
    """An overload that changed: its old schema, the last version in which it was valid, and the
    source of a function with the old meaning.
    """

    schema: str
    last_version: int
    code: str


# The functions are templates where several overloads have the same one: in place or not, with `out`
# or without, with a tensor or a number as the divisor.
DIVISION = """
def upgrader(self: Tensor, other: {other}{more}) -> Tensor:
  if self.is_floating_point() or {other_is_float}{out_is_float}:
    return self.true_divide{in_place}(other{out})
  return self.div{in_place}(other, rounding_mode='trunc'{out})
"""
ROUNDED_DIVISION = """
def upgrader(self: Tensor, other: {other}, rounding_mode: Optional[str]{more}) -> Tensor:
  return self.div{in_place}(other, rounding_mode=rounding_mode{out})
"""
TENSOR = {"other": "Tensor", "other_is_float": "other.is_floating_point()"}
NUMBER = {"other": "number", "other_is_float": "isinstance(other, float)"}
RETURNED = {"in_place": "", "more": "", "out": "", "out_is_float": ""}
IN_PLACE = RETURNED | {"in_place": "_"}
INTO_OUT = RETURNED | {
    "more": ", out: Tensor",
    "out": ", out=out",
    "out_is_float": " or out.is_floating_point()",
}

FULL = """
def upgrader(size: List[int], fill_value: number, dtype: Optional[int], layout: Optional[int],
             device: Optional[Device], pin_memory: Optional[bool]) -> Tensor:
  if dtype is None:
    fill_value = float(fill_value)
  return torch.full(size, fill_value, dtype=dtype, layout=layout, device=device,
                    pin_memory=pin_memory)
"""
FULL_OUT = """
def upgrader(size: List[int], fill_value: number, out: Tensor) -> Tensor:
  return torch.full(size, fill_value, out=out)
"""
LINSPACE = """
def upgrader(start: number, end: number, steps: Optional[int], dtype: Optional[int],
             layout: Optional[int], device: Optional[Device],
             pin_memory: Optional[bool]) -> Tensor:
  if steps is None:
    return torch.linspace(start, end, 100, dtype=dtype, layout=layout, device=device,
                          pin_memory=pin_memory)
  return torch.linspace(start, end, steps, dtype=dtype, layout=layout, device=device,
                        pin_memory=pin_memory)
"""
LINSPACE_OUT = """
def upgrader(start: number, end: number, steps: Optional[int], out: Tensor) -> Tensor:
  if steps is None:
    return torch.linspace(start, end, 100, out=out)
  return torch.linspace(start, end, steps, out=out)
"""
GELU = """
def upgrader(self: Tensor) -> Tensor:
  return torch.gelu(self, approximate='none')
"""
GELU_OUT = """
def upgrader(self: Tensor, out: Tensor) -> Tensor:
  return torch.gelu(self, approximate='none', out=out)
"""
CONVOLUTION = """
def upgrader(input: Tensor, weight: Tensor, bias: Optional[Tensor], stride: List[int],
             padding: List[int], dilation: List[int], transposed: bool, output_padding: List[int],
             groups: int, benchmark: bool, deterministic: bool, cudnn_enabled: bool) -> Tensor:
  return torch._convolution(input, weight, bias, stride, padding, dilation, transposed,
                            output_padding, groups, benchmark, deterministic, cudnn_enabled, True)
"""
OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"

UPGRADERS = (
    Upgrader(
        "aten::div.Tensor(Tensor self, Tensor other) -> Tensor",
        3,
        DIVISION.format(**TENSOR, **RETURNED),
    ),
    Upgrader(
        "aten::div.Scalar(Tensor self, Scalar other) -> Tensor",
        3,
        DIVISION.format(**NUMBER, **RETURNED),
    ),
    Upgrader(
        "aten::div.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
        3,
        DIVISION.format(**TENSOR, **INTO_OUT),
    ),
    Upgrader(
        "aten::div_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
        3,
        DIVISION.format(**TENSOR, **IN_PLACE),
    ),
    Upgrader(
        "aten::div_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
        3,
        DIVISION.format(**NUMBER, **IN_PLACE),
    ),
    Upgrader(
        "aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
        3,
        ROUNDED_DIVISION.format(**TENSOR, **RETURNED),
    ),
    Upgrader(
        "aten::div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor",
        3,
        ROUNDED_DIVISION.format(**NUMBER, **RETURNED),
    ),
    Upgrader(
        "aten::div.out_mode(Tensor self, Tensor other, *, str? rounding_mode, Tensor(a!) out) -> "
        "Tensor(a!)",
        3,
        ROUNDED_DIVISION.format(**TENSOR, **INTO_OUT),
    ),
    Upgrader(
        "aten::div_.Tensor_mode(Tensor(a!) self, Tensor other, *, str? rounding_mode) -> "
        "Tensor(a!)",
        3,
        ROUNDED_DIVISION.format(**TENSOR, **IN_PLACE),
    ),
    Upgrader(
        "aten::div_.Scalar_mode(Tensor(a!) self, Scalar other, *, str? rounding_mode) -> "
        "Tensor(a!)",
        3,
        ROUNDED_DIVISION.format(**NUMBER, **IN_PLACE),
    ),
    Upgrader(f"aten::full(int[] size, Scalar fill_value, *, {OPTIONS}) -> Tensor", 4, FULL),
    Upgrader(
        "aten::full.out(int[] size, Scalar fill_value, *, Tensor(a!) out) -> Tensor(a!)",
        4,
        FULL_OUT,
    ),
    Upgrader(
        f"aten::linspace(Scalar start, Scalar end, int? steps=None, *, {OPTIONS}) -> Tensor",
        7,
        LINSPACE,
    ),
    Upgrader(
        "aten::linspace.out(Scalar start, Scalar end, int? steps=None, *, Tensor(a!) out) -> "
        "Tensor(a!)",
        7,
        LINSPACE_OUT,
    ),
    Upgrader("aten::gelu(Tensor self) -> Tensor", 9, GELU),
    Upgrader(
        "aten::_convolution.deprecated(Tensor input, Tensor weight, Tensor? bias, int[] stride, "
        "int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups, bool "
        "benchmark, bool deterministic, bool cudnn_enabled) -> Tensor",
        9,
        CONVOLUTION,
    ),
    Upgrader("aten::gelu.out(Tensor self, *, Tensor(a!) out) -> Tensor", 9, GELU_OUT),
)


@cache
def upgrades(symbol: str, version: int) -> dict[str, WrittenFunction]:
    """The overloads of an operator that have changed since `version`, each with the function that
    has its old meaning. A version after the last valid one has no entry.
    """
    return {
        schema.overload_name: compiled(upgrader)
        for upgrader, schema in _by_symbol().get(symbol, ())
        if version <= upgrader.last_version
    }


@cache
def compiled(upgrader: Upgrader) -> WrittenFunction:
    """The compiled function, with the old schema. Its parameters are in the order of the schema's
    arguments.
    """
    context = SourceContext(upgrader.code, "<string>", 1)
    definition = parse_module(upgrader.code).body[0]
    assert isinstance(definition, ast.FunctionDef)
    tree = build_def(context, definition, None, definition.name)
    graph, _ = compile_with_schema(tree, Namespace())
    return WrittenFunction(parse_schema(upgrader.schema), graph)


@cache
def _by_symbol() -> dict[str, list[tuple[Upgrader, Any]]]:
    table: dict[str, list[tuple[Upgrader, Any]]] = {}
    for upgrader in UPGRADERS:
        schema = parse_schema(upgrader.schema)
        table.setdefault(schema.name, []).append((upgrader, schema))
    return table

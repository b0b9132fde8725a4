"""One operator, run twice: our function, and real TorchScript on a graph of that one node.

    compare("aten::pop.t", ["int[]", "int"], [[1, 2], 0], "int")

compares two outcomes: tuples ("value", results and containers afterwards), or ("error", what the
message ends with). The graph names no overload: PyTorch finds it by the types, as ours does.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from internals.core.tensor_impl import TensorImpl, array
from internals.jit.ir import Graph
from internals.jit.ir.type_parser import parse_type
from internals.jit.operators.registry import Operator, find_operator
from tests.answers import answer

Outcome = tuple[Any, ...]


def compare(name: str, types: Sequence[str], args: Sequence[Any], *results: str) -> None:
    """Ours and PyTorch's outcome are the same."""
    compare_calls(name, types, [args], results)


def compare_calls(
    name: str, types: Sequence[str], calls: Sequence[Sequence[Any]], results: Sequence[str]
) -> None:
    real = answer(
        lambda torch: [run_real(torch, name, types, args, results) for args in calls],
        (name, calls),
        "jit",
    )
    for args, theirs in zip(calls, real, strict=True):
        ours = run_ours(name, types, args, results)
        assert same(ours, theirs), f"{name} of {args}: {ours} against {theirs}"


def compare_with_pytorch(
    operator: Operator, samples: dict[str, Sequence[Any]], skip: Callable[..., bool]
) -> int:
    """Run an operator on all combinations of samples of its argument types, here and there; returns
    how many there were.
    """
    types = [str(a.type) for a in operator.schema.arguments]
    results = [str(r.type) for r in operator.schema.returns]
    calls = [
        args
        for args in itertools.product(*(samples[t] for t in types))
        if not skip(operator.name, args)
    ]
    compare_calls(operator.name, types, calls, results)
    return len(calls)


def graph_text(symbol: str, types: Sequence[str], results: Sequence[str]) -> str:
    """The text of a graph that calls `symbol` once and returns a tuple of its results and of its
    lists and dicts.
    """
    inputs = [f"%a{i} : {t}" for i, t in enumerate(types)]
    outputs = [f"%r{i} : {t}" for i, t in enumerate(results)]
    call = f"{symbol}({', '.join(f'%a{i}' for i in range(len(types)))})"
    line = f"  {', '.join(outputs)} = {call}\n" if results else f"  {call}\n"
    returned = [(f"%r{i}", t) for i, t in enumerate(results)]
    returned += [(f"%a{i}", t) for i, t in enumerate(types) if is_container(t)]
    names, kinds = (", ".join(column) for column in zip(*returned)) if returned else ("", "")
    construct = f"  %t : ({kinds}) = prim::TupleConstruct({names})\n"
    return f"graph({', '.join(inputs)}):\n{line}{construct}  return (%t)\n"


def is_container(type: str) -> bool:
    return type.endswith("[]") or type.startswith("Dict")


@cache
def real_function(torch: Any, symbol: str, types: tuple[str, ...], results: tuple[str, ...]) -> Any:
    graph = torch._C.parse_ir(graph_text(symbol, types, results))
    return torch._C._create_function_from_graph("f", graph)


def run_real(
    torch: Any, name: str, types: Sequence[str], args: Sequence[Any], results: Sequence[str]
) -> Outcome:
    """Real PyTorch's outcome. Raises RuntimeError when its parser does not find the operator."""
    function = real_function(torch, name.partition(".")[0], tuple(types), tuple(results))
    try:
        with torch.jit.optimized_execution(False):
            given = function(*[to_torch(torch, copy.deepcopy(a)) for a in args])
    except Exception as e:
        return ("error", last_line(str(e)))
    return "value", comparable(list(given))


def run_ours(
    name: str, types: Sequence[str], args: Sequence[Any], results: Sequence[str]
) -> Outcome:
    """Our outcome of the same."""
    mine = [copy.deepcopy(a) if not isinstance(a, TensorImpl) else a.clone() for a in args]
    try:
        result = find_operator(name).fn(*mine)
    except Exception as e:
        return ("error", last_line(str(e)))
    found = list(result) if len(results) > 1 else [result] * len(results)
    return "value", comparable(found + [a for a, t in zip(mine, types) if is_container(t)])


def matched(symbol: str, types: Sequence[str]) -> str | None:
    """The name of the overload that our registry finds for inputs of these types."""
    graph = Graph()
    node = graph.create(symbol, [graph.addInput().setType(parse_type(t)) for t in types])
    operator = node.operator()
    return operator.name if operator else None


def last_line(message: str) -> str:
    """What an error says, without the frames TorchScript puts around it and without the type's
    name.
    """
    lines = [line for line in message.strip().splitlines() if line.strip()]
    text = lines[-1].strip() if lines else ""
    return text.removeprefix("RuntimeError: ").split("  Exception raised from")[0]


def to_torch(torch: Any, value: Any) -> Any:
    if isinstance(value, TensorImpl):
        return torch.from_numpy(array(value).copy()).requires_grad_(value.requires_grad)
    if isinstance(value, (list, tuple)):
        return type(value)(to_torch(torch, v) for v in value)
    if isinstance(value, dict):
        return {to_torch(torch, k): to_torch(torch, v) for k, v in value.items()}
    return value


def comparable(value: Any) -> Any:
    """Values of either library as plain Python values that can be compared with `same`."""
    if isinstance(value, (list, tuple)):
        return (
            type(value)(map(comparable, value))
            if type(value) in (list, tuple)
            else list(map(comparable, value))
        )
    if isinstance(value, dict):
        return [(comparable(k), comparable(v)) for k, v in value.items()]
    if hasattr(value, "tolist"):
        return (
            "tensor",
            str(value.dtype).rpartition(".")[2],
            tuple(value.shape),
            comparable(value.tolist()),
        )
    if type(value).__name__ in ("device", "dtype", "layout", "Generator"):
        return str(value).rpartition(".")[2]
    return value


def same(a: Any, b: Any) -> bool:
    """Equality of comparable values: floats to 12 digits, nan equals nan, and 1, 1., True and -0.
    differ.
    """
    if type(a) is not type(b):
        return False
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, complex):
        # without the signs of zeros
        return same(a.real + 0.0, b.real + 0.0) and same(a.imag + 0.0, b.imag + 0.0)
    if isinstance(a, float):
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        return math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-12) and math.copysign(
            1, a
        ) == math.copysign(1, b)
    return bool(a == b)

"""Every operator in a script and in a trace: a function that calls it gives what it gives when run
by Python.

The calls are those of the random tests (tests/aten/op_arguments.py): tensors are parameters,
everything else stands in the text.
"""

from __future__ import annotations

import math
import runpy
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import internals as torch
from codegen.model import NAMESPACES, NativeFunction
from internals.core.dispatcher import dispatcher
from internals.core.tensor_impl import TensorImpl, array
from internals.jit.operators.properties import NONDETERMINISTIC
from tests.aten.areas import table
from tests.aten.op_arguments import arguments
from tests.aten.op_tensors import Dtype, TensorSpec
from tests.aten.test_op_fuzz import NOT_CALLED, UNINITIALISED, build
from tests.autograd.gradient_entries import functions
from tests.support import full, outcome

pytestmark = pytest.mark.sampled(1 / 2)

CALLS = 6 if full() else 1
NOT_SCRIPTED: dict[str, str] = {
    "view.dtype": (
        "a dtype is an int in a script, and view(int) is the reshaping one: in PyTorch, too"
    ),
    "_index_put_impl_": (
        "a list without a None in it is no list of optional tensors, in PyTorch neither"
    ),
    **table("NOT_SCRIPTED"),
}


def is_called(f: NativeFunction) -> bool:
    name = f.schema.full_name.removeprefix("aten::")
    return (
        bool(f.variants)
        and not f.schema.is_out
        and not ({name, f.schema.name} & {*NOT_CALLED, *NOT_SCRIPTED, *UNINITIALISED})
    )


NAMES = [name.removeprefix("aten::") for name, f in functions().items() if is_called(f)]


@pytest.mark.sampled(1 / 4)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore")
def test_script_and_trace(name: str, tmp_path: Path) -> None:
    f = functions()[f"aten::{name}"]
    for i, values in enumerate(good_calls(f)):
        tensors: list[TensorSpec] = []
        call = text_of(f, values, tensors)
        file = tmp_path / f"call_{i}.py"
        file.write_text(source(call, [f"x{k}" for k in range(len(tensors))]))
        function = runpy.run_path(str(file))["f"]
        expected = run(function, tensors)
        for way in (scripted, traced):
            compiled = way(function, tensors, expected)
            if compiled is not None:
                complaint = unlike(run(compiled, tensors), expected)
                assert not complaint, f"{way.__name__}: {call} of {tensors}: {complaint}"


def test_no_pass_merges_two_calls_that_draw_numbers() -> None:
    """What takes a generator is in the list of the nondeterministic operators."""
    drawn = {
        n.partition(".")[0]
        for n, f in functions().items()
        if any(a.type.base == "Generator" for a in f.schema.arguments)
    }
    assert len(drawn) > 20 and drawn <= NONDETERMINISTIC


def good_calls(f: NativeFunction) -> list[dict[str, Any]]:
    """A few calls that succeed."""
    op = dispatcher.operators[f.schema.full_name]
    stream = np.random.default_rng(zlib.crc32(op.name.encode()) + 1)
    found: list[dict[str, Any]] = []
    for _ in range(1000):
        values = arguments(f.schema, stream)
        torch.manual_seed(0)
        if outcome(lambda: op(*[build(v, torch) for v in values.values()]))[1] is None:  # noqa: B023
            found.append(values)
        if len(found) == CALLS:
            break
    assert found, "no call succeeds"
    return found


def text_of(f: NativeFunction, values: dict[str, Any], tensors: list[TensorSpec]) -> str:
    """The call as Python; its tensors are appended to `tensors`."""
    positional, keyword = [], []
    for a, p in zip(f.schema.arguments, f.parameters):
        value = values[a.name]
        if a.type.base == "Scalar" and isinstance(value, bool):
            value = int(value)  # to the compiler a bool is no number,
        if a.type.base == "float" and isinstance(value, int):
            value = float(value)  # and an int no float
        if a.kwarg_only and value is None:
            continue
        text = literal(value, tensors)
        (keyword if a.kwarg_only else positional).append(f"{p}={text}" if a.kwarg_only else text)
    if "function" not in f.variants and is_generated(getattr(torch.Tensor, f.schema.name, None)):
        owner = positional.pop(f.parameters.index("self"))
        return f"{owner}.{f.schema.name}({', '.join([*positional, *keyword])})"
    return f"{function_of(f)}({', '.join([*positional, *keyword])})"


def function_of(f: NativeFunction) -> str:
    """Where Python finds the operator: as a function of a module, if it is the generated one, or
    else among all operators.
    """
    module, text = torch, "torch"
    if f.python_module in NAMESPACES:
        module, text = getattr(torch, f.python_module), f"torch.{f.python_module}"
    if is_generated(getattr(module, f.python_name, None)):
        return f"{text}.{f.python_name}"
    return f"torch.ops.aten.{f.schema.name}"


def is_generated(function: Any) -> bool:
    """Not written in Python, with arguments of its own."""
    return getattr(function, "__module__", "").startswith("internals._generated")


def literal(value: Any, tensors: list[TensorSpec]) -> str:
    if isinstance(value, TensorSpec):
        tensors.append(value)
        return f"x{len(tensors) - 1}"
    if isinstance(value, Dtype):
        return f"torch.{value.name}"
    if isinstance(value, list):
        return f"[{', '.join(literal(v, tensors) for v in value)}]"
    if isinstance(value, complex):
        return f"complex({value.real}, {value.imag})"
    if isinstance(value, float) and not math.isfinite(value):
        return f"float('{value}')"
    return repr(value)


def source(call: str, parameters: list[str]) -> str:
    return f"import internals as torch\n\n\ndef f({', '.join(parameters)}):\n    return {call}\n"


def scripted(function: Any, tensors: list[TensorSpec], expected: Any) -> Any:
    return torch.jit.script(function)


def traced(function: Any, tensors: list[TensorSpec], expected: Any) -> Any:
    """The function as traced, None for one without tensors on both sides."""
    results = list(expected) if isinstance(expected, (list, tuple)) else [expected]
    if not tensors or not results or not all(isinstance(r, TensorImpl) for r in results):
        return None
    torch.manual_seed(0)
    return torch.jit.trace(
        function, tuple(build(t, torch).clone() for t in tensors), check_trace=False
    )


def run(function: Any, tensors: list[TensorSpec]) -> Any:
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*[build(t, torch).clone() for t in tensors])


def unlike(got: Any, expected: Any) -> str:
    if isinstance(expected, (list, tuple)):
        if len(got) != len(expected):
            return f"{len(got)} results against {len(expected)}"
        return next(filter(None, map(unlike, got, expected)), "")
    if isinstance(expected, TensorImpl):
        if got.dtype is not expected.dtype or got.shape != expected.shape:
            return f"{got.dtype} {got.shape} against {expected.dtype} {expected.shape}"
        return (
            ""
            if np.allclose(array(got), array(expected), 1e-5, 1e-6, equal_nan=True)
            else f"{got} against {expected}"
        )
    return "" if got == expected or got != got else f"{got} against {expected}"

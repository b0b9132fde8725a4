"""Operators that are others by a second name (`same_as`): every overload and twin that PyTorch has,
and the same results.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import internals
from codegen.model import NativeFunction
from internals._generated import ops
from internals.core.dispatcher import dispatcher
from internals.core.tensor_impl import TensorImpl, array
from tests.answers import answer
from tests.aten.op_arguments import arguments
from tests.aten.test_op_fuzz import build
from tests.autograd.gradient_entries import functions
from tests.support import outcome

ALIASES = {name: f for name, f in functions().items() if f.same_as}
OTHERS = {f.schema.name for f in functions().values() if not f.same_as}
# of `max` only one overload is an alias
NAMES = sorted({f.schema.name for f in ALIASES.values()} - OTHERS)

# Made by PyTorch's own generator for tracing with functions only; they have no name in Python.
FUNCTIONALIZED = {f"aten::__{d}shift__.{kind}_out" for d in "lr" for kind in ("Scalar", "Tensor")}


def test_there_are_many() -> None:
    assert len(NAMES) > 70
    assert ops.arccos is not ops.acos


@pytest.mark.parametrize("name", NAMES)
def test_every_overload_is_there(name: str) -> None:
    def overloads(torch: Any) -> list[str]:
        return sorted(
            n
            for n in torch._C._dispatch_get_all_op_names()
            if n.partition(".")[0] == f"aten::{name}"
        )

    assert {*answer(overloads)} - FUNCTIONALIZED <= {*dispatcher.operators}


@pytest.mark.parametrize("name", [n.removeprefix("aten::") for n in ALIASES])
def test_it_gives_the_same(name: str) -> None:
    f: NativeFunction = ALIASES[f"aten::{name}"]
    alias = getattr(ops, f.identifier)
    first = getattr(ops, f.kernels["CompositeImplicitAutograd"].removeprefix("_generated.ops."))
    stream = np.random.default_rng(zlib.crc32(name.encode()))
    succeeded = 0
    for _ in range(100):
        values = arguments(f.schema, stream)
        got, expected = run(alias, values), run(first, values)
        assert type(got[1]) is type(expected[1]) and str(got[1]) == str(expected[1])
        succeeded += expected[1] is None
        assert same(got[0], expected[0]), f"{f.schema}: {values}"
        if succeeded == 3:
            break
    assert succeeded, "no call succeeded"


def run(operator: Callable[..., Any], values: dict[str, Any]) -> tuple[Any, Exception | None]:
    return outcome(lambda: operator(*[build(v, internals) for v in values.values()]))


def same(a: object, b: object) -> bool:
    if isinstance(a, TensorImpl) and isinstance(b, TensorImpl):
        return a.dtype is b.dtype and np.array_equal(
            array(a), array(b), equal_nan=array(a).dtype.kind in "fc"
        )
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return a is b or a == b


GRAPHS = (
    "T.special.expit(x), T.special.psi(x), T.special.round(x), T.special.softmax(x, 0), "
    "T.special.polygamma(1, x)",
    "T.special.xlogy(2, x), T.special.multigammaln(x + 3, 2), T.special.gammainc(x, x), "
    "T.special.ndtr(x), T.special.i1(x)",
    "T.arccos(x), x.fix(), x.absolute(), x.greater_equal_(1), x.clip(0, 1), T.argwhere(x), "
    "T.max(x, x), x.adjoint()",
    "x.long() << 1, 1 << x.long(), x.long().__ilshift__(1), x.long() & 3, x.swapaxes(0, 1), "
    "x.moveaxis(0, 1), +x, T.det(x)",
)


@pytest.mark.parametrize("text", GRAPHS)
@pytest.mark.filterwarnings("ignore")
def test_graphs_have_the_first_name(text: str) -> None:
    def kinds(lib: Any) -> list[str]:
        function = eval(f"lambda x: ({text})", {"T": lib, "__name__": __name__})
        traced = lib.jit.trace(function, (lib.eye(2),), check_trace=False)
        return [n.kind() for n in traced.graph.nodes() if n.kind().startswith("aten::")]

    assert kinds(internals) == answer(kinds)

"""Graphs as text, side by side: real PyTorch reads ours, and we read those of real PyTorch, to the
last byte.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import internals
from internals.jit.ir import Graph
from internals.jit.ir.parser import parse_ir
from tests.answers import answer, oracle
from tests.jit.ir.ir_sources import PROGRAMS, compiled
from tests.jit.ir.test_text import GROUPS, LOOP, TENSORS, VALUES, constant, graphs
from tests.jit.sources import place_free


def assert_all_read(graphs: Callable[[Any], list[Any]]) -> None:
    """Each graph that real PyTorch made is printed by us, once read, as by PyTorch."""
    for text in answer(
        lambda torch: [place_free(str(g)) for g in graphs(torch)], family="jit_graphs"
    ):
        assert str(parse_ir(text, parse_tensor_constants=True)) == text


@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled_functions(name: str) -> None:
    def compiled_graphs(torch: Any) -> list[Any]:
        f = compiled(torch, name)
        optimised = f.inlined_graph
        for p in ("constant_propagation", "cse", "canonicalize"):
            getattr(torch._C, f"_jit_pass_{p}")(optimised)
        return [f.graph, f.inlined_graph, optimised]

    assert_all_read(compiled_graphs)


def modules(torch: Any) -> dict[str, Any]:
    nn = torch.nn
    torch.manual_seed(0)
    image, row = torch.ones(1, 1, 6, 6), torch.ones(2, 4)
    return {
        "mlp": (nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)), row),
        "conv": (
            nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.MaxPool2d(2), nn.Flatten()),
            image,
        ),
        "lstm": (nn.LSTM(4, 3), torch.ones(2, 1, 4)),
        "dropout": (nn.Sequential(nn.Dropout(0.5), nn.LayerNorm(4)), row),
        "embedding": (nn.Embedding(5, 2), torch.tensor([1, 2])),
        "attention": (nn.MultiheadAttention(4, 2).eval(), (torch.ones(2, 1, 4),) * 3),
        "softmax": (nn.Sequential(nn.Softmax(1), nn.GELU(), nn.Hardtanh()), row),
    }


@pytest.mark.parametrize(
    "name", ["mlp", "conv", "lstm", "dropout", "embedding", "attention", "softmax"]
)
@pytest.mark.filterwarnings("ignore")
def test_modules(name: str) -> None:
    def graphs_of_module(torch: Any) -> list[Any]:
        module, inputs = modules(torch)[name]
        traced = torch.jit.trace(module, inputs, check_trace=False)
        if name in ("lstm", "attention"):
            # those have types that we have not: Union, Optional[PackedSequence]
            return [traced.graph, traced.inlined_graph]
        scripted = torch.jit.script(module)
        frozen = torch.jit.freeze(scripted.eval())
        return [
            traced.graph,
            traced.inlined_graph,
            scripted.graph,
            scripted.inlined_graph,
            frozen.graph,
        ]

    assert_all_read(graphs_of_module)


@pytest.mark.filterwarnings("ignore")
def test_what_the_executor_makes() -> None:
    def optimised(torch: Any) -> list[Any]:
        f = compiled(torch, "lstm cell")
        inputs = [
            torch.ones(2, 4, requires_grad=True),
            torch.ones(2, 4),
            torch.ones(4, 4),
            torch.ones(4),
        ]
        for _ in range(3):
            f(*inputs)
        return [f.graph_for(*inputs)]

    assert_all_read(optimised)


def test_calls_of_python() -> None:
    def traced(torch: Any) -> list[Any]:
        class Twice(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any, k: int, s: str) -> Any:
                return x * k

        return [torch.jit.trace(lambda x: Twice.apply(x, 3, "a"), torch.ones(2)).graph]

    assert_all_read(traced)


def accepted(torch: Any, text: str) -> Any:
    return torch._C.parse_ir(text, True)


@settings(max_examples=40, deadline=None)
@given(graphs())
def test_real_pytorch_accepts_ours(g: Graph) -> None:
    torch = oracle()
    text = str(g)
    if (
        "scope: " in text
        or " = prim::Constant[value=(" in text
        or '\\"' in text
        or r"\2" in text
        or r"\3" in text
    ):
        return  # which real PyTorch prints as well, but does not read
    theirs = accepted(torch, text)
    ours = parse_ir(str(theirs), True)
    assert [n.kind() for n in ours.nodes()] == [n.kind() for n in g.nodes()]


@pytest.mark.parametrize(
    "text", [LOOP.replace(", scope: __module/__module.fc", ""), GROUPS.partition("with")[0]]
)
def test_real_pytorch_accepts_these(text: str) -> None:
    again = answer(lambda torch: str(accepted(torch, text)), about=text, family="jit_graphs")
    assert str(parse_ir(again)) == again


@pytest.mark.parametrize(
    "type, value", [v for v in VALUES if "(" not in v[1] and "{" not in v[1] and "j" not in v[1]]
)
def test_constants_as_real_pytorch_prints_them(type: str, value: str) -> None:
    if r"\0" in value or r"\3" in value or value.startswith(("[T", "[[")):
        pytest.skip("octal digits, lists of bools and lists of lists are not read by real PyTorch")
    printed = answer(lambda torch: str(accepted(torch, constant(type, value))), family="jit_graphs")
    assert printed.split(" = ")[1] == constant(type, value).split(" = ")[1].replace("[]]", "None]")


def random_arrays() -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(20190220)
    found = []
    for _ in range(300):
        sizes = tuple(rng.integers(1, 5, rng.integers(0, 5)))
        a = rng.integers(-5, 5, sizes)
        if rng.random() < 0.5:
            a = rng.standard_normal(sizes) * 10.0 ** rng.integers(-8, 12)
        if rng.random() < 0.3:
            a = np.asarray(a) * 10.0 ** rng.integers(-5, 6, sizes)
        found += [np.asarray(a)] if np.prod(sizes) <= 10 else []
    return found


def test_tensors_in_graphs() -> None:
    arrays = random_arrays()

    def printed(T: Any, new_graph: Any) -> list[str]:
        texts = []
        for a in arrays:
            graph = new_graph()
            graph.registerOutput(
                graph.insertConstant(T.tensor(a.tolist(), dtype=getattr(T, str(a.dtype))))
            )
            texts.append(str(graph))
        return texts

    theirs = answer(lambda torch: printed(torch, torch._C.Graph), family="jit_graphs")
    for ours, real in zip(printed(internals, Graph), theirs, strict=True):
        assert ours == real


@pytest.mark.parametrize(
    "type, value", [v for v in TENSORS if v[1].startswith("{") and "strides" in v[0]]
)
def test_single_elements_as_real_pytorch_reads_them(type: str, value: str) -> None:
    text = constant(type, value.replace("-", ""))  # it loses the sign

    def read(torch: Any) -> Any:
        graph = accepted(torch, text.replace("]) =", "], device=cpu) ="))
        return graph.findNode("prim::Constant").output().toIValue()

    theirs = answer(read, about=text, family="jit_graphs")
    ours = parse_ir(text, True).outputs()[0].toIValue()
    assert ours.tolist() == theirs.tolist() and str(ours.dtype).endswith(
        str(theirs.dtype).split(".")[1]
    )

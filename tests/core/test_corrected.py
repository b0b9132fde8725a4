"""Errors that show wrong and right code tell the truth: the wrong line raises that error, and the
right one runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import internals as torch
import viz
from internals.core.corrected import corrected
from internals.core.dispatcher import dispatcher
from internals.jit.runtime.convolution_group import convolution_plan
from internals.library import Library
from internals.profiler import profile


def test_the_three_lines():
    text = corrected("a node has two inputs", "node.input()", "node.input(0)")
    assert text.splitlines() == [
        "a node has two inputs",
        "    wrong:  node.input()",
        "    right:  node.input(0)",
    ]


def f(x: torch.Tensor) -> torch.Tensor:
    return x + 1


def scope() -> dict[str, Any]:
    """What the lines of code name."""
    x = torch.ones(3, requires_grad=True)
    graph = torch.jit.script(f).graph.copy()
    add = next(n for n in graph.nodes() if n.kind() == "aten::add")
    return {
        "torch": torch,
        "numpy": np,
        "viz": viz,
        "array": np.arange(4.0),
        "x": x,
        "y": x * 2,
        "rows": torch.eye(3),
        "grad": torch.autograd.grad,
        "f": f,
        "graph": graph,
        "node": add,
        "other": add.input(0).node(),
        "t": x,
        "loss": x.sum(),
        "Library": Library,
        "convolution_plan": convolution_plan,
        "profile": profile,
        "model": torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3)),
        "m": torch.jit.script(torch.nn.Linear(2, 2)),
        "extra": {"a": b"b"},
        "path": "archive",
    }


# Code that raises the error, and the type of the error.
CASES = {
    "is_grads_batched": ("grad(y, x, rows, is_grads_batched=True)", NotImplementedError),
    "negative strides": ("torch.from_dlpack(array[::-1])", BufferError),
    "script of a number": ("torch.jit.script(3)", TypeError),
    "script of an operator": ("torch.jit.script(torch.relu)", TypeError),
    "constant": ("graph.insertConstant(t)", TypeError),
    "inputs": ("graph.create('aten::relu', [3])", TypeError),
    "not in a block": ("graph.create('aten::relu').owningBlock()", RuntimeError),
    "inputs of a node": ("node.input()", RuntimeError),
    "outputs of a node": ("graph.create('prim::TupleUnpack', 2).output()", RuntimeError),
    "twice": ("graph.insertNode(node)", RuntimeError),
    "used": ("node.input(1).node().destroy()", RuntimeError),
    "optimize": ("torch.jit.optimize(3)", TypeError),
    "plan": ("convolution_plan(model)", RuntimeError),
    "library": ("Library('corrected', 'IMPL').define('f(Tensor x) -> Tensor')", RuntimeError),
    "profile": ("with profile() as p: pass\np.key_averages().total_average()", ValueError),
    "1.0.1": ("torch.jit.save(m, path, _extra_files=extra, format='1.0.1')", ValueError),
    "viz.memory": ("viz.memory()", ValueError),
    "viz.memory of a list": ("viz.memory(x=[1, 2])", TypeError),
    "viz.autograd": ("viz.autograd([1])", TypeError),
    "viz.autograd without": ("viz.autograd(torch.ones(3))", ValueError),
    "viz.autograd_steps": ("viz.autograd_steps(3)", TypeError),
    "viz.big_picture": ("viz.big_picture([1, 2])", TypeError),
    "viz.bytecode": ("viz.bytecode(f)", TypeError),
    "viz.graph": ("viz.graph(f)", TypeError),
    "viz.pipeline": ("viz.pipeline(f, x)", TypeError),
    "viz.flame": ("viz.flame(f(x))", TypeError),
    "viz.strides": ("viz.strides([1, 2])", TypeError),
    "viz.versions": ("log = viz.versions(); log.watch(t=t)", RuntimeError),
    "viz.versions of a list": ("viz.versions(a=[1])", TypeError),
}


def both_lines(code: str, kind: type[Exception], scope: Callable[[], dict[str, Any]]) -> None:
    """Run `code`, which raises an error of that kind, and the line that it calls right."""
    with pytest.raises(kind) as caught:
        exec(code, scope())
    found = re.search(r"\n    wrong:  (.*)\n    right:  (.*)$", str(caught.value))
    assert found, str(caught.value)
    wrong, right = found.groups()
    assert wrong != right
    compile(wrong, "wrong", "exec")
    exec(right, scope())


@pytest.mark.parametrize("case", CASES)
def test_the_wrong_line_raises_and_the_right_one_runs(case: str, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    try:
        both_lines(*CASES[case], scope)
    finally:
        dispatcher.operators.remove("corrected::f")

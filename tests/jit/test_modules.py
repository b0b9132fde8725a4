"""Scripted modules: the values, gradients and state of the eager module, and PyTorch's graphs."""

from __future__ import annotations

import copy
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import internals
from internals import jit
from tests.answers import Plain, answer
from tests.jit.modules import CASES, ModuleCase, namespace
from tests.jit.sources import define


def build(case: ModuleCase, T: Any) -> tuple[Any, tuple[Any, ...]]:
    """The module, with the same weights for everybody, and its inputs."""
    names = namespace(T)
    cls = define(case.source, **names)
    T.manual_seed(0)
    module = eval(case.make, {**names, "M": cls})
    with T.no_grad():
        for i, p in enumerate(module.parameters()):
            p.copy_((T.arange(p.numel(), dtype=T.float32).view(p.shape) % 7 - 3) / (4 + i))
    inputs = eval(case.inputs, names)
    return module, inputs if isinstance(inputs, tuple) else (inputs,)


def tensors(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [t for each in value for t in tensors(each)]
    if isinstance(value, dict):
        return [t for each in value.values() for t in tensors(each)]
    return [value] if hasattr(value, "requires_grad") else []


def run(module: Any, inputs: tuple[Any, ...]) -> dict[str, Any]:
    """Two calls, what they gave, the gradients of the second and the buffers afterwards."""
    module.zero_grad()
    first, second = module(*inputs), module(*inputs)
    found = {
        f"output {i}": np.array(t.detach().numpy())
        for i, t in enumerate(tensors(first) + tensors(second))
    }
    found["plain"] = repr(
        [v for v in (first if isinstance(first, tuple) else (first,)) if not tensors(v)]
    )
    loss = [t.sum() for t in tensors(second) if t.requires_grad]
    if loss:
        sum(loss).backward()
    for name, p in module.named_parameters():
        if p.grad is not None:
            found[f"gradient {name}"] = p.grad.numpy()
    return found | {f"buffer {name}": b.numpy().copy() for name, b in module.named_buffers()}


def assert_same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        if isinstance(value, str):
            assert found[name] == value
        else:
            np.testing.assert_allclose(found[name], value, rtol=1e-6, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_scripted_equals_eager(case: ModuleCase, training: bool) -> None:
    eager, inputs = build(case, internals)
    module, _ = build(case, internals)
    scripted = jit.script(module)
    assert_same(run(scripted.train(training), inputs), run(eager.train(training), inputs))


def graphs(module: Any) -> dict[str, str]:
    """By method, the graphs of the user's own modules; what is in the library has a source of its
    own.
    """
    found = {}
    for path, each in module.named_modules():
        ours = hasattr(each, "_jit_type")
        for name in each._jit_type.methods if ours else each._c._method_names():
            function = each._jit_type.findMethod(name) if ours else each._c._get_method(name)
            text = re.sub(r"___torch_mangle_\d+\.", "", str(function.graph))
            if "%self : __torch__.user." in text:
                found[f"{path}.{name}"] = renumbered(
                    re.sub(r" # \S*/source_\d+\.py", " # source.py", text)
                )
    return found


def renumbered(graph: str) -> str:
    """The graph with its values numbered in the order in which they are named: which number a value
    has says nothing.
    """
    seen: dict[str, str] = {}

    def rename(found: re.Match[str]) -> str:
        base = re.sub(r"\.\d+$", "", found.group(1))
        return seen.setdefault(found.group(1), f"%{'' if base.isdigit() else base}#{len(seen)}")

    return re.sub(r"%([\w.]+)", rename, graph)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_graphs_are_pytorchs(case: ModuleCase) -> None:
    theirs = graphs_of_pytorch(lambda torch: build(case, torch)[0])
    assert graphs(jit.script(build(case, internals)[0])) == theirs != {}


def graphs_of_pytorch(make: Callable[[Any], Any]) -> Plain:
    """The graphs of a module that real PyTorch has scripted."""

    def ask(torch: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = make(torch)
            return graphs(
                module if isinstance(module, torch.jit.ScriptModule) else torch.jit.script(module)
            )

    return answer(ask, family="jit_graphs")


def test_parameters_are_shared_with_the_original() -> None:
    module = internals.nn.Sequential(internals.nn.Linear(2, 2), internals.nn.BatchNorm1d(2))
    scripted = jit.script(module)
    for mine, theirs in zip(scripted.parameters(), module.parameters()):
        assert mine is theirs
    assert scripted[1].running_mean is module[1].running_mean
    assert list(scripted.state_dict()) == list(module.state_dict())
    scripted(internals.ones(4, 2)).sum().backward()
    assert module[0].weight.grad is not None


def test_modules_that_are_the_same_share_a_type() -> None:
    cls = define(
        "class M(nn.Module):\n    def __init__(self, n, k):\n        super().__init__()\n        "
        "self.fc = nn.Linear(n, 2)\n"
        "        self.k = k\n    def forward(self, x):\n        return self.fc(x) * self.k",
        **namespace(internals),
    )
    a, b, c = (jit.script(cls(n, k)) for n, k in ((2, 1), (2, 7), (2, 1.5)))
    assert a._jit_type is b._jit_type and a.graph is b.graph
    assert c._jit_type is not a._jit_type and "___torch_mangle_" in c._jit_type.name()
    assert (a.k, b.k, c.k) == (1, 7, 1.5)
    other = jit.script(cls(3, 1))
    assert other._jit_type is not a._jit_type, "in_features is a constant of Linear"


def test_constants_that_are_equal_but_not_the_same_make_two_types() -> None:
    cls = define(
        """
        class M(nn.Module):
            __constants__ = ["k"]
            def __init__(self, k):
                super().__init__()
                self.k = k
            def forward(self, x):
                return x, self.k
        """,
        **namespace(internals),
    )
    values = (1, 1, 1.0, True, 2)
    modules = [jit.script(cls(k)) for k in values]
    assert len({m._jit_type for m in modules}) == 4
    assert [repr(m(internals.ones(1))[1]) for m in modules] == [repr(k) for k in values]


def test_scripted_twice_is_the_same_module() -> None:
    scripted = jit.script(internals.nn.Linear(2, 2))
    assert jit.script(scripted) is scripted
    outer = jit.script(internals.nn.Sequential(scripted, internals.nn.ReLU()))
    assert outer[0] is scripted


def test_copies_have_parameters_of_their_own_and_the_same_type() -> None:
    scripted = jit.script(internals.nn.Linear(2, 2))
    copied = copy.deepcopy(scripted)
    assert copied.weight is not scripted.weight and copied._jit_type is scripted._jit_type
    x = internals.ones(1, 2)
    with internals.no_grad():
        copied.weight.zero_()
        copied.bias.zero_()
    assert copied(x).tolist() == [[0.0, 0.0]] != scripted(x).tolist()


def test_moved_and_loaded_like_any_module() -> None:
    scripted = jit.script(
        internals.nn.Sequential(internals.nn.Linear(2, 2), internals.nn.Dropout(0.5))
    )
    assert scripted.double()[0].weight.dtype is internals.float64
    scripted.float().load_state_dict({"0.weight": internals.eye(2), "0.bias": internals.zeros(2)})
    x = internals.tensor([[1.0, 2.0]])
    assert scripted.eval()(x).tolist() == [[1.0, 2.0]]
    assert not scripted.training and not scripted[1].training
    internals.manual_seed(0)
    assert set(scripted.train()(internals.ones(50, 2)).flatten().tolist()) == {0.0, 2.0}


def test_printed() -> None:
    scripted = jit.script(internals.nn.Sequential(internals.nn.Linear(2, 2), internals.nn.ReLU()))
    assert repr(scripted) == (
        "RecursiveScriptModule(\n  original_name=Sequential\n  (0): "
        "RecursiveScriptModule(original_name=Linear)\n"
        "  (1): RecursiveScriptModule(original_name=ReLU)\n)"
    )

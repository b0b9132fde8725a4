"""Compiled programs on the device: traces, scripts, constants, devices as values, frozen modules,
and a sample of the corpus.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import internals as torch
from internals import jit, nn
from internals.jit import parse_ir
from tests.jit.corpus import load
from tests.jit.corpus.running import assert_same, callable_of, outcome, traced
from tests.support import full

CUDA = torch.device("cuda", 0)
PROGRAMS = load(torch)
SAMPLE = (
    sorted(PROGRAMS)
    if full()
    else sorted(np.random.default_rng(5).choice(sorted(PROGRAMS), 30, replace=False))
)
x = torch.arange(6.0).view(2, 3)


def scaled(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a * b + 1).relu().sum(0)


def test_types_in_a_trace_tell_the_device() -> None:
    y = x.cuda()
    traced_ = jit.trace(scaled, (y, y))
    text = str(traced_.graph)
    assert "%a : Float(2, 3, strides=[3, 1], requires_grad=0, device=cuda:0)" in text
    assert "Float(3, strides=[1], requires_grad=0, device=cuda:0) = aten::sum" in text
    assert traced_.graph.findNode("aten::mul").output().type().device() == CUDA
    assert torch.equal(traced_(y, y).cpu(), scaled(x, x))
    assert torch.equal(traced_(x, x), scaled(x, x))  # a trace does not insist


def test_constants_on_the_device() -> None:
    offset = torch.tensor([1.0, 2.0, 3.0], device="cuda")
    closed = jit.trace(lambda a: a + offset, (x.cuda(),))
    graph = str(closed.graph)
    assert "device=cuda:0) = prim::Constant[value= 1  2  3 [ CUDAFloatType{3} ]]" in graph
    assert torch.equal(closed(x.cuda()).cpu(), x + offset.cpu())
    again = parse_ir(graph, parse_tensor_constants=True)
    assert str(again.findNode("prim::Constant").t("value").device) == "cuda:0"


def test_devices_in_a_trace() -> None:
    def program(a: Any) -> Any:
        return a + torch.ones(3, device=a.device).to("cuda") * torch.full((3,), 2.0, device="cuda")

    traced_ = jit.trace(program, (x.cuda(),))
    assert 'Device = prim::Constant[value="cuda:0"]' in str(traced_.graph)
    assert 'torch.device("cuda:0")' in traced_.code
    assert torch.equal(traced_(x.cuda()).cpu(), x + 2)


@jit.script
def places(a: torch.Tensor, d: torch.device):  # type: ignore[no-untyped-def]
    if a.is_cuda:
        y = torch.zeros(3, device=a.device)
    else:
        y = torch.ones(3)
    z = a.cpu() + y.cpu()
    where = torch.device("cuda")
    return (
        z,
        a.to(d).device,
        a.device == torch.device("cuda:0"),
        a.device.type,
        a.device.index,
        a.get_device(),
        a.cuda().is_cuda,
        torch.tensor([1, 2], device=d).device,
        torch.empty_like(a, device=where).is_cuda,
        torch.arange(3, device=d, dtype=torch.float32),
    )


@pytest.mark.parametrize("executor", ["emitted", "interpreter"])
def test_devices_in_a_script(executor: str) -> None:
    with jit.executor(executor):
        for _ in range(3):
            there = places(x.cuda(), torch.device("cpu"))
            here = places(x, CUDA)
    assert torch.equal(there[0], x) and torch.equal(here[0], x + 1)
    assert there[1:8] == (torch.device("cpu"), True, "cuda", 0, 0, True, torch.device("cpu"))
    assert here[1:8] == (CUDA, False, "cpu", None, -1, True, CUDA)
    assert there[8] and here[8] and here[9].device == CUDA and here[9].tolist() == [0.0, 1.0, 2.0]
    text = str(places.graph)
    assert (
        "prim::is_cuda(%a.1)" in text
        and "prim::device(%a.1)" in text
        and 'Constant[value="cuda"]' in text
    )


def test_mixed_devices_are_refused_where_they_meet() -> None:
    scripted = jit.script(scaled)
    with pytest.raises(RuntimeError, match="found at least two devices, cuda:0 and cpu!") as error:
        scripted(x.cuda(), x)
    assert "(a * b + 1).relu().sum(0)" in str(error.value)


def test_profiled_graphs_know_the_device() -> None:
    scripted = jit.script(scaled)
    y = x.cuda().requires_grad_()
    for _ in range(4):
        y.grad = None
        scripted(y, x.cuda()).sum().backward()
        assert torch.equal(y.grad.cpu(), x)
    assert "device=cuda:0" in str(scripted.graph_for(y.detach(), x.cuda()))


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear, self.norm = nn.Linear(3, 2), nn.BatchNorm1d(2)

    def forward(self, a: torch.Tensor) -> torch.Tensor:
        return self.norm(self.linear(a)).relu()


def net() -> Any:
    torch.manual_seed(0)
    return Net()


@pytest.mark.parametrize("move", ["before", "cuda", "to"])
def test_modules(move: str) -> None:
    expected = net()(x)
    module = net()
    scripted = jit.script(module.cuda() if move == "before" else module)
    scripted = scripted.cuda() if move == "cuda" else scripted.to("cuda")
    assert all(t.is_cuda for t in scripted.state_dict().values())
    result = scripted(x.cuda())
    assert result.is_cuda and torch.allclose(result.cpu(), expected, rtol=1e-3, atol=1e-4)
    assert torch.allclose(scripted.cpu().eval()(x), net().eval()(x), rtol=1e-2, atol=0.3)
    trace = jit.trace(net().cuda().eval(), (x.cuda(),))
    assert torch.allclose(trace(x.cuda()).cpu(), net().eval()(x), rtol=1e-3, atol=1e-4)


def test_frozen_modules_keep_their_weights_on_the_device() -> None:
    module = net().eval().cuda()
    for optimized in (
        jit.freeze(jit.script(module)),
        jit.optimize_for_inference(jit.script(module)),
    ):
        assert torch.allclose(optimized(x.cuda()).cpu(), net().eval()(x), rtol=1e-3, atol=1e-4)
        assert "CUDAFloatType" in str(optimized.graph) or "device=cuda:0" in str(optimized.graph)


@pytest.mark.parametrize("name", SAMPLE)
def test_programs_of_the_corpus(name: str) -> None:
    """On the device: eager, scripted and traced give what the CPU gives, if the program makes no
    tensors of its own elsewhere.
    """
    program = PROGRAMS[name]
    expected = results(program, lambda f: f, "cpu")
    try:
        eager = results(program, lambda f: f, "cuda")
    except RuntimeError as error:
        assert (
            "same device" in str(error) or "same type" in str(error) or "wrapper_CUDA" in str(error)
        )
        pytest.skip("the program makes tensors on the CPU and computes with them and its arguments")
    if not draws(program):
        assert_same(eager, expected, 2e-3)
    found = results(program, jit.script, "cuda")
    if not draws(program):
        assert_same(found, expected, 2e-3)
    if program.traced and all_tensors(expected["result"]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            got = results(
                program, lambda f: traced(torch, program, f, arguments(program, "cuda")), "cuda"
            )
        if not draws(program):
            assert_same(got, expected, 2e-3)


def results(program: Any, compiled: Any, where: str) -> dict[str, Any]:
    function, parameters = callable_of(torch, program)
    if program.module:
        function = function.to(where)
        parameters = list(function.parameters())
    torch.manual_seed(0)
    return outcome(torch, compiled(function), arguments(program, where), parameters)


def arguments(program: Any, where: str) -> tuple[Any, ...]:
    return tuple(moved(a, where) for a in program.arguments(torch, 0))


def moved(value: Any, where: str) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().to(where).requires_grad_(value.requires_grad)
    if isinstance(value, (list, tuple)):
        return type(value)(moved(v, where) for v in value)
    return {k: moved(v, where) for k, v in value.items()} if isinstance(value, dict) else value


def draws(program: Any) -> bool:
    """Whether the program draws random numbers, which the device does in its own way."""
    return "dropout" in program.name or "rand" in program.name


def all_tensors(result: Any) -> bool:
    """Whether a result (in the form `outcome` gives it) can be that of a trace."""
    if isinstance(result, tuple) and len(result) == 3 and isinstance(result[0], str):
        return True
    return isinstance(result, (list, tuple)) and all(all_tensors(r) for r in result)

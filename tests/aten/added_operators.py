"""What a copy of the project can do with the two operators that `test_three_files.py` adds to it.

Only there these are collected; no word of `logcosh` or `sqdiff` stands anywhere else.
"""

from __future__ import annotations

import math
from typing import Any

import pytest

import internals as torch
from internals import jit
from internals.aten.compiled import elementwise
from internals.autograd.gradcheck import gradcheck, gradgradcheck
from internals.cuda import backend
from internals.cuda.fallback import no_fallback
from internals.cuda.simulator.driver import SimulatedDriver
from internals.jit.ir.parser import parse_ir
from internals.jit.passes import run_pass
from internals.machine_code import compiled_kernels
from tools import operators as page_of_names

UNARY, BINARY = "logcosh", "sqdiff"


def call(name: str, *tensors: Any) -> Any:
    return getattr(torch, name)(*tensors[: 1 if name == UNARY else 2])


def tensors(n: int = 12, **how: Any) -> list[Any]:
    torch.manual_seed(0)
    return [torch.randn(n, dtype=torch.float64).to(torch.float32).to(**how) for _ in range(2)]


def test_it_computes_what_its_line_says() -> None:
    x, y = torch.tensor([0.5, -2.0, 30.0]), torch.tensor([1.0, 1.0, 10.0])
    expected = [math.log(math.cosh(v)) for v in x.tolist()]
    assert torch.allclose(torch.logcosh(x), torch.tensor(expected))
    assert torch.sqdiff(x, y).tolist() == [0.25, 9.0, 400.0]
    assert x.sqdiff(y).tolist() == [0.25, 9.0, 400.0] and torch.equal(x.logcosh(), torch.logcosh(x))
    assert torch.sqdiff(x, torch.tensor([1, 1, 10])).dtype is torch.float32


def test_twins() -> None:
    for name in (UNARY, BINARY):
        x, y = tensors()
        expected = call(name, x, y)
        out = torch.empty(0)
        assert getattr(torch, name)(*(x, y)[: 1 if name == UNARY else 2], out=out) is out
        assert torch.equal(out, expected)
        written = x.clone()
        getattr(written, f"{name}_")(*[y][: 0 if name == UNARY else 1])
        assert torch.equal(written, expected)


def test_gradients() -> None:
    for name, node in ((UNARY, "LogcoshBackward0"), (BINARY, "SqdiffBackward0")):
        x, y = [t.double().requires_grad_() for t in tensors(4)]
        assert call(name, x, y).grad_fn.name() == node
        assert gradcheck(lambda a, b, name=name: call(name, a, b), [x, y])
        assert gradgradcheck(lambda a, b, name=name: call(name, a, b), [x, y])


@pytest.mark.parametrize("name", [UNARY, BINARY])
def test_large_tensors_run_machine_code(name: str, monkeypatch: Any) -> None:
    ran: list[Any] = []
    run = elementwise.Plan.run
    noted = lambda plan, *a: (ran.append(plan), run(plan, *a))[1]  # noqa: E731
    monkeypatch.setattr(elementwise.Plan, "run", noted)
    x, y = tensors(100)
    with compiled_kernels(False):
        expected = call(name, x, y)
    assert not ran
    with compiled_kernels(threshold=0):
        assert torch.allclose(call(name, x, y), expected, rtol=1e-5, atol=1e-6)
    assert ran


@pytest.mark.parametrize("name", [UNARY, BINARY])
def test_a_simulated_gpu_has_a_kernel(name: str) -> None:
    with backend.installed(SimulatedDriver(devices=1)), no_fallback():
        x, y = tensors()
        found = call(name, x.to("cuda"), y.to("cuda"))
        assert found.device.type == "cuda"
        assert torch.allclose(found.cpu(), call(name, x, y), rtol=1e-5, atol=1e-6)


def f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.logcosh(x * 2) * torch.sqdiff(x, y)


def test_it_fuses_with_its_gradient() -> None:
    script = jit.script(f)
    x, y = [t.requires_grad_() for t in tensors()]
    plan = script.graph_for(x, y)
    (group,) = plan.findAllNodes("prim::DifferentiableGraph")
    (inner,) = group.g("Subgraph").findAllNodes("prim::FusionGroup")
    kinds = {n.kind() for n in inner.g("Subgraph").nodes()}
    assert {f"aten::{UNARY}", f"aten::{BINARY}"} <= kinds
    backward = group.g("ReverseSubgraph").findAllNodes("prim::GradOf")
    assert {f"aten::{UNARY}", f"aten::{BINARY}"} <= {n.s("name") for n in backward}
    expected = [t.detach().clone().requires_grad_() for t in (x, y)]
    f(*expected).sum().backward()
    for _ in range(3):
        x.grad = y.grad = None
        script(x, y).sum().backward()
    for ours, theirs in zip((x, y), expected):
        assert torch.allclose(ours.grad, theirs.grad, rtol=1e-5, atol=1e-6)


def test_its_shape_is_known_and_a_write_can_be_a_new_tensor() -> None:
    graph = parse_ir("""graph(%x : Float(3, 1, device=cpu), %y : Float(4, device=cpu)):
  %a : Tensor = aten::logcosh(%x)
  %b : Tensor = aten::logcosh_(%a)
  %c : Tensor = aten::sqdiff(%b, %y)
  return (%c)
""")
    run_pass("propagate_input_shapes", graph, verify=True)
    assert graph.outputs()[0].type().repr_str() == "Float(3, 4, device=cpu)"
    run_pass("remove_inplace", graph, verify=True)
    assert [n.kind() for n in graph.nodes()] == ["aten::logcosh", "aten::logcosh", "aten::sqdiff"]


def test_it_is_in_the_documentation() -> None:
    assert f"`{UNARY}`" in page_of_names.page() and f"`{BINARY}`" in page_of_names.page()


def test_errors_name_the_thing() -> None:
    x, y = tensors()
    with pytest.raises(
        TypeError, match=r"logcosh\(\): argument 'input' .* must be Tensor, not str"
    ):
        torch.logcosh("x")
    with pytest.raises(
        RuntimeError, match="The size of tensor a .12. must match the size of tensor b"
    ):
        torch.sqdiff(x, y[:5])
    with pytest.raises(
        RuntimeError, match="result type Float can't be cast to the desired output type Long"
    ):
        torch.arange(3).logcosh_()
    with pytest.raises(NotImplementedError, match="logcosh.* not implemented for 'Complex"):
        torch.logcosh(x.to(torch.complex64))
    with backend.installed(SimulatedDriver(devices=1)):
        with pytest.raises(RuntimeError, match="at least two devices, cuda:0 and cpu"):
            torch.sqdiff(x.to("cuda"), y)

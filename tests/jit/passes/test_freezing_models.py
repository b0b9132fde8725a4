"""Freezing whole models: what they compute stays, their weights become constants, their batch norms
go into convolutions.
"""

from __future__ import annotations

from typing import Any

import pytest

import internals as torch
from internals import jit, models

MODELS = ("resnet18", "mobilenet_v2")


def model(name: str) -> Any:
    """In evaluation mode, with statistics that are not those of a new batch norm."""
    torch.manual_seed(0)
    m = getattr(models, name)(num_classes=10).eval()
    for layer in m.modules():
        if isinstance(layer, torch.nn.BatchNorm2d):
            layer.running_mean.normal_(0, 0.1)
            layer.running_var.uniform_(0.5, 1.5)
    return m


def image(size: int = 32) -> Any:
    torch.manual_seed(1)
    return torch.randn(2, 3, size, size)


def kinds(graph: Any) -> list[str]:
    return [n.kind() for n in graph.nodes()]


@pytest.fixture(scope="module", params=MODELS)
def frozen(request: pytest.FixtureRequest) -> Any:
    """A model, and the same one frozen."""
    m = model(request.param)
    return m, jit.freeze(jit.script(m))


@pytest.mark.sampled(1 / 4)
def test_nothing_is_left_of_the_module(frozen: Any) -> None:
    _, f = frozen
    f.graph.lint()
    assert not list(f.parameters()) and not list(f.buffers()) and not list(f.children())
    assert not {"prim::GetAttr", "prim::CallMethod", "prim::CallFunction"} & set(kinds(f.graph))
    for check in f.graph.findAllNodes("prim::If"):
        # of the number of dimensions: all that is left of a batch norm
        assert (
            not check.outputs()
            and check.blocks()[0].return_node().prev().kind() == "prim::RaiseException"
        )


@pytest.mark.sampled(1 / 4)
def test_every_batch_norm_is_in_its_convolution(frozen: Any) -> None:
    m, f = frozen
    convolutions = sum(isinstance(layer, torch.nn.Conv2d) for layer in m.modules())
    found = kinds(f.graph)
    assert "aten::batch_norm" not in found and "aten::dropout" not in found
    assert found.count("aten::conv2d") == convolutions


@pytest.mark.parametrize("size", [32, 40])
def test_it_computes_the_same(frozen: Any, size: int) -> None:
    m, f = frozen
    with torch.no_grad():
        expected = m(image(size))
        for _ in range(2):  # the second call finds its plan
            assert torch.allclose(f(image(size)), expected, rtol=1e-4, atol=1e-4)
    assert float(expected.std()) > 0.01, "outputs that are all alike would prove nothing"


@pytest.mark.sampled(1 / 4)
@pytest.mark.parametrize("name", MODELS)
def test_without_numerics_to_the_bit(name: str) -> None:
    m = model(name)
    f = jit.freeze(jit.script(m), optimize_numerics=False)
    batch_norms = sum(isinstance(layer, torch.nn.BatchNorm2d) for layer in m.modules())
    assert kinds(f.graph).count("aten::batch_norm") == batch_norms
    with torch.no_grad():
        assert torch.equal(f(image()), m(image()))


def test_a_traced_model() -> None:
    m = model("resnet18")
    f = jit.freeze(jit.trace(m, image(), check_trace=False))
    assert not list(f.parameters()) and not {"prim::GetAttr", "aten::batch_norm"} & set(
        kinds(f.graph)
    )
    with torch.no_grad():
        assert torch.allclose(f(image()), m(image()), rtol=1e-4, atol=1e-4)

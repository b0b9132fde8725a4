"""Freezing: what becomes a constant, what stays an attribute, and that the frozen module computes
what the module did.
"""

from __future__ import annotations

from typing import Any

import pytest

import internals as torch
from internals import jit, nn
from internals.jit import freeze, optimize_for_inference, run_frozen_optimizations


class Layers(nn.Module):
    """A convolution, batch norm, dropout and a linear layer; an attribute and a second method."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.bn = nn.BatchNorm2d(4)
        self.drop = nn.Dropout()
        self.lin = nn.Linear(4, 2)
        self.scale = 3
        self.version = 1

    def forward(self, x):  # type: ignore[no-untyped-def]
        x = self.drop(self.bn(self.conv(x))).relu()
        return self.lin(x.mean([2, 3])) * self.scale

    @jit.export
    def other(self, x):  # type: ignore[no-untyped-def]
        return x + self.version


class Counter(nn.Module):
    """Writes to one buffer, sets an attribute, reads a parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))
        self.register_buffer("total", torch.zeros(2))
        self.calls = 0

    def forward(self, x):  # type: ignore[no-untyped-def]
        self.calls += 1
        self.total.add_(1)
        return x + self.weight + self.total


class Shared(nn.Module):
    """Two buffers in one memory, of which one is written to."""

    def __init__(self) -> None:
        super().__init__()
        memory = torch.zeros(4)
        self.register_buffer("whole", memory)
        self.register_buffer("part", memory[:2])
        self.register_buffer("apart", torch.ones(2))

    def forward(self, x):  # type: ignore[no-untyped-def]
        self.whole.add_(1)
        return x + self.part + self.apart


class Nested(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = Layers(), Layers()

    def forward(self, x):  # type: ignore[no-untyped-def]
        return self.first(x) + self.second(x)


def layers() -> Any:
    torch.manual_seed(0)
    m = Layers().eval()
    m.bn.running_mean.normal_()
    m.bn.running_var.uniform_(0.5, 2.0)
    return m


def image() -> Any:
    torch.manual_seed(1)
    return torch.randn(2, 3, 6, 6)


def kinds(graph: Any) -> set[str]:
    return {n.kind() for n in graph.nodes()}


def test_everything_becomes_a_constant() -> None:
    m = layers()
    frozen = freeze(jit.script(m))
    frozen.graph.lint()
    assert (
        not list(frozen.parameters()) and not list(frozen.buffers()) and not list(frozen.children())
    )
    assert not kinds(frozen.graph) & {
        "prim::GetAttr",
        "aten::batch_norm",
        "aten::dropout",
        "prim::CallMethod",
    }
    assert torch.allclose(frozen(image()), m(image()), atol=1e-5)
    assert not hasattr(frozen, "training") and not hasattr(frozen, "conv")


def test_a_traced_module_can_be_frozen() -> None:
    m = layers()
    frozen = freeze(jit.trace(m, image()))
    assert not kinds(frozen.graph) & {"prim::GetAttr", "aten::batch_norm", "aten::dropout"}
    assert torch.allclose(frozen(image()), m(image()), atol=1e-5)


def test_without_numerics_results_are_the_same_to_the_bit() -> None:
    m = layers()
    frozen = freeze(jit.script(m), optimize_numerics=False)
    assert "aten::batch_norm" in kinds(frozen.graph)
    assert torch.equal(frozen(image()), m(image()))
    run_frozen_optimizations(frozen)
    assert "aten::batch_norm" not in kinds(frozen.graph)
    assert torch.allclose(frozen(image()), m(image()), atol=1e-5)


def test_constants_are_named_after_the_attributes() -> None:
    names = {v.debugName() for n in freeze(jit.script(layers())).graph.nodes() for v in n.outputs()}
    assert {
        "self.lin.weight",
        "self.lin.bias",
        "self.scale",
        "self.conv.weight_fused_bn",
        "self.conv.bias_fused_bn",
    } <= names


def test_the_module_itself_is_not_changed() -> None:
    scripted = jit.script(layers())
    before = str(scripted.graph)
    freeze(scripted)
    assert str(scripted.graph) == before and len(list(scripted.parameters())) == 6


def test_preserved_attributes_and_methods() -> None:
    frozen = freeze(jit.script(layers()), preserved_attrs=["other", "version"])
    x = torch.zeros(2)
    assert frozen.version == 1 and frozen.other(x).tolist() == [1.0, 1.0]
    frozen.version = 5
    assert frozen.other(x).tolist() == [5.0, 5.0]
    assert not hasattr(freeze(jit.script(layers())), "other")


def test_preserved_parts_of_submodules() -> None:
    torch.manual_seed(0)
    m = Nested().eval()
    scripted = jit.script(m)
    frozen = freeze(scripted, preserved_attrs=["first.scale", "second.lin"])
    assert sorted(n for n, _ in frozen.named_parameters()) == [
        "second.lin.bias",
        "second.lin.weight",
    ]
    assert torch.allclose(frozen(image()), m(image()), atol=1e-5)
    frozen.first.scale = 0
    frozen.second.lin.weight.data.zero_()
    frozen.second.lin.bias.data.zero_()
    assert not frozen(image()).any()


def test_what_is_written_to_stays() -> None:
    m = jit.script(Counter().eval())
    frozen = freeze(m)
    frozen.graph.lint()
    assert [n for n, _ in frozen.named_buffers()] == ["total"] and not list(frozen.parameters())
    zeros = torch.zeros(2)
    assert [frozen(zeros).tolist() for _ in range(3)] == [[2.0, 2.0], [3.0, 3.0], [4.0, 4.0]]
    assert frozen.calls == 3 and m.calls == 0


def test_what_shares_memory_with_it_stays_as_well() -> None:
    frozen = freeze(jit.script(Shared().eval()))
    assert sorted(n for n, _ in frozen.named_buffers()) == ["part", "whole"]
    assert [frozen(torch.zeros(2)).tolist() for _ in range(2)] == [[2.0, 2.0], [3.0, 3.0]]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: freeze(layers()),
         "Freezing expects a ScriptModule as input. Please use torch.jit.script or "
         "torch.jit.trace"),
        (lambda: freeze(jit.script(Layers())),
         "Freezing is currently only implemented for modules in eval mode."),
        (lambda: freeze(jit.script(layers()), preserved_attrs=["nope"]), "Unknown name: nope"),
        (lambda: optimize_for_inference(layers()),
         "optimize_for_inference expects a ScriptModule as input."),
    ],
)  # fmt: skip
def test_errors(make: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        make()


def test_optimize_for_inference_freezes_and_takes_what_is_frozen() -> None:
    m = layers()
    once = optimize_for_inference(jit.script(Layers()))
    assert "aten::batch_norm" not in kinds(once.graph)
    frozen = freeze(jit.script(m), optimize_numerics=False)
    assert optimize_for_inference(frozen) is frozen
    assert "aten::batch_norm" not in kinds(frozen.graph)
    assert torch.allclose(frozen(image()), m(image()), atol=1e-5)


def convolution(rank: int, bias: bool) -> Any:
    torch.manual_seed(0)
    return (nn.Conv1d if rank == 1 else nn.Conv2d)(2, 3, 2, bias=bias)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("rank", [1, 2])
def test_folded_batch_norm(rank: int, affine: bool, bias: bool) -> None:
    norm = (nn.BatchNorm1d if rank == 1 else nn.BatchNorm2d)(3, affine=affine, eps=0.01)
    norm.running_mean.normal_()
    norm.running_var.uniform_(0.5, 2.0)
    m = nn.Sequential(convolution(rank, bias), norm).eval()
    frozen = freeze(jit.script(m))
    assert "aten::batch_norm" not in kinds(frozen.graph)
    x = torch.randn(2, 2, *[5] * rank)
    assert torch.allclose(frozen(x), m(x), atol=1e-5)


@pytest.mark.parametrize("traced", [True, False])
def test_a_transposed_convolution_is_left_alone(traced: bool) -> None:
    """Its weight has the output channels second."""
    torch.manual_seed(0)
    norm = nn.BatchNorm2d(2)
    norm.running_var.uniform_(0.5, 2.0)
    m = nn.Sequential(nn.ConvTranspose2d(2, 2, 2), norm).eval()
    x = torch.randn(2, 2, 5, 5)
    frozen = freeze(jit.trace(m, x) if traced else jit.script(m))
    assert "aten::batch_norm" in kinds(frozen.graph)
    assert torch.equal(frozen(x), m(x))


def test_folded_into_a_linear_layer() -> None:
    m = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)).eval()
    m[1].running_mean.normal_()
    frozen = freeze(jit.script(m))
    assert "aten::batch_norm" not in kinds(frozen.graph)
    x = torch.randn(5, 4)
    assert torch.allclose(frozen(x), m(x), atol=1e-5)


class Arithmetic(nn.Module):
    def __init__(self, bias: bool) -> None:
        super().__init__()
        self.conv = convolution(2, bias)
        self.register_buffer("shift", torch.rand(3, 1, 1))
        self.register_buffer("scale", torch.rand(1, 3, 1, 1) + 0.5)
        self.register_buffer("number", torch.rand(1))

    def forward(self, x):  # type: ignore[no-untyped-def]
        return (self.conv(x) * 2 + self.shift - self.number) * self.scale / 4 - 1


@pytest.mark.parametrize("bias", [True, False])
def test_folded_arithmetic(bias: bool) -> None:
    m = Arithmetic(bias).eval()
    frozen = freeze(jit.script(m))
    assert kinds(frozen.graph) == {"prim::Constant", "aten::conv2d"}
    x = torch.randn(2, 2, 5, 5)
    assert torch.allclose(frozen(x), m(x), atol=1e-5)


class OneMoreDimension(nn.Module):
    """A summand with more dimensions than the result of the convolution: that of the sum."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = convolution(2, True)
        self.register_buffer("one", torch.ones(1, 1, 1, 1, 1))

    def forward(self, x):  # type: ignore[no-untyped-def]
        return self.conv(x) + self.one


def test_a_summand_that_adds_a_dimension_is_not_folded() -> None:
    m = OneMoreDimension().eval()
    assert freeze(jit.script(m))(torch.randn(2, 2, 5, 5)).shape == (1, 2, 3, 4, 4)


class NotFoldable(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = convolution(2, True)
        self.register_buffer("row", torch.rand(4))

    def forward(self, x):  # type: ignore[no-untyped-def]
        y = self.conv(x)
        return y * self.row, y * 2, self.conv(x) + x.sum()


def test_what_must_not_be_folded() -> None:
    """A factor for each column; a result that is read twice; a summand that is no constant."""
    m = NotFoldable().eval()
    frozen = freeze(jit.script(m))
    x = torch.randn(2, 2, 5, 5)
    for a, b in zip(frozen(x), m(x)):
        assert torch.equal(a, b)


def test_gradients_reach_the_input_of_a_frozen_module() -> None:
    m = layers()
    x, y = image().requires_grad_(), image().requires_grad_()
    freeze(jit.script(m))(x).sum().backward()
    m(y).sum().backward()
    assert torch.allclose(x.grad, y.grad, atol=1e-5)

"""`optimize_for_inference` with packed convolutions: which nodes of a graph become groups, and what
each layer computes then.
"""

from __future__ import annotations

from typing import Any

import pytest

import internals as torch
from internals import Tensor, jit, nn
from internals.jit.passes.pack_convolutions import pack_convolutions, unpack_convolutions
from tests.aten.compiled.convolution_group_support import (
    GROUP,
    Block,
    assert_close,
    groups,
    kinds,
    made,
    networks,
    one_candidate_each,
)

F = torch.nn.functional


@pytest.fixture(autouse=True)
def quick_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    one_candidate_each(monkeypatch)


def test_a_block_becomes_one_group() -> None:
    frozen = jit.freeze(jit.script(made(Block())))
    before = [k for k in kinds(frozen.graph) if k.startswith("aten::")]
    packed = jit.optimize_for_inference(frozen)
    assert kinds(packed.graph).count(GROUP) == 1
    assert set(kinds(packed.graph)) <= {
        GROUP,
        "aten::dim",
        "aten::ne",
        "aten::format",
        "prim::If",
        "prim::RaiseException",
    }
    (group,) = groups(packed)
    assert group.s("name") == "Block"
    packed.graph.lint()
    inside = kinds(group.g("Subgraph"))
    assert inside == [k for k in before if k not in ("aten::dim", "aten::ne", "aten::format")]
    assert "aten::relu_" in inside and "aten::add_" in inside  # as they were written


def test_the_group_is_text_and_can_be_read_back() -> None:
    packed = jit.optimize_for_inference(jit.script(made(Block())))
    text = str(packed.graph)
    assert f'{GROUP}_0[name="Block"](%x' in text and f"with {GROUP}_0 = graph(" in text


def test_taken_apart_it_is_what_it_was() -> None:
    frozen = jit.freeze(jit.script(made(Block())))
    graph = frozen.graph.copy()
    assert pack_convolutions(graph)
    assert unpack_convolutions(graph)
    graph.lint()
    assert GROUP not in kinds(graph)
    assert not unpack_convolutions(graph)
    layers = ("aten::conv2d", "aten::relu_", "aten::add_", "aten::linear", "aten::flatten")
    assert [k for k in kinds(graph) if k in layers] == [
        k for k in kinds(frozen.graph) if k in layers
    ]


def test_nothing_is_packed_without_constant_weights() -> None:
    scripted = jit.script(made(Block()))
    graph = scripted.inlined_graph
    text = str(graph)
    assert not pack_convolutions(graph)
    assert GROUP not in text and GROUP not in str(graph)


def test_plain_freeze_packs_nothing() -> None:
    """What `freeze` makes is for PyTorch to read as well."""
    assert GROUP not in kinds(jit.freeze(jit.script(made(Block()))).graph)


class Seen(nn.Module):
    """The convolution's result is looked at before and after it is written to."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)

    def forward(self, x: Tensor) -> Tensor:
        y = self.conv(x)
        flat = y.view(-1)
        before = flat.sum()
        y.relu_()
        return flat.sum() - before


def test_a_write_that_somebody_sees_stays_a_write() -> None:
    module, x = made(Seen()), torch.randn(1, 3, 5, 5)
    packed = jit.optimize_for_inference(jit.script(module))
    assert "aten::relu_" in kinds(packed.graph)
    assert_close(packed(x), module(x))
    assert float(module(x).detach()) > 1


class Taps(nn.Module):
    """Two results, of which one is needed on the way to the other."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 16, 3), nn.Conv2d(16, 16, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        first = F.relu(self.a(x))
        return first, F.hardtanh(self.b(first), -1.0, 0.5)


def test_several_results() -> None:
    module, x = made(Taps()), torch.randn(2, 3, 6, 7)
    packed = jit.optimize_for_inference(jit.script(module))
    (group,) = groups(packed)
    assert group.outputsSize() == 2
    for a, b in zip(packed(x), module(x)):
        assert_close(a, b)
    again = packed(x)
    first = again[0].clone()
    packed(torch.randn(2, 3, 6, 7))
    assert torch.equal(again[0], first)  # results are nobody else's memory


class Zoo(nn.Module):
    """All layers there are kernels for."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Conv2d(3, 24, 3, stride=2, padding=1)
        self.depthwise = nn.Conv2d(24, 24, 3, padding=2, dilation=2, groups=24)
        self.grouped = nn.Conv2d(24, 16, (1, 3), padding=(0, 1), groups=2, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu6(self.a(x))
        x = F.max_pool2d(x, 3, 1, 1) + torch.clamp(self.depthwise(x), min=-0.5)
        x = F.avg_pool2d(self.grouped(x), 2)
        return torch.flatten(F.adaptive_avg_pool2d(x, 1), 1)


@pytest.mark.parametrize(
    "compile_",
    [jit.script, lambda m: jit.trace(m, torch.randn(2, 3, 14, 14))],
    ids=["script", "trace"],
)
def test_every_layer_scripted_and_traced(compile_: Any) -> None:
    module, x = made(Zoo()), torch.randn(2, 3, 14, 14)
    packed = jit.optimize_for_inference(compile_(module))
    assert [k for k in kinds(packed.graph) if k.startswith("aten::")] == []
    with torch.no_grad():
        assert_close(packed(x), module(x))
    assert len(networks(packed)) == 1 and networks(packed)[0] is not None


class Rows(nn.Module):
    """Linear layers of rows, as in attention: three in one weight, one with a sum behind it, one
    too small to care about.
    """

    def __init__(self) -> None:
        super().__init__()
        self.three = nn.Parameter(torch.randn(192, 64))
        self.positions = nn.Parameter(torch.randn(1, 5, 64))
        self.out, self.small = nn.Linear(64, 64), nn.Linear(64, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.positions
        q, k, v = self.three.chunk(3)
        heads = torch.softmax(F.linear(x, q) * F.linear(x, k), -1) * F.linear(x, v)
        return self.small(torch.tanh(self.out(heads) + x))


def test_linear_layers_of_rows() -> None:
    module, x = made(Rows()), torch.randn(2, 5, 64)
    packed = jit.optimize_for_inference(jit.script(module))
    left = kinds(packed.graph)
    assert left.count(GROUP) == 4 and left.count("aten::linear") == 1  # the small one
    assert "aten::chunk" not in left
    assert left.count("aten::add") == 1  # the one with a constant; the other is done by the layer
    with torch.no_grad():
        for _ in range(2):
            assert_close(packed(x), module(x))
    assert all(n is not None for n in networks(packed)) and len(networks(packed)) == 4


def test_a_weight_that_is_written_to_is_not_cut() -> None:
    class Written(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("both", torch.ones(128, 64))

        def forward(self, x: Tensor) -> Tensor:
            a, b = self.both.chunk(2)
            a.add_(1.0)
            return F.linear(x, a) + F.linear(x, b)

    packed = jit.optimize_for_inference(jit.script(made(Written())))
    x = torch.ones(1, 64)
    assert [float(packed(x)[0, 0]) for _ in range(2)] == [192.0, 256.0]

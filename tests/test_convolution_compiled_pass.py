"""`optimize_for_inference` with packed convolutions: the graph, what runs, when the operators serve instead, files."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import internals as torch
from internals import Tensor, jit, nn
from internals.aten.compiled.convolution import choice as choosing
from internals.aten.compiled.convolution.algorithms import Depthwise, Direct
from internals.jit.ir import all_nodes
from internals.jit.passes.pack_convolutions import pack_convolutions, unpack_convolutions
from internals.jit.runtime import convolution_group
from internals.machine_code import compiled_kernels, get_num_threads, set_num_threads
from tests.support import oracle

F = torch.nn.functional
GROUP = "prim::ConvolutionGroup"


@pytest.fixture(autouse=True)
def quick_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    """One candidate for every layer: what is tested here is not how the best is found."""
    monkeypatch.setattr(
        choosing,
        "candidates",
        lambda p: [Depthwise(1)] if p.depthwise and p.x.lanes > 1 else [Direct(1, min(2, p.out.sizes[3]), 1)],
    )
    monkeypatch.setattr(choosing, "RUNS", 1)
    monkeypatch.setattr(choosing, "_evict", lambda threads: None)
    monkeypatch.setattr(choosing.cache, "read", lambda key, kind: None)
    monkeypatch.setattr(choosing.cache, "write", lambda key, kind, payload: None)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16)
        self.conv2, self.bn2 = nn.Conv2d(16, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16)
        self.relu, self.pool = nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(16, 5)

    def forward(self, x: Tensor) -> Tensor:
        x = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(x))
        y += x
        y = self.relu(y)
        return self.fc(torch.flatten(self.pool(y), 1))


def made(module: nn.Module, *, seed: int = 0) -> Any:
    """The module in evaluation mode with running statistics that are not 0 and 1."""
    torch.manual_seed(seed)
    for m in module.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.running_mean.normal_()
            m.running_var.uniform_(0.5, 2.0)
    return module.eval()


def kinds(graph: Any) -> list[str]:
    return [n.kind() for n in all_nodes(graph.block()) if n.kind() != "prim::Constant"]


def groups(module: Any) -> list[Any]:
    return [n for n in all_nodes(module.graph.block()) if n.kind() == GROUP]


def networks(module: Any) -> list[Any]:
    """What has been built for a module's groups."""
    return [n for g in groups(module) for n in convolution_group.group_of(g).networks.values()]


def assert_close(a: Any, b: Any, most: float = 1e-5) -> None:
    assert a.shape == b.shape and a.dtype is b.dtype
    a, b = a.detach(), b.detach()
    if not a.numel():
        return
    assert float((a - b).abs().max()) <= most * max(1.0, float(b.abs().max()))


# The graph


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
    assert [k for k in kinds(graph) if k in layers] == [k for k in kinds(frozen.graph) if k in layers]


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
    "compile_", [jit.script, lambda m: jit.trace(m, torch.randn(2, 3, 14, 14))], ids=["script", "trace"]
)
def test_every_layer_scripted_and_traced(compile_: Any) -> None:
    module, x = made(Zoo()), torch.randn(2, 3, 14, 14)
    packed = jit.optimize_for_inference(compile_(module))
    assert [k for k in kinds(packed.graph) if k.startswith("aten::")] == []
    with torch.no_grad():
        assert_close(packed(x), module(x))
    assert len(networks(packed)) == 1 and networks(packed)[0] is not None


class Rows(nn.Module):
    """Linear layers of rows, as in attention: three in one weight, one with a sum behind it, one too small to care about."""

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


# What runs


@pytest.fixture
def block() -> Iterator[tuple[Any, Any, Any]]:
    module = made(Block())
    with torch.no_grad():
        yield module, jit.optimize_for_inference(jit.script(module)), torch.randn(2, 3, 8, 8)


@pytest.mark.parametrize("how", ["emitted", "interpreter"])
def test_both_executors(block: Any, how: str) -> None:
    module, packed, x = block
    with jit.executor(how):
        for _ in range(3):
            assert_close(packed(x), module(x))
    assert networks(packed)[0].threads == get_num_threads()


def test_sizes_and_threads_have_their_own_networks(block: Any) -> None:
    module, packed, x = block
    before = get_num_threads()
    try:
        for threads in (1, 2):
            set_num_threads(threads)
            for size in (6, 8):
                given = torch.randn(1, 3, size, size)
                assert_close(packed(given), module(given))
    finally:
        set_num_threads(before)
    assert len(networks(packed)) == 4
    packed(x)
    assert len(networks(packed)) == convolution_group.MOST_NETWORKS == 4


def test_the_plan_is_text(block: Any) -> None:
    _, packed, x = block
    assert jit.convolution_plan(packed) == "Block: nothing is decided before the first call"
    packed(x)
    lines = jit.convolution_plan(packed).splitlines()
    assert lines[0].startswith("Block on ")
    assert [line.split("  ")[0] for line in lines[2:]] == [
        "3x3 3->16 relu",
        "3x3 16->16 + residual relu",
        "average of 8x8",
        "1x1 16->5",
    ]
    with pytest.raises(RuntimeError, match="no packed convolutions in this"):
        jit.convolution_plan(jit.freeze(jit.script(made(Block()))))


def test_other_strides_with_the_same_weights_are_another_group() -> None:
    class Strided(nn.Module):
        def __init__(self, conv: nn.Conv2d, stride: int) -> None:
            super().__init__()
            self.weight, self.stride = conv.weight, stride

        def forward(self, x: Tensor) -> Tensor:
            return F.relu(F.conv2d(x, self.weight, None, self.stride))

    conv, x = nn.Conv2d(3, 4, 3), torch.randn(1, 3, 7, 7)
    for stride in (1, 2):
        module = made(Strided(conv, stride))
        assert_close(jit.optimize_for_inference(jit.script(module))(x), module(x).detach())


# When the operators serve


def test_operators_serve_where_kernels_do_not(block: Any) -> None:
    module, packed, x = block
    with compiled_kernels(False):
        assert_close(packed(x), module(x))
    assert networks(packed) == []


@pytest.mark.parametrize("change", [lambda x: x.double(), lambda x: x[:0]], ids=["dtype", "empty"])
def test_inputs_that_kernels_do_not_take(change: Any) -> None:
    module = made(nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU()))
    x = change(torch.randn(2, 3, 6, 6))
    if x.dtype is torch.float64:
        module = module.double()
    packed = jit.optimize_for_inference(jit.script(module))
    assert_close(packed(x), module(x).detach())
    assert networks(packed) == [None]


def test_memory_in_any_order_and_offset(block: Any) -> None:
    module, packed, _ = block
    wide = torch.randn(4, 8, 8, 6)
    for x in (wide.permute(0, 3, 1, 2)[1:3, 1:4], wide.permute(0, 3, 2, 1)[:, ::2], torch.randn(3, 3, 8, 8)[1:]):
        assert_close(packed(x), module(x))


def test_gradients_of_the_input() -> None:
    module, x = made(Block()), torch.randn(2, 3, 8, 8, requires_grad=True)
    packed = jit.optimize_for_inference(jit.script(module))
    (got,) = torch.autograd.grad(packed(x).square().sum(), x)
    (expected,) = torch.autograd.grad(module(x).square().sum(), x)
    assert_close(got, expected, 1e-4)
    assert_close(packed(x.detach()), module(x).detach())


def test_inference_mode(block: Any) -> None:
    module, packed, x = block
    with torch.inference_mode():
        assert_close(packed(x), module(x))


def test_errors_are_the_operators(block: Any) -> None:
    _, packed, x = block
    with pytest.raises(RuntimeError, match="expected input.* to have 3 channels, but got 4 channels"):
        packed(torch.randn(1, 4, 8, 8))
    with pytest.raises(Exception, match=r"expected 4D input \(got 3D input\)"):
        packed(torch.randn(3, 8, 8))
    assert packed(x).shape == (2, 5)


class Wide(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 16, 3), nn.Conv2d(3, 16, 5)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.a(x) + self.b(x))


def test_a_sum_that_broadcasts() -> None:
    module, x = made(Wide()), torch.randn(1, 3, 5, 5)
    packed = jit.optimize_for_inference(jit.script(module))
    assert_close(packed(x), module(x).detach())
    assert networks(packed) == [None]


# Files


def test_files_hold_the_operators(block: Any) -> None:
    module, packed, x = block
    file = io.BytesIO()
    jit.save(packed, file)
    assert "ConvolutionGroup" not in packed.code and "torch.conv2d" in packed.code
    file.seek(0)
    again = jit.load(file)
    assert_close(again(x), module(x))
    assert_close(jit.optimize_for_inference(again)(x), module(x))
    assert GROUP in kinds(packed.graph)


def test_pytorch_reads_the_file(block: Any) -> None:
    real = oracle()
    module, packed, x = block
    file = io.BytesIO()
    jit.save(packed, file)
    file.seek(0)
    with real.no_grad():
        theirs = real.jit.load(file)(real.from_numpy(x.numpy())).numpy()
    np.testing.assert_allclose(theirs, module(x).numpy(), atol=1e-5)


# Networks


def test_models_agree_with_float64() -> None:
    """Small members of the families that the benchmark suite measures."""
    from internals import models

    setting = [[1, 16, 1, 1], [6, 24, 2, 2], [6, 24, 1, 1]]
    for model, size in (
        (models.ResNet(models.resnet.BasicBlock, [1, 1, 1, 1], num_classes=7), 40),
        (models.MobileNetV2(num_classes=7, inverted_residual_setting=setting), 32),
    ):
        module, x = made(model), torch.randn(2, 3, size, size)
        packed = jit.optimize_for_inference(jit.script(module))
        assert len(groups(packed)) == 1
        with torch.no_grad():
            got = packed(x)
            assert_close(got.double(), module.double()(x.double()), 1e-5)
        assert networks(packed)[0] is not None

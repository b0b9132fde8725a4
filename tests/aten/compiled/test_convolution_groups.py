"""Groups of packed convolutions at work: what runs, when the operators serve instead, files, and
whole networks.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pytest

import internals as torch
from internals import Tensor, jit, nn
from internals.jit.runtime import convolution_group
from internals.machine_code import compiled_kernels, get_num_threads, set_num_threads
from tests.answers import answer
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
from tests.serialization.archives import comparable
from tests.support import assert_same

F = torch.nn.functional


@pytest.fixture(autouse=True)
def quick_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    one_candidate_each(monkeypatch)


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
    for x in (
        wide.permute(0, 3, 1, 2)[1:3, 1:4],
        wide.permute(0, 3, 2, 1)[:, ::2],
        torch.randn(3, 3, 8, 8)[1:],
    ):
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
    with pytest.raises(
        RuntimeError, match="expected input.* to have 3 channels, but got 4 channels"
    ):
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


def test_pytorch_reads_the_file() -> None:
    torch.manual_seed(0)
    module, x = made(Block()), torch.randn(2, 3, 8, 8)
    packed = jit.optimize_for_inference(jit.script(module))
    file = io.BytesIO()
    jit.save(packed, file)
    file.seek(0)

    def result(real: Any) -> Any:
        return real.jit.load(file)(real.from_numpy(x.numpy()))

    theirs = answer(result, about=comparable(file.getvalue()), family="archives")
    assert_same(module(x).detach(), theirs, atol=1e-5)


# Networks


@pytest.mark.sampled(1 / 4)
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

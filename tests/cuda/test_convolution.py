"""Convolutions on the device beside the CPU's: dimensions, strides, paddings, dilations, groups,
transposed, and gradients.
"""

from __future__ import annotations

from typing import Any

import pytest

import internals
from internals.core import dtype as dt
from internals.cuda.native import convolution, matmul
from internals.nn import functional as F
from tests.cuda.beside_cpu import (
    compare,
    compare_gradients,
    moved,
    on_the_device_alone,
    random_tensor,
    same,
)

Options = dict[str, Any]

CASES: list[tuple[str, tuple[int, ...], tuple[int, ...], Options]] = [
    ("conv1d", (2, 3, 7), (4, 3, 3), {}),
    ("conv1d", (1, 2, 6), (2, 2, 2), {"stride": 2, "padding": 1, "dilation": 2}),
    ("conv2d", (2, 3, 5, 6), (4, 3, 3, 2), {}),
    (
        "conv2d",
        (1, 2, 6, 5),
        (3, 2, 3, 3),
        {"stride": (2, 1), "padding": (1, 2), "dilation": (1, 2)},
    ),
    ("conv2d", (1, 4, 5, 4), (6, 2, 2, 2), {"groups": 2, "padding": 1}),
    ("conv2d", (2, 3, 4, 4), (9, 3, 1, 1), {}),
    ("conv2d", (2, 3, 5, 5), (3, 1, 3, 3), {"groups": 3, "padding": 1}),
    (
        "conv2d",
        (1, 2, 5, 4),
        (4, 1, 2, 3),
        {"groups": 2, "stride": 2, "dilation": (2, 1), "padding": 1},
    ),
    ("conv3d", (1, 2, 3, 4, 3), (2, 2, 2, 2, 2), {"padding": 1, "stride": (1, 2, 1)}),
    ("conv2d", (2, 0, 4, 3), (4, 0, 2, 2), {}),
    ("conv_transpose1d", (2, 2, 4), (2, 3, 3), {"stride": 2, "output_padding": 1}),
    (
        "conv_transpose2d",
        (1, 3, 3, 2),
        (3, 2, 3, 2),
        {"stride": (2, 3), "padding": (1, 0), "dilation": (2, 1)},
    ),
    ("conv_transpose2d", (1, 4, 2, 3), (4, 1, 2, 2), {"groups": 2, "padding": 1, "stride": 2}),
    ("conv_transpose2d", (1, 3, 3, 3), (3, 1, 2, 2), {"groups": 3}),
    ("conv_transpose3d", (1, 2, 2, 2, 2), (2, 1, 2, 1, 2), {"stride": 2}),
]
IDS = [f"{name}-{'x'.join(map(str, w))}-{len(o)}" for name, x, w, o in CASES]


@pytest.fixture(params=["naive", "blocked"])
def form(request: pytest.FixtureRequest) -> Any:
    """Without tiles, and with them."""
    with matmul.using(request.param):
        yield request.param


def bias_for(name: str, weight: tuple[int, ...], options: Options) -> Any:
    return random_tensor(
        (weight[1] * options.get("groups", 1) if "transpose" in name else weight[0],), seed=5
    )


@pytest.mark.parametrize("name, x, w, options", CASES, ids=IDS)
def test_forward(
    form: str, name: str, x: tuple[int, ...], w: tuple[int, ...], options: Options
) -> None:
    function = getattr(F, name)
    compare(function, random_tensor(x), random_tensor(w, seed=1), **options)
    compare(
        function, random_tensor(x), random_tensor(w, seed=1), bias_for(name, w, options), **options
    )


@pytest.mark.parametrize("name, x, w, options", CASES, ids=IDS)
def test_gradients(
    form: str, name: str, x: tuple[int, ...], w: tuple[int, ...], options: Options
) -> None:
    def call(x: Any, w: Any, bias: Any) -> Any:
        return getattr(F, name)(x, w, bias, **options)

    compare_gradients(call, random_tensor(x), random_tensor(w, seed=1), bias_for(name, w, options))


@pytest.mark.parametrize("dtype", [dt.float64, dt.float16], ids=lambda d: d.name)
def test_other_dtypes(form: str, dtype: dt.dtype) -> None:
    x, w = random_tensor((2, 2, 4, 4), dtype), random_tensor((3, 2, 3, 3), dtype)
    compare(F.conv2d, x, w, random_tensor((3,), dtype), padding=1)
    compare_gradients(lambda x, w: F.conv2d(x, w, padding=1), x, w)
    depthwise = random_tensor((2, 1, 3, 3), dtype)
    compare_gradients(lambda x, w: F.conv2d(x, w, groups=2), x, depthwise)


def test_a_sum_over_many_windows_is_cut_into_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The gradient of the weight, summed by several blocks."""
    x, w = random_tensor((2, 3, 6, 6)), random_tensor((4, 3, 3, 3))
    monkeypatch.setattr(convolution, "parts_of", lambda m, n, k, groups: 3)
    for groups, weight in ((1, w), (3, random_tensor((6, 1, 3, 3)))):
        compare_gradients(lambda x, w, groups=groups: F.conv2d(x, w, groups=groups), x, weight)
    two = random_tensor((2, 4, 5, 5)), random_tensor((4, 2, 2, 2))
    compare_gradients(lambda x, w: F.conv2d(x, w, groups=2), *two)


def test_in_how_many_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = convolution.backend.driver()
    monkeypatch.setattr(type(driver), "simulated", False)
    processors = driver.properties(0).multi_processor_count
    assert convolution.parts_of(64, 64, 1 << 20, 1) == processors
    assert convolution.parts_of(64, 64, 1 << 20, 2) == processors // 2
    assert convolution.parts_of(64, 64, 600, 1) == 2
    assert convolution.parts_of(4096, 4096, 1 << 20, 1) == 1


def test_operands_of_any_strides(form: str) -> None:
    x, w = random_tensor((2, 5, 4, 3)), random_tensor((3, 2, 2, 4))
    compare(lambda x, w: F.conv2d(x.permute(0, 3, 1, 2), w.permute(3, 0, 1, 2)), x, w)
    compare(lambda x, w: F.conv2d(x.permute(0, 3, 1, 2)[:, :, ::2], w.permute(3, 0, 1, 2)), x, w)
    x, w = random_tensor((1, 2, 3, 3)), random_tensor((4, 2, 2, 2))
    compare(lambda x, w, bias: F.conv2d(x, w, bias[::2]), x, w, random_tensor((8,)))
    compare(lambda x, w, bias: F.conv2d(x, w, bias.expand(4)), x, w, random_tensor((1,)))


def test_channels_last_stays_so() -> None:
    x = random_tensor((2, 3, 5, 4)).contiguous(memory_format=internals.channels_last)
    got = compare(F.conv2d, x, random_tensor((4, 3, 2, 2)), padding=1)
    assert got.is_contiguous(memory_format=internals.channels_last) and not got.is_contiguous()
    compare_gradients(lambda x, w: F.conv2d(x, w), x, random_tensor((4, 3, 2, 2)))


def test_empty_batches_and_unbatched_input() -> None:
    compare(F.conv2d, random_tensor((0, 3, 5, 5)), random_tensor((2, 3, 3, 3)))
    compare(F.conv2d, random_tensor((3, 5, 5)), random_tensor((2, 3, 3, 3)), padding="same")
    w = random_tensor((2, 3, 3, 3)).cuda().requires_grad_()
    with on_the_device_alone():
        F.conv2d(internals.empty(0, 3, 5, 5, device="cuda"), w).sum().backward()
    same(w.grad, internals.zeros(2, 3, 3, 3))


def test_only_what_is_asked_for_is_computed() -> None:
    x, w = random_tensor((1, 2, 4, 4)).cuda(), random_tensor((2, 2, 3, 3)).cuda().requires_grad_()
    y = F.conv2d(x, w)
    y.backward(internals.ones_like(y))
    assert x.grad is None and w.grad is not None


@pytest.mark.parametrize(
    "x, w, options",
    [
        ((1, 3, 5, 5), (2, 2, 3, 3), {}),
        ((1, 3, 2, 2), (2, 3, 3, 3), {}),
        ((1, 3, 5, 5), (2, 3, 3, 3), {"stride": 0}),
        ((1, 3, 5, 5), (2, 3, 3, 3), {"padding": -1}),
        ((1, 4, 5, 5), (3, 2, 3, 3), {"groups": 2}),
        ((5, 5), (2, 3, 3, 3), {}),
    ],
)
def test_the_same_errors_as_on_the_cpu(
    x: tuple[int, ...], w: tuple[int, ...], options: Options
) -> None:
    a, b = random_tensor(x), random_tensor(w)
    with pytest.raises(RuntimeError) as expected:
        F.conv2d(a, b, **options)
    with pytest.raises(RuntimeError) as got:
        F.conv2d(moved(a), moved(b), **options)
    assert str(got.value) == str(expected.value)


def test_a_small_network_learns_as_on_the_cpu() -> None:
    """Convolutions, a depthwise one among them, in a module moved with .cuda()."""

    def trained(where: str) -> Any:
        internals.manual_seed(0)
        net = internals.nn.Sequential(
            internals.nn.Conv2d(1, 2, 3),
            internals.nn.Conv2d(2, 2, 2, groups=2),
            internals.nn.Conv2d(2, 1, 2),
        ).to(where)
        x = random_tensor((2, 1, 6, 6)).to(where)
        for _ in range(2):
            net.zero_grad()
            net(x).mean().backward()
            with internals.no_grad():
                for p in net.parameters():
                    p.copy_(p.detach() + p.grad)
        return internals.cat([p.detach().flatten().cpu() for p in net.parameters()])

    assert internals.allclose(trained("cuda"), trained("cpu"), 1e-4, 1e-5)

"""Elementwise operators where they are used: in derivatives, in losses, in optimizers; and what
complex numbers do instead.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import internals as torch
from internals.cuda import fallback
from internals.cuda.driver import CudaError
from tests.cuda.elementwise_calls import BINARY, TERNARY, UNARY, Call
from tests.cuda.test_elementwise import numbers, same

F = torch.nn.functional
NO_DERIVATIVE = {
    "eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor", "logical_not",
    "isnan", "isinf", "isfinite", "div floor",
}  # fmt: skip


def differentiable() -> list[Any]:
    return [
        pytest.param(call, count, id=name)
        for count, table in enumerate((UNARY, BINARY, TERNARY), 1)
        for name, (dtypes, call) in table.items()
        if "float64" in dtypes and name not in NO_DERIVATIVE
    ]


@pytest.mark.parametrize("call, count", differentiable())
def test_gradients_are_those_of_the_cpu(call: Call, count: int) -> None:
    tensors = [numbers(torch.float64, (4, 3), seed, zeros=False) for seed in range(count)]
    on_cpu = gradients(call, tensors)
    with fallback.no_fallback():
        on_device = gradients(call, [t.cuda() for t in tensors])
    for a, b in zip(on_device, on_cpu):
        assert (a is None) == (b is None)
        if b is not None:
            same(a, b)


def gradients(call: Call, tensors: list[Any]) -> list[Any]:
    """The gradients of each operand, for a gradient of the result that is not the same
    everywhere.
    """
    leaves = [t.clone().requires_grad_() for t in tensors]
    result = call(*leaves)
    weights = torch.arange(1, result.numel() + 1, dtype=result.dtype, device=result.device).reshape(
        result.shape
    )
    result.backward(weights)
    return [leaf.grad for leaf in leaves]


def losses() -> dict[str, Call]:
    return {
        "mse": F.mse_loss,
        "l1": F.l1_loss,
        "smooth_l1": lambda x, y, **o: F.smooth_l1_loss(x, y, beta=0.7, **o),
        "huber": lambda x, y, **o: F.huber_loss(x, y, delta=0.7, **o),
        "bce": lambda x, y, **o: F.binary_cross_entropy(x.sigmoid(), y.sigmoid(), **o),
        "weighted bce": lambda x, y, **o: F.binary_cross_entropy(
            x.sigmoid(), y.sigmoid(), weight=y.abs(), **o
        ),
        "bce with logits": lambda x, y, **o: F.binary_cross_entropy_with_logits(
            x, y.sigmoid(), pos_weight=y.abs(), **o
        ),
        "kl_div": lambda x, y, **o: F.kl_div(
            x, y.sigmoid(), **{**o, "reduction": o["reduction"].replace("mean", "batchmean")}
        ),
        "soft margin": lambda x, y, **o: F.soft_margin_loss(x, y.sign(), **o),
    }


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("name", losses())
def test_losses(name: str, reduction: str, dtype: Any) -> None:
    x, y = numbers(dtype, (6, 2)), numbers(dtype, (6, 2), 1, zeros=False)
    results = []
    for a, b in ((x.cuda(), y.cuda()), (x, y)):
        leaf = a.clone().requires_grad_()
        with fallback.no_fallback():
            loss = losses()[name](leaf, b, reduction=reduction)
            loss.sum().backward()
        results.append((loss.detach(), leaf.grad))
    for on_device, on_cpu in zip(*results):
        same(on_device, on_cpu)


# a kernel that fails ends the context of a GPU: see test_failing_kernels.py
@pytest.mark.usefixtures("simulator")
def test_a_probability_out_of_range_is_an_assertion_on_the_device() -> None:
    x = torch.tensor([0.5, 1.5], device="cuda")
    with pytest.raises(CudaError, match="device-side assert triggered"):
        F.binary_cross_entropy(x, torch.ones(2, device="cuda"), reduction="none").cpu()


OPTIMIZERS: dict[str, Call] = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.1, weight_decay=0.01, amsgrad=True),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.1),
    "RMSprop": lambda p: torch.optim.RMSprop(p, lr=0.1, momentum=0.9, centered=True),
    "Adagrad": lambda p: torch.optim.Adagrad(p, lr=0.1, lr_decay=0.1),
}


@pytest.mark.parametrize("make", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_optimizers_stay_on_the_device(make: Call) -> None:
    results = []
    for where in ("cuda", "cpu"):
        parameter = numbers(torch.float32, (5, 3)).to(where).requires_grad_()
        target = numbers(torch.float32, (5, 3), 1).to(where)
        optimizer = make([parameter])
        with fallback.no_fallback():
            for _ in range(4):
                optimizer.zero_grad()
                (parameter - target).square().backward(torch.ones(5, 3, device=where))
                optimizer.step()
        results.append(parameter.detach())
    same(*results)


def test_complex_numbers_go_to_the_cpu_and_it_shows() -> None:
    a = torch.tensor([1 + 2j, -1j, 0.5 + 0j])
    b = torch.tensor([2 - 1j, 1 + 1j, 3 + 0j])
    before = fallback.fallbacks().get("multiply of complex64", 0)
    with torch._dispatch_trace() as steps:
        product = a.cuda() * b.cuda()
    assert fallback.fallbacks()["multiply of complex64"] == before + 1
    assert [s["rule"] for s in steps if s["op"] == "multiply of complex64"] == ["backend fallback"]
    np.testing.assert_array_equal(product.cpu().numpy(), (a * b).numpy())
    calls: list[Call] = [
        torch.abs,
        torch.exp,
        torch.isinf,
        lambda t: t + 2,
        lambda t: 1j * t,
        lambda t: t == t,
    ]
    for call in [*calls, lambda t: t.clone().mul_(t)]:
        np.testing.assert_array_equal(call(a.cuda()).cpu().numpy(), call(a).numpy())
    with (
        fallback.no_fallback(),
        pytest.raises(NotImplementedError, match="no CUDA kernel for add of complex64"),
    ):
        a.cuda() + b.cuda()


def test_a_loop_without_a_kernel_is_named() -> None:
    from internals.aten.tensor_iterator import TensorIterator

    with pytest.raises(NotImplementedError, match="the loop 'exp2' has no CUDA kernel"):
        TensorIterator([torch.ones(2, device="cuda")]).run(np.exp2)


def test_half_precision_is_computed_in_single() -> None:
    """1 + 2^-11 + 2^-11 is 1.001 in single and rounds to that; in half each sum would round back to
    1.
    """
    tiny = torch.tensor([2.0**-11], dtype=torch.float16, device="cuda")
    one = torch.ones(1, dtype=torch.float16, device="cuda")
    assert one.add(tiny, alpha=2).item() == 1 + 2.0**-10
    assert (one + tiny).item() == 1

"""The tape across devices: gradients lie where their tensors do, hooks run, and what does not fit
is refused as by PyTorch.
"""

from __future__ import annotations

from typing import Any

import pytest

import internals as torch
from internals.autograd import Function, grad
from internals.autograd.gradcheck import gradcheck, gradgradcheck
from internals.autograd.graph import save_on_cpu, saved_tensors_hooks
from internals.cuda import backend
from internals.utils.checkpoint import checkpoint


def leaf(*sizes: int, device: str = "cuda", dtype: Any = torch.float32) -> Any:
    n = 1
    for size in sizes:
        n *= size
    return (torch.arange(n, dtype=dtype) / n + 0.1).view(sizes).to(device).requires_grad_()


def test_backward_gives_gradients_on_the_device() -> None:
    x = leaf(2, 3)
    y = (x * x).sum()
    y.backward()
    assert y.is_cuda and x.grad.is_cuda and torch.allclose(x.grad, 2 * x)
    (x * 3).sum().backward()  # adds to it
    assert torch.allclose(x.grad, 2 * x + 3)
    assert x.grad.dtype is torch.float32 and y.grad_fn.name() == "SumBackward0"


def test_a_graph_with_a_move_in_the_middle(second_device: int) -> None:
    x = leaf(3, device="cpu")
    y = (x * 2).cuda() * 3
    z = (y.to(f"cuda:{second_device}") + 1).cpu()
    z.sum().backward()
    assert x.grad.device.type == "cpu" and x.grad.tolist() == [6.0, 6.0, 6.0]
    assert (x * 2).cuda().grad_fn.name() == "ToCopyBackward0"


def test_non_leaf_gradients_and_hooks() -> None:
    x = leaf(3)
    seen: list[Any] = []
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: seen.append(g.device) or g * 10)
    x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.is_cuda))
    y.sum().backward()
    assert seen == [torch.device("cuda", 0), True]
    assert x.grad.tolist() == [20.0] * 3 and y.grad.tolist() == [10.0] * 3


def test_grad_takes_gradients_of_the_right_device() -> None:
    x = leaf(3)
    (g,) = grad((x * x).sum(), x)
    assert g.is_cuda
    with pytest.raises(
        RuntimeError, match="invalid gradient at index 0 - expected device cuda:0 but got cpu"
    ):
        (x * 2).backward(torch.ones(3))
    with pytest.raises(
        RuntimeError,
        match="attempting to assign a gradient with device type 'cpu' to a tensor with device ty",
    ):
        x.grad = torch.ones(3)


def test_gradcheck_on_the_device() -> None:
    x, w = leaf(2, 3, dtype=torch.float64), leaf(3, 2, dtype=torch.float64)
    assert gradcheck(lambda a, b: (a @ b).tanh().sum(0), (x, w))
    assert gradgradcheck(lambda a: (a.exp() * a).sum(), (x,))


def test_functions_of_ones_own() -> None:
    class Double(Function):
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            ctx.save_for_backward(a)
            return a * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (a,) = ctx.saved_tensors
            assert a.is_cuda and g.is_cuda
            return g * 2

    x = leaf(2)
    Double.apply(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_save_on_cpu() -> None:
    x = leaf(4)
    packed: list[Any] = []
    with save_on_cpu(pin_memory=True):
        y = (x.exp() * x).sum()
    with saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
        z = x * x
    y.backward()
    expected = leaf(4, device="cpu")
    (expected.exp() * expected).sum().backward()
    assert (
        x.grad.is_cuda
        and torch.allclose(x.grad.cpu(), expected.grad)
        and len(packed) == 2
        and z.is_cuda
    )


def test_saved_tensors_may_live_in_pinned_memory_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    hooks = save_on_cpu(pin_memory=True)
    device, kept = hooks.pack_hook(torch.ones(2, device="cuda"))
    assert (
        kept.is_pinned()
        and device == torch.device("cuda", 0)
        and hooks.unpack_hook((device, kept)).is_cuda
    )
    device, kept = save_on_cpu().pack_hook(torch.ones(2, device="cuda"))
    assert not kept.is_pinned() and kept.device.type == "cpu"


def test_checkpoint_draws_the_same_numbers_again(second_device: int) -> None:
    a, b = leaf(4, 5), leaf(4, 5, device=f"cuda:{second_device}")

    def block(a: Any, b: Any) -> Any:
        return (torch.dropout(a, 0.5, True) * a).sum() + (torch.dropout(b, 0.5, True) * b).sum().to(
            a.device
        )

    torch.manual_seed(0)
    expected = grad(block(a, b), [a, b])
    after = torch.cuda.get_rng_state()
    torch.manual_seed(0)
    loss = checkpoint(block, a, b, use_reentrant=False)
    torch.rand(3, device="cuda")  # what is drawn in between is left alone
    between = torch.cuda.get_rng_state()
    found = grad(loss, [a, b])
    assert all(torch.equal(x, y) for x, y in zip(found, expected))
    assert torch.equal(torch.cuda.get_rng_state(), between) and not torch.equal(between, after)


@pytest.mark.parametrize("make", [lambda x: x, lambda x: x * 2])
def test_backward_from_a_gradient_that_lies_elsewhere(make: Any) -> None:
    x = leaf(3)
    with pytest.raises(RuntimeError) as error:
        make(x).backward(torch.ones(3))
    assert str(error.value) == "invalid gradient at index 0 - expected device cuda:0 but got cpu"
    assert x.grad is None


def test_checkpoint() -> None:
    x = leaf(3)
    checkpoint(lambda a: (a * a).sin(), x, use_reentrant=False).sum().backward()
    assert torch.allclose(x.grad, 2 * x * (x * x).cos())


def test_versions_are_counted_on_the_device() -> None:
    x = leaf(3)
    y = x * 2
    z = y * y
    y.add_(1)
    with pytest.raises(
        RuntimeError,
        match=r"modified by an inplace operation: \[internals.cuda.FloatTensor \[3\]\]",
    ):
        z.sum().backward()


def test_views_are_written_through() -> None:
    x = leaf(4)
    y = x * 1
    y[1:3].mul_(5)
    y[0] = 0.0
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 5.0, 5.0, 1.0]


def test_backward_works_on_the_stream_of_forward() -> None:
    side = torch.cuda.Stream()
    x = leaf(8)
    with torch.cuda.stream(side):
        y = (x * x).sum()
    y.backward()
    torch.cuda.synchronize()
    assert torch.allclose(x.grad.cpu(), 2 * x.detach().cpu())
    assert backend.current_stream() == 0

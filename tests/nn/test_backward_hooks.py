"""Backward hooks of modules: when they are called, with what, and what they may change. The same
code runs in PyTorch.
"""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from tests.nn.support import error_of, make_leaf, make_net


def make_product(T: Any) -> Any:
    """A module of two inputs and two outputs: (a * b * scale, a), with room for something that is
    no tensor.
    """

    class Product(T.nn.Module):
        def forward(self, a: Any, note: str, b: Any, scale: float = 1.0) -> Any:
            return a * b * scale, note, a + 0

    return Product()


def test_full_backward_hook_sees_both_ends(T: Any) -> None:
    m = make_product(T)
    seen: list[Any] = []
    m.register_full_backward_hook(lambda module, gi, go: seen.append((module, gi, go)))
    a, b = T.tensor([2.0, 3.0], requires_grad=True), T.tensor([5.0, 7.0], requires_grad=True)
    out, note, _ = m(a, "note", b, scale=2.0)
    assert note == "note" and not seen
    (out * T.tensor([1.0, 10.0])).sum().backward()
    ((module, grad_input, grad_output),) = seen
    assert module is m and [g if g is None else g.tolist() for g in grad_input] == [
        [10, 140],
        None,
        [4, 60],
    ]
    assert grad_output[0].tolist() == [1, 10] and grad_output[1] is None and len(grad_output) == 3
    assert a.grad.tolist() == [10, 140] and b.grad.tolist() == [4, 60]


def test_an_input_that_requires_no_gradient(T: Any) -> None:
    m = make_product(T)
    seen: list[Any] = []
    m.register_full_backward_hook(lambda module, gi, go: seen.extend(gi))
    a, b = T.ones(2, requires_grad=True), T.ones(2)
    m(a, "", b)[0].sum().backward()
    assert (
        seen[0].tolist() == [1, 1]
        and seen[1] is None
        and seen[2].tolist() == [0, 0]
        and b.grad is None
    )


def test_hooks_change_gradients(T: Any) -> None:
    leaf, x = make_leaf(T)(), T.ones(1, 3, requires_grad=True)
    with leaf.register_full_backward_hook(lambda m, gi, go: (gi[0] * 100,)):
        leaf(x).sum().backward()
    assert x.grad.tolist() == [[300, 500, 700]] and leaf.bias.grad.tolist() == [1, 1]
    x.grad = leaf.bias.grad = None
    with leaf.register_full_backward_pre_hook(lambda m, go: (go[0] * 10,)):
        leaf(x).sum().backward()
    assert x.grad.tolist() == [[30, 50, 70]] and leaf.bias.grad.tolist() == [10, 10]


def test_hooks_see_what_those_before_them_did(T: Any) -> None:
    leaf, x = make_leaf(T)(1), T.ones(3, requires_grad=True)
    seen: list[Any] = []

    def pre(factor: float) -> Any:
        def hook(module: Any, grad_output: Any) -> Any:
            seen.append(("pre", factor, grad_output[0].item()))
            return (grad_output[0] * factor,)

        return hook

    def post(factor: float) -> Any:
        def hook(module: Any, grad_input: Any, grad_output: Any) -> Any:
            seen.append(("post", factor, grad_input[0][1].item(), grad_output[0].item()))
            return (grad_input[0] * factor,)

        return hook

    leaf.register_full_backward_hook(post(2.0))
    leaf.register_full_backward_hook(post(3.0))
    leaf.register_full_backward_hook(post(5.0), prepend=True)
    leaf.register_full_backward_pre_hook(pre(7.0))
    leaf.register_full_backward_pre_hook(pre(11.0), prepend=True)
    leaf(x).sum().backward()
    assert seen == [
        ("pre", 11, 1),
        ("pre", 7, 11),
        ("post", 5, 77, 77),
        ("post", 2, 385, 77),
        ("post", 3, 770, 77),
    ]
    assert x.grad.tolist() == [0, 2310, 4620]


def test_hooks_for_all_modules(T: Any) -> None:
    net = make_net(T)
    seen: list[Any] = []
    register = T.nn.modules.module
    handles = [
        register.register_module_full_backward_hook(
            lambda m, gi, go: seen.append((type(m).__name__, "all"))
        ),
        register.register_module_full_backward_pre_hook(
            lambda m, go: seen.append((type(m).__name__, "all pre"))
        ),
    ]
    net.register_full_backward_hook(lambda m, gi, go: seen.append(("Net", "own")))
    try:
        net(T.ones(3, requires_grad=True)).sum().backward()
    finally:
        for handle in handles:
            handle.remove()
    assert seen == [
        ("Net", "all pre"),
        ("Leaf", "all pre"),
        ("Leaf", "all"),
        ("Net", "all"),
        ("Net", "own"),
    ]
    net(T.ones(3, requires_grad=True)).sum().backward()
    assert seen[5:] == [("Net", "own")]


def test_without_inputs_that_require_gradients(T: Any) -> None:
    leaf = make_leaf(T)(1)
    seen: list[Any] = []
    leaf.register_full_backward_hook(lambda m, gi, go: seen.append((gi, go[0].item())))
    loss = leaf(T.ones(3)).sum()
    with pytest.warns(
        UserWarning,
        match=(
            "Full backward hook is firing when gradients are computed with respect to module outp"
        ),
    ):
        loss.backward()
    assert seen == [((None,), 1)] and leaf.bias.grad.tolist() == [1]
    leaf.register_full_backward_hook(lambda m, gi, go: (T.ones(3),))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert error_of(lambda: leaf(T.ones(3)).sum().backward()) == (
            "RuntimeError: Backward hook for Modules where no input requires gradient should "
            "always return None or None for all gradients."
        )


def test_no_gradient_no_call(T: Any) -> None:
    leaf = make_leaf(T)()
    seen: list[Any] = []
    leaf.register_full_backward_hook(lambda m, gi, go: seen.append(1))
    leaf.register_full_backward_pre_hook(lambda m, go: seen.append(2))
    with T.no_grad():
        assert leaf(T.ones(3, requires_grad=True)).tolist() == [3, 12]
    leaf.requires_grad_(False)
    assert not leaf(T.ones(3)).requires_grad and seen == []


def test_wrong_numbers_of_gradients(T: Any) -> None:
    leaf, x = make_leaf(T)(), T.ones(3, requires_grad=True)
    with leaf.register_full_backward_hook(lambda m, gi, go: (gi[0], gi[0])):
        assert error_of(lambda: leaf(x).sum().backward()) == (
            "RuntimeError: Backward hook returned an invalid number of grad_input, got 2, but "
            "expected 1"
        )
    with leaf.register_full_backward_pre_hook(lambda m, go: ()):
        assert error_of(lambda: leaf(x).sum().backward()) == (
            "RuntimeError: Backward pre hook returned an invalid number of grad_output, got 0, but "
            "expected 1"
        )


def test_outputs_that_are_no_tensors(T: Any) -> None:
    class Odd(T.nn.Module):
        def forward(self, x: Any) -> Any:
            return [x * 2]

    m = Odd()
    seen: list[Any] = []
    m.register_full_backward_hook(lambda m, gi, go: seen.append(1))
    with pytest.warns(
        UserWarning,
        match="module output should be a Tensor or a tuple of Tensors but received <class 'list'>",
    ):
        (out,) = m(T.ones(2, requires_grad=True))
    out.sum().backward()
    assert seen == []


def test_the_module_sees_its_inputs_through_an_identity(T: Any) -> None:
    class Writes(T.nn.Module):
        def forward(self, x: Any) -> Any:
            return x.mul_(2)

    m = Writes()
    m.register_full_backward_hook(lambda m, gi, go: None)
    assert error_of(lambda: m(T.ones(2, requires_grad=True) * 1)).startswith(
        "RuntimeError: Output 0 of BackwardHookFunction is a view and is being modified inplace."
    )
    leaf = make_leaf(T)()
    leaf.register_full_backward_hook(lambda m, gi, go: None)
    x = T.ones(3, requires_grad=True)
    out = leaf(x)
    assert out.grad_fn.name() == "BackwardHookFunctionBackward"


def test_double_backward_passes_by(T: Any) -> None:
    class Square(T.nn.Module):
        def forward(self, x: Any) -> Any:
            return x**2

    m = Square()
    seen: list[Any] = []
    m.register_full_backward_hook(lambda m, gi, go: seen.append(gi[0].item()))
    x = T.tensor(3.0, requires_grad=True)
    (g,) = T.autograd.grad(m(x), x, create_graph=True)
    (gg,) = T.autograd.grad(g, x)
    assert g.item() == 6 and gg.item() == 2 and seen == [6]


def test_the_older_kind_of_hook_sees_the_last_operation(T: Any) -> None:
    class Chain(T.nn.Module):
        def forward(self, x: Any) -> Any:
            return x.exp().neg()

    m = Chain()
    seen: list[Any] = []
    handle = m.register_backward_hook(
        lambda m, gi, go: seen.append([g if g is None else g.item() for g in (*gi, *go)])
    )
    mixed = (
        "RuntimeError: Cannot use both regular backward hooks and full backward hooks on a single "
        "Module. Please use only one"
    )
    assert error_of(lambda: m.register_full_backward_hook(print)).startswith(mixed)
    x = T.tensor(0.0, requires_grad=True)
    with pytest.warns(
        FutureWarning,
        match="a non-full backward hook when the forward contains multiple autograd Nodes",
    ):
        m(x).backward()
    assert seen == [[-1, 1]] and x.grad.item() == -1
    handle.remove()
    other = Chain()
    other.register_full_backward_hook(lambda m, gi, go: None)
    assert error_of(lambda: other.register_backward_hook(print)).startswith(mixed)

"""What `build_node.py` asks of a gradient, of a node, and of a model that trains with it."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import internals as torch
from exercises.exercise import Wrong
from internals import nn
from internals.autograd.history import set_history
from internals.autograd.node import Node


def numbers(shape: tuple[int, ...], start: float) -> Any:
    count = torch.empty(shape).numel()
    return (
        (torch.arange(float(count), dtype=torch.float64) * 1.5 + start)
        .reshape(shape)
        .requires_grad_()
    )


def same(name: str, got: Any, wanted: Any, grad: Any, y: Any) -> None:
    shape, whole, other = tuple(wanted.shape), tuple(y.shape), "ab"[name == "a"]
    case = f"{name} of shape {shape} in a product of {whole}"
    if got.shape != wanted.shape:
        if got.dim() > wanted.dim():
            raise Wrong(
                f"{case}: your gradient has the shape of the product; a tensor's gradient has the "
                "shape of the tensor"
            )
        if got.dim() < wanted.dim():
            raise Wrong(
                f"{case}: your gradient has the shape {tuple(got.shape)}; too much of it was summed"
            )
        raise Wrong(
            f"{case}: your gradient has the shape {tuple(got.shape)}; a dimension of size 1 was "
            "stretched, too"
        )
    if torch.allclose(got, wanted):
        return
    if torch.allclose(got * y.numel(), wanted * wanted.numel()) and y.numel() > wanted.numel():
        raise Wrong(f"{case}: a mean; but every use moves the result, so their gradients add up")
    if shape != whole:
        raise Wrong(
            f"{case}: only some of the gradients are in it; all uses of a number count, and are "
            "summed"
        )
    if torch.allclose(got * grad, wanted):
        raise Wrong(f"{case}: what arrives from above is missing; by the chain rule it is a factor")
    raise Wrong(
        f"{case}: the derivative of a * b for {name} is the other factor, {other}, times grad"
    )


def is_node(ProductBackward: Any) -> None:
    if not isinstance(ProductBackward, type) or not issubclass(ProductBackward, Node):
        raise Wrong(
            "ProductBackward has to be a class, a subclass of Node: the engine asks it for all "
            "that a Node has"
        )


def multiply(ProductBackward: Any, a: Any, b: Any) -> Any:
    """What the kernel of the Autograd key does, with the reader's node."""
    node = ProductBackward(a, b)
    with torch.no_grad():
        result = a * b
    return set_history(result, node)


def keeps_little(ProductBackward: Any) -> None:
    a, b = torch.ones(64, requires_grad=True), torch.ones(64) * 2
    middle = a * 3  # needed by nobody else
    gone = weakref.ref(middle)
    before = torch.cpu.memory_stats()["allocated_bytes.all.current"]
    node = ProductBackward(middle, b)
    if torch.cpu.memory_stats()["allocated_bytes.all.current"] > before:
        raise Wrong(
            "the node has memory of its own: it made a copy. To keep a tensor is to refer to it; "
            "its version is the check"
        )
    del middle
    if gone() is not None:
        raise Wrong(
            "the second factor wants no gradient, so the first one is kept in vain: only b's "
            "gradient would need a"
        )
    results = node.apply([torch.ones(64)])
    if not isinstance(results, (tuple, list)) or len(results) != 2 or results[1] is not None:
        raise Wrong("apply has to return two gradients, None for the factor that wants none")


def lets_go(ProductBackward: Any) -> None:
    a, b = torch.ones(64, requires_grad=True), torch.ones(64) * 2
    gone = weakref.ref(b)
    y = multiply(ProductBackward, a, b)
    del b
    y.sum().backward()
    gc.collect(0)
    if gone() is not None:
        raise Wrong(
            "after backward the factor is still in memory: saves has to be True, and "
            "release_variables to let go"
        )
    try:
        y.sum().backward()
    except Exception as error:
        if not isinstance(error, RuntimeError):
            raise Wrong(
                "a second backward has to be refused by unpack; it stopped with "
                f"{type(error).__name__}: {error}"
            ) from None
    else:
        raise Wrong(
            "a second backward was not refused, although everything was let go of: unpack would "
            "have done it"
        )


def checks_versions(ProductBackward: Any) -> None:
    a, b = torch.ones(3, requires_grad=True), torch.ones(3) * 2
    y = multiply(ProductBackward, a, b)
    b.add_(1)
    try:
        y.sum().backward()
    except RuntimeError:
        return
    raise Wrong(
        "b was overwritten before backward, and nobody noticed: keep it together with its version, "
        "and compare"
    )


def train() -> tuple[float, list[Any], list[str]]:
    """Three steps of a small gated model: the last loss, the weights, the names of the nodes behind
    the loss.
    """
    with torch.random.fork_rng():
        torch.manual_seed(0)
        inner, gate = nn.Linear(3, 4).double(), nn.Linear(3, 4).double()
        x = torch.randn(5, 3, dtype=torch.float64)
    scale = torch.ones(4, dtype=torch.float64, requires_grad=True)
    parameters = [*inner.parameters(), *gate.parameters(), scale]
    optimizer = torch.optim.SGD(parameters, lr=0.1)
    names: list[str] = []
    for _ in range(3):
        loss = ((inner(x).tanh() * gate(x).sigmoid() * scale).sum(1) - 1).pow(2).mean()
        waiting = [loss.grad_fn]
        while waiting:
            node = waiting.pop()
            names.append(node.name())
            waiting += [following for following, _ in node.next_functions if following is not None]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item(), [p.detach().clone() for p in parameters], names

"""Build your own autograd node, in three steps: the derivative of a product, the node that keeps
what it needs, and the kernel that makes it, in place of the real one while a model trains."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import internals as torch
from exercises.exercise import Mistake, Wrong, exercise
from exercises.topics._node import (
    checks_versions,
    is_node,
    keeps_little,
    lets_go,
    multiply,
    numbers,
    same,
    train,
)
from internals.library import Library

STEP_1 = """
def fitted(grad, shape):
    while grad.dim() > len(shape):
        grad = grad.sum(0)
    for dim, size in enumerate(shape):
        if size == 1:
            grad = grad.sum(dim, keepdim=True)
    return grad

def product_backward(grad, a, b):
    return fitted(grad * b, a.shape), fitted(grad * a, b.shape)
"""


@exercise(
    level=2,
    title="Step 1: the derivative of a product",
    ask="""
        `y = a * b`, and `grad` is the gradient that arrives at `y`. Write
        `product_backward(grad, a, b)`: the two gradients, for `a` and for `b`. They have the shapes
        of `a` and `b`, which may have been broadcast: (3, 1) with (4,), or () with (2, 3). No
        autograd in it, only operators.""",
    start="""
        def product_backward(grad, a, b):
            ...""",
    passes=("product_backward",),
    hints=(
        "A number that was used four times, because of broadcasting, gets the sum of four "
        "gradients.",
        "Broadcasting does two things: it puts dimensions in front, and it stretches those of size "
        "1. Undo both, with `sum`.",
    ),
    solution=STEP_1,
    why=(
        "PyTorch's formulas do without `fitted`: the engine does it for all of them, when it hands "
        "a gradient on."
    ),
    mistakes=[
        Mistake(
            "The derivative of a product is the product of the derivatives.",
            STEP_1.replace("grad * b, a.shape", "grad * a, a.shape").replace(
                "grad * a, b.shape", "grad * b, b.shape"
            ),
            "the other factor",
        ),
        Mistake(
            "Where the shapes differ something will be broadcast again.",
            """
            def product_backward(grad, a, b):
                return grad * b, grad * a""",
            "shape of the product",
        ),
        Mistake(
            "Broadcasting only adds dimensions in front.",
            """
            def fitted(grad, shape):
                while grad.dim() > len(shape):
                    grad = grad.sum(0)
                return grad

            def product_backward(grad, a, b):
                return fitted(grad * b, a.shape), fitted(grad * a, b.shape)""",
            "size 1",
        ),
        Mistake(
            "The gradient is averaged over the uses.",
            STEP_1.replace("sum(", "mean("),
            "add up",
        ),
        Mistake(
            "One number that is used everywhere could take any of the gradients.",
            """
            def product_backward(grad, a, b):
                to_a = (grad * b).flatten()[: a.numel()].reshape(a.shape)
                to_b = (grad * a).flatten()[: b.numel()].reshape(b.shape)
                return to_a, to_b""",
            "some of the gradients",
        ),
        Mistake(
            "The gradient that arrives is all ones.",
            STEP_1.replace("grad * b", "torch.ones_like(grad) * b").replace(
                "grad * a", "torch.ones_like(grad) * a"
            ),
            "chain rule",
        ),
    ],
)
def build_node_1(product_backward: Callable[[Any, Any, Any], Any]) -> str:
    shapes = [
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3, 1), (4,)),
        ((), (2, 3)),
        ((1, 3), (2, 1)),
        ((2, 1, 2), (3, 1)),
        ((0, 3), (3,)),
    ]
    for first, second in shapes:
        a, b = numbers(first, 1.0), numbers(second, -2.5)
        y = a * b
        grad = numbers(tuple(y.shape), 0.75).detach()
        truth = torch.autograd.grad(y, (a, b), grad)
        with torch.no_grad():
            result = product_backward(grad, a.detach(), b.detach())
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise Wrong(f"product_backward has to return two gradients, not {result!r}")
        for name, got, wanted in zip("ab", result, truth):
            if not isinstance(got, torch.Tensor):
                raise Wrong(f"the gradient for {name} has to be a tensor, not {got!r}")
            same(name, got, wanted, grad, y)
    return "the other factor, times what arrives, summed over every use"


GIVEN_2 = """
from internals.autograd.history import gradient_edge
from internals.autograd.node import Node
from internals.autograd.saved_variable import release, save
"""
STEP_2 = """
class ProductBackward(Node):
    def __init__(self, a, b):
        self.next_edges = gradient_edge(a), gradient_edge(b)
        self.a = save(a) if b.requires_grad else None
        self.b = save(b) if a.requires_grad else None
        self.saves = True

    def apply(self, grads):
        for_a = grads[0] * self.b.unpack(self) if self.b else None
        for_b = grads[0] * self.a.unpack(self) if self.a else None
        return for_a, for_b

    def release_variables(self):
        release(self.a, self.b)
"""


@exercise(
    level=3,
    title="Step 2: a node",
    ask="""
        `ProductBackward(a, b)` is made when `a * b` runs. It sets `next_edges`, one edge for each
        factor, and keeps what its formula will need, nothing else. `apply(grads)` gets a list with
        the one gradient that arrives, and returns two, with None for a factor that wants none.
        `release_variables()` lets go of what is kept (the engine calls it after `apply`, if `saves`
        is True). A factor that was overwritten since must be refused. The engine sums what was
        broadcast.""",
    given=GIVEN_2,
    start="""
        class ProductBackward(Node):
            def __init__(self, a, b):
                ...

            def apply(self, grads):
                ...

            def release_variables(self):
                ...""",
    passes=("ProductBackward",),
    hints=(
        "`gradient_edge(t)` is where a gradient of t goes. `save(t)` keeps t with its version, "
        "`saved.unpack(node)` checks it. Section 2 says what happens when.",
        "The gradient for a needs b: keep b only if a wants one. Set `self.saves = True`, and "
        "`release(...)` what you kept.",
    ),
    solution=STEP_2,
    why=(
        "Compare with `MulBackward0` in `internals/_generated/autograd_nodes.py`, which a program "
        "wrote."
    ),
    mistakes=[
        Mistake(
            "A tensor's gradient goes to its grad_fn.",
            STEP_2.replace("gradient_edge(a), gradient_edge(b)", "(a.grad_fn, 0), (b.grad_fn, 0)"),
            "has no grad_fn",
        ),
        Mistake(
            "To keep a tensor is to keep a reference.",
            """
            class ProductBackward(Node):
                def __init__(self, a, b):
                    self.next_edges = gradient_edge(a), gradient_edge(b)
                    self.a, self.b = a if b.requires_grad else None, b if a.requires_grad else None
                    self.saves = True

                def apply(self, grads):
                    for_a = grads[0] * self.b if self.b is not None else None
                    for_b = grads[0] * self.a if self.a is not None else None
                    return for_a, for_b

                def release_variables(self):
                    self.a = self.b = None""",
            "nobody noticed",
        ),
        Mistake(
            "Keep everything: it might be needed.",
            """
            class ProductBackward(Node):
                def __init__(self, a, b):
                    self.next_edges = gradient_edge(a), gradient_edge(b)
                    self.a, self.b, self.saves = save(a), save(b), True

                def apply(self, grads):
                    return grads[0] * self.b.unpack(self), grads[0] * self.a.unpack(self)

                def release_variables(self):
                    release(self.a, self.b)""",
            "is kept in vain",
        ),
        Mistake(
            "Python will free what is kept.",
            STEP_2.replace("release(self.a, self.b)", "return self.name()"),
            "still in memory",
        ),
        Mistake(
            "A copy is the safest way to keep a tensor.",
            STEP_2.replace("save(a)", "save(a.clone())").replace("save(b)", "save(b.clone())"),
            "a copy",
        ),
    ],
)
def build_node_2(ProductBackward: Any) -> str:
    is_node(ProductBackward)
    a, b, c = numbers((2, 3), 1.0), numbers((3,), 4.0), numbers((3,), -1.0).detach()
    node = ProductBackward(a, b)
    edges = list(node.next_edges)
    leaf = torch.autograd.graph.get_gradient_edge(a)
    if len(edges) != 2:
        raise Wrong(f"next_edges has one edge for each factor, two in all; yours has {len(edges)}")
    if edges[0] == (None, 0):
        raise Wrong(
            "a leaf has no grad_fn, but it wants a gradient: its edge leads to an AccumulateGrad"
        )
    if tuple(edges[0]) != tuple(leaf):
        raise Wrong(
            f"the first edge has to be that of a, {tuple(leaf)}, not {edges[0]!r}: a pair (node, "
            "which of its outputs)"
        )
    ending = ProductBackward(a, c)
    if tuple(ending.next_edges[1]) != (None, 0):
        raise Wrong("a factor that wants no gradient has the edge (None, 0)")
    y = multiply(ProductBackward, a, b)
    truth = torch.autograd.grad((a * b).sum(), (a, b))
    y.sum().backward(retain_graph=True)
    for name, leaf, wanted in (("a", a, truth[0]), ("b", b, truth[1])):
        if leaf.grad is None or not torch.allclose(leaf.grad, wanted):
            raise Wrong(
                f"y.sum().backward() left {leaf.grad!r} in {name}.grad, not {wanted.tolist()}"
            )
    keeps_little(ProductBackward)
    checks_versions(ProductBackward)
    lets_go(ProductBackward)
    return "edges, what the formula mentions, and a promise to let go of it: that is a node"


STEP_3 = """
def product(op, keys, a, b):
    records = torch.is_grad_enabled() and (a.requires_grad or b.requires_grad)
    node = ProductBackward(a, b) if records else None
    result = dispatcher.redispatch(op, keys, a, b)
    return result if node is None else set_history(result, node)
"""


@exercise(
    level=3,
    title="Step 3: your node in a real model",
    ask="""
        Write `product(op, keys, a, b)`, a kernel for the Autograd key of `aten::mul.Tensor`: it
        makes a `ProductBackward` (below is one; take your own if you like), runs the same operator
        on the keys below, and ties the result to the node. If recording is off, or neither argument
        wants a gradient, it only runs the operator. It will take the real kernel's place while a
        small model is trained.""",
    given="from internals.autograd.history import set_history\n"
    "from internals.core.dispatcher import dispatcher\n" + GIVEN_2.lstrip() + STEP_2,
    start="""
        def product(op, keys, a, b):
            ...""",
    passes=("product",),
    hints=(
        "It is the five steps of section 2. `dispatcher.redispatch(op, keys, ...)` goes on below.",
        "The edges must be known before the operator runs. `set_history(result, node)` returns the "
        "result. `torch.is_grad_enabled()` tells whether recording is on.",
    ),
    solution=STEP_3,
    why=(
        "In C++: `VariableType::mul_Tensor`, one of the hundreds of kernels generated from "
        "`derivatives.yaml`."
    ),
    mistakes=[
        Mistake(
            "To compute the product, one multiplies.",
            STEP_3.replace("dispatcher.redispatch(op, keys, a, b)", "a * b"),
            "enters at the top again",
        ),
        Mistake(
            "A node that exists is in the graph.",
            STEP_3.replace("result if node is None else set_history(result, node)", "result"),
            "tied to no node",
        ),
        Mistake(
            "no_grad is somebody else's business.",
            """
            def product(op, keys, a, b):
                node = ProductBackward(a, b)
                return set_history(dispatcher.redispatch(op, keys, a, b), node)""",
            "no_grad",
        ),
        Mistake(
            "The node must not drag the history of its factors along.",
            STEP_3.replace("ProductBackward(a, b)", "ProductBackward(a.detach(), b.detach())"),
            "lead nowhere",
        ),
    ],
)
def build_node_3(product: Callable[..., Any]) -> str:
    loss_before, before, _ = train()
    calls, depth = 0, 0

    def kernel(op: Any, keys: int, a: Any, b: Any) -> Any:
        nonlocal calls, depth
        if depth > 5:
            raise Wrong(
                "the kernel calls itself: a * b enters at the top again, where it is you who is "
                "asked; go on below"
            )
        calls, depth = calls + 1, depth + 1
        try:
            return product(op, keys, a, b)
        finally:
            depth -= 1

    with warnings.catch_warnings(), Library("aten", "IMPL") as library:
        warnings.simplefilter("ignore")  # that a kernel is replaced, which is what we want
        library.impl("mul.Tensor", kernel, "Autograd", with_keyset=True)
        x = torch.ones(2, requires_grad=True)
        y = x * torch.tensor([3.0, 3.0])
        if not isinstance(y, torch.Tensor) or y.tolist() != [3.0, 3.0]:
            raise Wrong(
                f"1 times 3 gave {y!r}: the kernel has to return what the operator below computed"
            )
        if y.grad_fn is None:
            raise Wrong(
                "the result is tied to no node: its requires_grad is False, and no gradient will "
                "ever come back"
            )
        if y.grad_fn.name().endswith("MulBackward0"):
            raise Wrong("the result's node is MulBackward0, the real one, and not yours")
        y.sum().backward()
        if x.grad is None:
            raise Wrong(
                "no gradient arrived at x: the edges of your node lead nowhere. Did it get a and b "
                "themselves?"
            )
        with torch.no_grad():
            if getattr(x * y, "requires_grad", True):
                raise Wrong(
                    "under no_grad you recorded the product all the same, or returned none: ask "
                    "whether recording is on"
                )
        loss_after, after, names = train()
    if "MulBackward0" in names:
        raise Wrong(
            "in the model's graph there is still a MulBackward0, the real node, where yours should "
            "be"
        )
    if abs(loss_after - loss_before) > 1e-9 or not all(
        torch.allclose(b, a) for b, a in zip(before, after)
    ):
        raise Wrong(
            "with your kernel the model learns something else: other gradients than those of the "
            "real node"
        )
    return f"{calls} products went through your kernel, and the model learned the same"

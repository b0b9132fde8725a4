"""The engine, beside what recorded sessions (`tests/user_code/autograd.txt`) show: order, memory,
depth, threads, steps.
"""

from __future__ import annotations

import gc
import threading
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import internals
from internals.autograd.engine import GraphTask, count_dependencies
from internals.autograd.history import gradient_edge
from internals.core.hot import hot


def test_create_graph_keeps_the_graph_of_the_gradient(T: Any) -> None:
    x = T.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (x * x).sum().backward(create_graph=True)
        g = x.grad
        assert g.requires_grad
        (x * x * x).sum().backward(create_graph=True)
    assert x.grad is not g  # a new tensor: the old one is part of a graph
    assert x.grad.detach().tolist() == [5.0, 16.0, 33.0]
    total = x.grad.sum()
    x.grad = None
    total.backward()
    assert x.grad.tolist() == [8.0, 14.0, 20.0]


def test_the_hooks_of_a_leaf_outlive_its_accumulator(T: Any) -> None:
    x = T.ones(2, requires_grad=True)
    x.register_hook(lambda g: g * 10)
    for n in (1, 2, 3):
        (x * 2).sum().backward()  # with the graph goes the node that adds to x.grad
        gc.collect()
        assert x.grad.tolist() == [20.0 * n] * 2


def test_backward_with_create_graph_warns_of_the_cycle() -> None:
    x = internals.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="will create a reference cycle"):
        (x * x).sum().backward(create_graph=True)


@pytest.mark.sampled(1 / 4)
def test_a_graph_of_100_000_nodes(T: Any) -> None:
    x = T.ones(1, requires_grad=True)
    y = x
    for _ in range(100_000):
        y = y + x
    y.backward()
    assert x.grad.item() == 100_001
    del y  # and it is taken apart without overflowing the stack


def test_the_latest_node_runs_first_and_each_only_when_all_gradients_are_there() -> None:
    x = internals.ones(2, requires_grad=True)
    a = x * 2
    b = a * 3
    c = a + b
    task = GraphTask([gradient_edge(c)], [internals.ones(2)], keep_graph=False)
    assert task.dependencies[a.grad_fn] == 2
    order = []
    with internals.no_grad():
        while (node := task.step()) is not None:
            order.append(node)
    assert order[:3] == [c.grad_fn, b.grad_fn, a.grad_fn] and order[3].variable is x
    assert not task.ready and not task.buffers and task.done == 4
    assert x.grad.tolist() == [8.0, 8.0]


def test_dependencies_count_edges_not_nodes() -> None:
    x = internals.ones(2, requires_grad=True)
    y = x * 2
    z = y * y
    counts = count_dependencies([z.grad_fn])
    assert counts[z.grad_fn] == 0 and counts[y.grad_fn] == 2


def test_a_gradient_nobody_else_holds_becomes_grad_without_a_copy() -> None:
    x = internals.ones(100, requires_grad=True)
    made: list[int] = []
    y = x * 2
    y.register_hook(lambda g: made.append(g.data_ptr()))
    z = y * 3
    z.backward(internals.ones(100))
    assert x.grad.data_ptr() != made[0]
    w = internals.ones(100, requires_grad=True)
    given = internals.ones(100)
    (w + 0).backward(given)
    assert w.grad.data_ptr() != given.data_ptr()  # the caller's own tensor is copied
    a, b = internals.ones(3, requires_grad=True), internals.ones(3, requires_grad=True)
    (a + b).backward(internals.ones(3))
    a.grad.add_(1)
    assert b.grad.tolist() == [1.0, 1.0, 1.0]  # both got the same gradient, but not the same memory


# Two leaves whose gradients begin as one tensor, or as views of one; and what happens between there
# and the end.
JOINED: dict[str, Callable[[Any, Any], Any]] = {
    "x + y": lambda x, y: x + y,
    "x + x + y": lambda x, y: x + x + y,
    "x - -y": lambda x, y: x - -y,
    "x + y.t()": lambda x, y: x + y.t(),
    "x.t() + y.t()": lambda x, y: x.t() + y.t(),
    "x.view(4) + y.view(4)": lambda x, y: x.view(4) + y.view(4),
    "x.reshape(1, 2, 2) + y[None]": lambda x, y: x.reshape(1, 2, 2) + y[None],
    "cat": lambda x, y: internals.cat([x, y]),
    "stack": lambda x, y: internals.stack([x, y], 1),
    "where": lambda x, y: internals.where(internals.tensor([[True, False], [False, True]]), x, y),
    "clones": lambda x, y: x.clone() + y.clone(),
    "expand": lambda x, y: x.expand(3, 2, 2) + y,
    "parts": lambda x, y: x[0] + y[1],
    "unbind": lambda x, y: x.unbind()[0] + y.unbind(1)[0],
    "add_": lambda x, y: x.clone().add_(y),
    "copy_": lambda x, y: internals.cat([x.clone().copy_(y), x]),
    "broadcast": lambda x, y: sum(internals.broadcast_tensors(x, y)),
    "identity": lambda x, y: (
        internals.nn.functional.dropout(x, 0.5, False)
        + internals.nn.functional.dropout(y, 0.5, False)
    ),
}
AFTERWARDS: dict[str, Callable[[Any], Any]] = {
    "nothing": lambda z: z,
    "mul": lambda z: z.mul(2),
    "add": lambda z: z + z,
    "view": lambda z: z.reshape(-1),
    "transpose": lambda z: z.transpose(0, -1),
    "clone": lambda z: z.clone(),
    "part": lambda z: z[..., :2],
    "twice": lambda z: z.reshape(-1).mul(2),
}


@pytest.mark.parametrize("joined", JOINED)
def test_no_grad_shares_its_memory_with_anything(joined: str) -> None:
    """Not with that of another leaf (in PyTorch they may be views of one), with what was given, or
    with what a hook kept.
    """
    for afterwards in AFTERWARDS.values():
        for kept in (False, True):
            x, y = (
                internals.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True) for _ in range(2)
            )
            seen: list[Any] = []
            z = JOINED[joined](x, y)
            if kept:
                x.register_hook(seen.append)
                y.register_hook(seen.append)
                z.retain_grad()
            result = afterwards(z)
            given = internals.ones_like(result)
            result.backward(given)
            held = [x, y, x.grad, y.grad, given, *([z.grad] if kept else [])]
            assert len({t.untyped_storage().data_ptr() for t in held}) == len(held)
            assert {
                x.grad.untyped_storage().data_ptr(),
                y.grad.untyped_storage().data_ptr(),
            }.isdisjoint(t.untyped_storage().data_ptr() for t in seen)
            assert x.grad.stride() == y.grad.stride() == (2, 1) and x.grad._base is None


def test_a_weight_used_through_its_transpose_gets_a_contiguous_gradient() -> None:
    w = internals.ones(3, 4, requires_grad=True)
    internals.nn.functional.linear(internals.ones(2, 4), w, internals.zeros(3)).sum().backward()
    assert w.grad.stride() == (4, 1) and w.grad._base is None and w.grad.tolist() == [[2.0] * 4] * 3


def test_the_graph_goes_when_the_result_goes() -> None:
    x = internals.ones(3, requires_grad=True)
    gc.disable()
    try:
        y = (x.exp() * x).tanh()
        nodes = [weakref.ref(n) for n in (y.grad_fn, y.grad_fn.next_functions[0][0])]
        del y
        # by reference counts alone: no node saved what leads back to itself
        assert all(r() is None for r in nodes)
    finally:
        gc.enable()


def test_backward_frees_what_was_saved() -> None:
    x = internals.ones(1000, requires_grad=True)
    y = x.exp()
    z = (y * y).sum()
    before = internals.cpu.memory_stats()["allocated_bytes.all.current"]
    del y
    z.backward()
    x.grad = None
    assert internals.cpu.memory_stats()["allocated_bytes.all.current"] < before


def test_threads_have_their_own_grad_mode_and_may_run_backward_at_once() -> None:
    results: list[Any] = []

    def work(scale: float) -> None:
        x = internals.ones(8, requires_grad=True)
        for _ in range(50):
            x.grad = None
            (x * scale).exp().sum().backward()
        results.append((scale, x.grad[0].item()))

    with internals.no_grad():
        threads = [threading.Thread(target=work, args=(s,)) for s in (0.0, 0.5, 1.0)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert not internals.is_grad_enabled()
    from math import exp

    assert sorted(results) == [(s, pytest.approx(s * exp(s))) for s in (0.0, 0.5, 1.0)]


def test_backward_inside_backward(T: Any) -> None:
    class Checkpoint(T.autograd.Function):  # type: ignore[name-defined,misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x.exp()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            with T.enable_grad():
                again = x.detach().requires_grad_()
                again.exp().backward(grad)
            return again.grad

    x = T.tensor([0.0, 1.0], requires_grad=True)
    (Checkpoint.apply(x * 2) * 3).sum().backward()
    assert x.grad.tolist() == pytest.approx([6.0, 6 * 7.389056], rel=1e-5)


@pytest.mark.parametrize("watched", [False, True])
def test_the_short_cuts_record_what_the_long_way_records(watched: bool) -> None:
    a = internals.tensor([1.0, 2.0], requires_grad=True)
    b = internals.tensor([3.0, 5.0], requires_grad=True)
    k = internals.tensor([2.0, 2.0])

    def run() -> list[Any]:
        out = []
        for r in (a + b, a - b, a * b, a * k, k * a, k - a, (a + 1.0) * (b - 2)):
            saved = {n: getattr(r.grad_fn, f"_saved_{n}") for n in r.grad_fn.saved_names}
            kept = {n: v if v is None else v.tolist() for n, v in saved.items()}
            edges = [f and f.name() for f, _ in r.grad_fn.next_functions]
            grads = internals.autograd.grad(r, [a, b], internals.ones(2), allow_unused=True)
            metadata = [g.sizes for g in r.grad_fn._input_metadata]
            out.append(
                [
                    r.tolist(),
                    r.grad_fn.name(),
                    edges,
                    kept,
                    metadata,
                    [g if g is None else g.tolist() for g in grads],
                ]
            )
        return out

    short = run()
    if watched:
        with hot.paused():
            assert run() == short
    assert short[2][-1] == [[3.0, 5.0], [1.0, 2.0]]


def test_what_is_needed_does_not_depend_on_the_order_nodes_were_made_in(T: Any) -> None:
    class Double(T.autograd.Function):  # type: ignore[name-defined,misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    x = T.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 1
    view = y[:2]
    y.mul_(3)  # the view's history is made anew when Double asks for it, after Double's own node
    z = Double.apply(view)
    assert T.autograd.grad(z.sum(), x)[0].tolist() == [6.0, 6.0, 0.0]


# What a leaf gets, and when


def test_a_leaf_that_is_gone_is_made_again_where_it_was(T: Any) -> None:
    whole = T.arange(6.0)
    leaf = whole[2:4].detach().requires_grad_()
    node = (leaf * 2).grad_fn.next_functions[0][0]
    del leaf
    assert node.variable.tolist() == [2.0, 3.0] and node.variable.storage_offset() == 2


def test_a_leaf_gets_its_gradient_as_soon_as_that_is_known(T: Any) -> None:
    """Not when everything else is done: an optimizer in a hook may then use the memory."""
    order: list[str] = []
    x, w = T.ones(2, requires_grad=True), T.ones(2, requires_grad=True)
    w.register_post_accumulate_grad_hook(lambda t: order.append("w"))
    hidden = x.exp()
    hidden.register_hook(lambda g: order.append("hidden"))
    (hidden.sin() * w).sum().backward()
    assert order == ["w", "hidden"]


@pytest.mark.parametrize("case", ["expanded", "transposed"])
def test_a_gradient_is_kept_in_the_layout_of_its_leaf(T: Any, case: str) -> None:
    x = T.ones(2, 3, requires_grad=True)
    y = x.sum() if case == "expanded" else (x.t() * T.arange(2.0)).t()
    y.backward() if case == "expanded" else y.backward(T.ones(2, 3))
    assert x.grad.stride() == (3, 1) and x.grad.tolist() == (
        [[1.0] * 3] * 2 if case == "expanded" else [[0.0] * 3, [1.0] * 3]
    )


def test_a_node_takes_as_many_gradients_as_it_has_outputs(T: Any) -> None:
    node = (T.ones(2, requires_grad=True) * 2).grad_fn
    with pytest.raises(TypeError, match="expected 1 arguments, got 2 instead"):
        node(T.ones(2), T.ones(2))


def test_a_written_argument_that_is_the_second_result_has_the_second_gradient(T: Any) -> None:
    class Both(T.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            b.mul_(2)
            ctx.mark_dirty(b)
            return a + 1, b

        @staticmethod
        def backward(ctx: Any, of_a: Any, of_b: Any) -> Any:
            return of_a * 10, of_b * 100

    a, b = T.ones(2, requires_grad=True), T.ones(2, requires_grad=True)
    first, second = Both.apply(a, b.clone())
    assert second.output_nr == 1
    (second * 3).sum().backward()
    assert (a.grad is None or a.grad.tolist() == [0.0, 0.0]) and b.grad.tolist() == [300.0, 300.0]


def test_a_saved_view_says_whose_result_it_has_become(T: Any) -> None:
    x, base = T.ones(2, requires_grad=True), T.zeros(2, 1)
    view = base.view(2)
    y = view * x
    base.mul_(x.view(2, 1))
    with pytest.raises(RuntimeError, match=r"which is output 0 of AsStrided"):
        y.sum().backward()

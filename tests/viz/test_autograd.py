"""`viz.autograd`: what stands in the scene is what the engine sees."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import internals
import viz
import viz.layered
from internals import nn
from tests.viz.support import assert_good, same_in_two_processes
from viz.layered import Arrow, layered
from viz.rooms.autograd import Autograd, GraphNode


def leaf(*values: float) -> internals.Tensor:
    return internals.tensor(list(values), requires_grad=True)


def saved_of(picture: Autograd, node: str) -> dict[str, tuple[str, str]]:
    """{argument: (name of the tensor, state)} of a node."""
    return {
        s.name: ("" if s.tensor is None else picture.tensors[s.tensor].name, s.state)
        for s in picture.find(node).saved
    }


def mlp() -> tuple[nn.Sequential, internals.Tensor, internals.Tensor]:
    internals.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
    x = internals.randn(5, 4)
    return model, x, nn.functional.cross_entropy(model(x), internals.tensor([0, 1, 2, 0, 1]))


def test_nodes_and_edges_are_those_of_next_functions() -> None:
    a, b = leaf(1.0, 2.0), leaf(3.0, 4.0)
    loss = (a * b + a).sum()
    picture = viz.autograd(loss, a=a, b=b)
    assert [n.name for n in picture.nodes[:3]] == ["SumBackward0", "AddBackward0", "MulBackward0"]
    assert sorted(n.name for n in picture.nodes[3:]) == ["AccumulateGrad", "AccumulateGrad"]
    by_number = dict(enumerate(picture.nodes))
    mul = picture.find("MulBackward0")
    onward = [by_number[e.head] for e in picture.edges if by_number[e.tail] is mul]
    assert [picture.tensors[n.variable].name for n in onward if n.variable is not None] == [
        "a",
        "b",
    ]
    assert [n.order for n in picture.nodes[:3]] == [2, 1, 0]
    assert picture.nodes[0].sequence_nr == loss.grad_fn._sequence_nr()
    assert [e.shape for e in picture.edges] == [(2,)] * 5
    assert_good(picture)


def test_numbers_are_the_order_in_which_the_engine_runs() -> None:
    model, _, loss = mlp()
    picture = viz.autograd(loss, params=model.named_parameters())
    steps = viz.autograd_steps(loss, params=model.named_parameters())
    assert [state.ran for state in steps.states[1:]] == list(range(len(picture.nodes)))


def test_saved_tensors_share_a_box_when_they_are_the_same() -> None:
    a = leaf(0.5, 1.0)
    y = a.exp()
    z = y * y
    picture = viz.autograd(z.sum(), a=a, y=y)
    assert saved_of(picture, "MulBackward0") == {"self": ("y", "kept"), "other": ("y", "kept")}
    assert saved_of(picture, "ExpBackward0") == {"result": ("y", "kept")}
    (own,) = picture.find("ExpBackward0").saved
    assert own.own_output and not picture.find("MulBackward0").saved[0].own_output
    assert [t.name for t in picture.tensors].count("y") == 1
    assert picture.kept_bytes == 8
    assert_good(picture)


def test_a_saved_leaf_is_the_leaf() -> None:
    a, b = leaf(1.0), leaf(2.0)
    picture = viz.autograd(a * b, a=a, b=b)
    assert saved_of(picture, "MulBackward0") == {"self": ("a", "kept"), "other": ("b", "kept")}
    leaves = {picture.tensors[n.variable].name for n in picture.nodes if n.variable is not None}
    assert leaves == {"a", "b"} and len(picture.tensors) == 3  # and the root
    assert_good(picture)


def test_modified_since() -> None:
    a = leaf(1.0, 2.0, 3.0)
    y = a.tanh()
    before = viz.autograd(y, a=a, y=y)
    y.add_(2.0)
    picture = viz.autograd(y.sum(), a=a, y=y)
    assert saved_of(before, "TanhBackward0") == {"result": ("y", "kept")}
    assert saved_of(picture, "TanhBackward0") == {"result": ("y", "modified")}
    (saved,) = picture.find("TanhBackward0").saved
    assert (saved.version, saved.now) == (0, 1) and saved.text == "result: saved v0, now v1"
    assert "1 modified since: backward will fail" in picture.text()
    assert (
        "saved v0, now v1" in picture.text()
        and "s-warning" in picture.svg()
        and "s-warning" not in before.svg()
    )
    assert_good(picture)


def test_released_after_backward_and_grad_in_the_leaves() -> None:
    model, x, loss = mlp()
    before = viz.autograd(loss, params=dict(model.named_parameters()), x=x)
    assert any(s.state == "kept" for n in before.nodes for s in n.saved) and before.kept_bytes > 0
    assert {t.grad for t in before.tensors if t.role == "leaf"} == {None}
    loss.backward()
    after = viz.autograd(loss, params=dict(model.named_parameters()), x=x)
    assert {s.state for n in after.nodes for s in n.saved} == {"released"} and after.kept_bytes == 0
    assert {t.name: t.grad for t in after.tensors if t.role == "leaf"} == {
        name: str(tuple(p.shape)) for name, p in model.named_parameters()
    }
    assert [n.name for n in after.nodes] == [n.name for n in before.nodes]
    assert "released" in after.text()
    assert_good(before)
    assert_good(after)


def test_retained_graphs_keep_their_tensors() -> None:
    a = leaf(1.0)
    y = a.exp()
    y.backward(retain_graph=True)
    assert saved_of(viz.autograd(y, a=a), "ExpBackward0") == {"result": ("root", "kept")}


def test_copy_slices_shows_the_node_it_runs() -> None:
    a = leaf(1.0, 2.0, 3.0)
    y = a * 2
    v = y[0:2]
    v.mul_(3)
    picture = viz.autograd(y, a=a, y=y, v=v)
    assert picture.nodes[0].name == "CopySlices"
    assert ("slice", "(2,), strides (1,), offset 0") in picture.nodes[0].values
    inner = [n for n in picture.nodes if n.kind == "inner"]
    assert [n.name for n in inner] == ["MulBackward0"] and ("other", "3") in inner[0].values
    assert "runs on the slice" in picture.text()
    assert_good(picture)


def test_outputs_that_are_not_the_first() -> None:
    a = leaf(3.0, 1.0, 2.0)
    first, second = a.split([1, 2])
    picture = viz.autograd((first * 2).sum() + second.sum(), a=a)
    assert sorted(e.output_nr for e in picture.edges)[-1] == 1
    assert "output 1: (2,)" in picture.text() and "output 1: (2,)" in picture.svg()
    direct = viz.autograd(second, a=a)
    assert direct.roots[0][2] == 1 and "its output 1" in direct.text()
    assert_good(direct)


def test_double_backward() -> None:
    x = leaf(2.0)
    (g,) = internals.autograd.grad((x**3).sum(), x, create_graph=True)
    picture = viz.autograd(g, x=x, g=g)
    assert ("x", "kept") in saved_of(picture, "PowBackward0").values()
    assert_good(picture)


def test_hooks_functions_and_packed_tensors() -> None:
    class Square(internals.autograd.Function):
        @staticmethod
        def forward(ctx: object, x: internals.Tensor) -> internals.Tensor:
            ctx.save_for_backward(x)  # type: ignore[attr-defined]
            return x * x

        @staticmethod
        def backward(ctx: object, grad: internals.Tensor) -> internals.Tensor:
            (x,) = ctx.saved_tensors  # type: ignore[attr-defined]
            return 2 * x * grad

    x = leaf(2.0)
    y = Square.apply(x)
    y.register_hook(lambda grad: grad * 2)
    with internals.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), internals.tensor):
        z = y.exp()
    picture = viz.autograd(z, x=x)
    assert saved_of(picture, "SquareBackward") == {"saved_tensors[0]": ("x", "kept")}
    assert saved_of(picture, "ExpBackward0") == {"result": ("", "packed")}
    assert picture.find("SquareBackward").hooks == 1 and "1 hook" in picture.text()
    assert_good(picture)


def test_lists_are_saved_one_by_one() -> None:
    a = leaf(1.0, 2.0, 3.0)
    picture = viz.autograd(a[internals.tensor([0, 2])], a=a)
    assert saved_of(picture, "IndexBackward0") == {"indices[0]": ("T0", "kept")}


def test_several_roots_and_roots_by_name() -> None:
    a = leaf(1.0)
    y = a * 2
    p, q = y.exp(), y.sin()
    picture = viz.autograd(p, q, a=a)
    assert [picture.tensors[t].name for t, _, _ in picture.roots] == ["root 0", "root 1"]
    named = viz.autograd(p=p, q=q, y=y, a=a)  # y is on the way: not a root
    assert [named.tensors[t].name for t, _, _ in named.roots] == ["p", "q"]
    assert viz.autograd(a, a=a).nodes[0].name == "AccumulateGrad"
    assert viz.autograd(p.grad_fn).nodes[0].name == "ExpBackward0"
    for one in (picture, named, viz.autograd(a, a=a), viz.autograd(p.grad_fn)):
        assert_good(one)


def test_what_has_no_graph() -> None:
    with pytest.raises(
        TypeError,
        match="argument 0 must be a tensor of internals or a node of its graph, got int",
    ):
        viz.autograd(3)
    with pytest.raises(TypeError, match="needs tensors to start from, got ExpBackward0"):
        viz.autograd_steps(leaf(1.0).exp().grad_fn)
    with pytest.raises(ValueError, match="'x' does not require a gradient"):
        x = internals.ones(2)
        viz.autograd(x, x=x)
    with pytest.raises(ValueError, match="needs a tensor to start from"):
        viz.autograd()
    with pytest.raises(ValueError, match="limit must be at least 2, got 1"):
        viz.autograd(leaf(1.0) * 2, limit=1)
    with pytest.raises(KeyError, match="no node 'SinBackward0'"):
        viz.autograd(leaf(1.0) * 2).find("SinBackward0")


# big graphs


def chain(length: int) -> tuple[internals.Tensor, internals.Tensor]:
    x = leaf(0.5)
    c = x
    for i in range(length):
        c = c.sin() if i % 2 else c * 1.5
    return x, c


@pytest.mark.parametrize("limit", [2, 5, 12])
def test_big_graphs_are_folded_with_a_mark(limit: int) -> None:
    x, c = chain(40)
    picture = viz.autograd(c, x=x, limit=limit)
    assert len(picture.nodes) - 1 <= max(limit, 3)
    (hidden,) = [n for n in picture.nodes if n.kind == "hidden"]
    assert hidden.hides + len(picture.nodes) - 1 == 41
    assert f"{hidden.hides} nodes hidden" in picture.text() and "nodes hidden" in picture.svg()
    assert connected(picture)
    assert_good(picture)


def connected(picture: Autograd) -> bool:
    reached, stack = set(), [n for _, n, _ in picture.roots]
    while stack:
        n = stack.pop()
        if n not in reached:
            reached.add(n)
            stack += [e.head for e in picture.edges if e.tail == n]
    return len(reached) == len(picture.nodes)


def test_a_small_graph_is_shown_whole() -> None:
    x, c = chain(40)
    picture = viz.autograd(c, x=x, limit=41)
    assert len(picture.nodes) == 41 and not any(
        isinstance(n, GraphNode) and n.hides for n in picture.nodes
    )


def test_a_model_is_folded() -> None:
    model = internals.models.mobilenet_v2()
    model.eval()
    loss = model(internals.randn(1, 3, 32, 32)).sum()
    picture = viz.autograd(loss, params=model.named_parameters())
    hidden = sum(n.hides for n in picture.nodes)
    assert hidden > 200 and sum(not n.hides for n in picture.nodes) <= 24 and connected(picture)
    assert_good(picture)


def test_a_very_deep_graph_needs_no_stack() -> None:
    x = leaf(1.0)
    c = x
    for _ in range(20_000):
        c = c + x
    picture = viz.autograd(c, x=x, limit=4)
    assert sum(n.hides for n in picture.nodes) > 19_990


# writers


def test_dot_and_files(tmp_path: Path) -> None:
    a = leaf(1.0)
    y = a.exp()
    picture = viz.autograd(y, a=a, y=y)
    assert 'label="ExpBackward0 #0"' in picture.dot and "style=dashed" in picture.dot
    assert picture.save(tmp_path / "g.dot").read_text() == picture.dot
    for suffix in (".svg", ".html", ".txt"):
        assert picture.save(tmp_path / f"g{suffix}").stat().st_size > 0
    with pytest.raises(ValueError, match="cannot save"):
        picture.save(tmp_path / "g.pdf")


def test_saved_can_be_left_out() -> None:
    a = leaf(1.0)
    picture = viz.autograd(a.exp(), a=a, saved=False)
    assert not any(n.saved for n in picture.nodes) and "kept" not in picture.text()


PROGRAM = """
import internals as torch, viz
a = torch.tensor([1.0, 2.0], requires_grad=True)
[a * i for i in range({warm_up})]
y = a.tanh() * a
print(viz.autograd(y, a=a, y=y).html(), viz.autograd(y, a=a).dot)
print(viz.autograd_steps(y.sum(), a=a).html())
"""


@pytest.mark.sampled(1 / 4)
def test_the_same_picture_in_every_process() -> None:
    early = same_in_two_processes(PROGRAM.format(warm_up=0))
    assert early == same_in_two_processes(PROGRAM.format(warm_up=3))  # earlier graphs do not count
    assert not re.search("0x[0-9a-f]{8,}", early)


def test_without_graphviz(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viz.layered, "renderer", lambda: None)
    a = leaf(1.0, 2.0)
    picture = viz.autograd((a * a.exp()).sum(), a=a)
    ElementTree.fromstring(picture.svg())
    boxes = layered([(50, 20), (60, 20), (60, 20)], [Arrow(0, 1), Arrow(0, 2), Arrow(1, 2)]).boxes
    assert boxes[0].bottom < boxes[1].y and boxes[1].bottom < boxes[2].y

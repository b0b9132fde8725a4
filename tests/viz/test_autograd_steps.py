"""`viz.autograd_steps`: the frames are what the engine does, step by step."""

from __future__ import annotations

import re

import pytest

import internals
import viz
import viz.rooms.autograd_steps
from tests.viz.support import assert_good
from tests.viz.test_autograd import chain, leaf


def test_steps_run_backward_for_real() -> None:
    a, b = leaf(1.0, 2.0), leaf(3.0, 4.0)
    steps = viz.autograd_steps((a * b + a).sum(), a=a, b=b)
    assert a.grad.tolist() == [4, 5] and b.grad.tolist() == [1, 2]
    name = steps.scene.nodes
    assert [name[s.ran].name for s in steps.states[1:]] == [
        "SumBackward0", "AddBackward0", "MulBackward0", "AccumulateGrad", "AccumulateGrad",
    ]  # fmt: skip
    start = steps.states[0]
    assert start.ran is None and start.ready == [0] and start.arrived == {0: "1"}
    to_a = next(
        n
        for n, node in enumerate(name)
        if node.variable is not None and steps.scene.tensors[node.variable].name == "a"
    )
    assert start.waiting[to_a] == 2 and steps.states[2].waiting[to_a] == 1
    assert steps.states[2].arrived[to_a] == "[1, 1]" and steps.states[3].arrived[to_a] == "[4, 5]"
    assert to_a not in steps.states[3].grads and steps.states[-1].grads[to_a] == "[4, 5]"
    assert steps.states[-1].ready == [] and steps.states[-1].waiting == {} and not steps.error
    assert_good_steps(steps)


def assert_good_steps(steps: viz.rooms.autograd_steps.AutogradSteps) -> None:
    for _, frame in steps.frames:
        assert_good(frame)  # type: ignore[arg-type]
    html = steps.html()
    assert (
        html.count('type="checkbox"') == len(steps.states) - 1
        and "<script" not in html
        and not re.search(r'\sid="', html)
    )
    assert steps.text() in html.replace("&gt;", ">").replace("&#x27;", "'")


def test_the_graph_is_released_unless_retained() -> None:
    a = leaf(1.0)
    y = a.exp()
    assert viz.autograd_steps(y, retain_graph=True).states[-1].released == []
    steps = viz.autograd_steps(y)
    assert steps.states[-1].released == [0] and a.grad.tolist() == pytest.approx([2 * 2.7182818])
    kept = viz.autograd_steps(a.tanh() * a, a=a, saved=True)
    roles = [
        {card.role for card in sheet.cards if card.tensor is not None and card.node is None}
        for sheet in kept.sheets()
    ]
    assert "shared" in roles[0] and roles[-1] <= {"view", "free"}
    again = viz.autograd_steps(y)
    assert "a second time" in again.error and again.states[-1].ran == 0


def test_gradients_of_gradients_and_given_gradients() -> None:
    a = leaf(1.0, 2.0)
    viz.autograd_steps(a * a, gradient=internals.tensor([1.0, 10.0]), create_graph=True)
    assert a.grad.tolist() == [2, 40] and a.grad.requires_grad
    b = leaf(1.0)
    viz.autograd_steps(b * 2, b * 3, gradient=[None, internals.tensor([10.0])])
    assert b.grad.tolist() == [32]
    with pytest.raises(
        RuntimeError, match="grad can be implicitly created only for scalar outputs"
    ):
        viz.autograd_steps(a * a)
    with pytest.raises(RuntimeError, match="got 2 tensors and 3 gradients"):
        viz.autograd_steps(b * 2, b * 3, gradient=[None] * 3)
    with pytest.raises(RuntimeError, match=r"the gradient has the shape \(1,\), its tensor \(2,\)"):
        viz.autograd_steps(a * a, gradient=internals.ones(1))


def test_a_node_that_fails_is_the_last_frame() -> None:
    a = leaf(1.0, 2.0)
    y = a.tanh()
    y.add_(2.0)
    steps = viz.autograd_steps(y.sum(), a=a, saved=True)
    assert "modified by an inplace operation" in steps.error
    last = steps.states[-1]
    assert steps.scene.nodes[last.ran].name == "TanhBackward0" and last.error == steps.error
    assert (
        "fails" in steps.frames[-1][0] and a.grad is None and "failed: RuntimeError" in steps.text()
    )
    assert_good_steps(steps)


def test_hidden_nodes_run_without_frames() -> None:
    x, c = chain(40)
    steps = viz.autograd_steps(c, x=x, limit=8)
    assert len(steps.states) < 12 and sum(s.skipped for s in steps.states) > 30
    assert x.grad is not None
    assert_good_steps(steps)

"""`viz.versions`: the recorder sees every bump of a counter, who keeps the tensor, and how the
check in backward ends.
"""

from __future__ import annotations

import pytest

import internals
import viz
from internals.core.dispatcher import observe_calls, tls
from internals.core.hot import hot
from tests.viz.support import assert_good, same_in_two_processes
from viz.rooms.versions import Versions


def leaf(*values: float) -> internals.Tensor:
    return internals.tensor(list(values), requires_grad=True)


def told(log: Versions, kind: str = "") -> list[tuple[str, str, int, int]]:
    return [(e.what, e.through, e.before, e.after) for e in log.events if kind in ("", e.kind)]


def test_the_talks_example() -> None:
    a = leaf(1.0, 2.0, 3.0)
    with viz.versions(a=a) as log:
        y = a.tanh()
        log.watch(y=y)
        y.add_(2.0)
        with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
            y.sum().backward()
    assert [(e.kind, log.lanes[e.lane].title) for e in log.events] == [
        ("keep", "y"),
        ("write", "y"),
        ("check", "y"),
    ]
    assert told(log) == [
        ("TanhBackward0", "result", 0, 0),
        ("aten::add_.Scalar", "y", 0, 1),
        ("TanhBackward0", "result", 0, 1),
    ]
    assert [e.outcome for e in log.events] == ["", "", "refused"]
    assert [(lane.start, lane.end) for lane in log.lanes] == [(0, 0), (0, 1)]
    assert [e.line for e in log.events][:2] == ["y = a.tanh()", "y.add_(2.0)"]
    assert "v0, now v1: refused" in log.text() and "s-warning" in log.svg()
    assert_good(log)


def test_a_check_that_passes() -> None:
    a = leaf(1.0, 2.0)
    with viz.versions(a=a) as log:
        (a * a).sum().backward()
    assert [(e.kind, e.through, e.outcome) for e in log.events] == [
        ("keep", "other and self", ""),
        ("check", "other and self", "ok"),
    ]
    assert_good(log)


def test_views_and_aliases_share_a_lane() -> None:
    y = internals.zeros(4)
    v, d = y[:2], y.detach()
    with viz.versions(y=y, v=v) as log:
        v.mul_(3)
        d.zero_()
        y[1:3].fill_(1)
        y += 1
    assert [lane.title for lane in log.lanes] == ["y, v"]
    assert [through for _, through, _, _ in told(log)] == [
        "v",
        "a detached alias of y",
        "a view of y",
        "y",
    ]
    assert [(before, after) for *_, before, after in told(log)] == [(0, 1), (1, 2), (2, 3), (3, 4)]
    assert log.lanes[0].end == y._version == 4
    with viz.versions(v=v) as log:
        y.add_(1)
        y[3:].add_(1)
    assert [through for _, through, _, _ in told(log)] == [
        "the base of v",
        "another view of the base of v",
    ]
    assert_good(log)


def test_a_write_past_the_counter() -> None:
    y = leaf(1.0, 2.0)
    with viz.versions(y=y) as log:
        y.data.fill_(3.0)
    assert [(e.kind, e.before, e.after) for e in log.events] == [("unseen", 0, 0)]
    assert y._version == 0 and y.tolist() == [3, 3] and "v0: not counted" in log.text()
    assert_good(log)


def test_what_a_write_through_a_view_keeps() -> None:
    """It is kept by the base's CopySlices, which is met with the write and not when the base is
    next used.
    """
    x = leaf(1.0, 2.0)
    with viz.versions(x=x) as log:
        y = x * 2
        log.watch(y=y)
        y[0:1].mul_(y[1:2])
        y[0:1].exp_()
        y.add_(1)
    assert [(e.kind, e.what, e.before, e.after) for e in log.events] == [
        ("keep", "CopySlices (1)", 0, 0),
        ("write", "aten::mul_.Tensor", 0, 1),
        ("write", "aten::exp_", 1, 2),
        ("keep", "CopySlices (2)", 2, 2),
        ("write", "aten::add_.Scalar", 2, 3),
    ]
    assert [e.line.strip() for e in log.events] == ["y[0:1].mul_(y[1:2])"] * 2 + [
        "y[0:1].exp_()"
    ] * 2 + ["y.add_(1)"]
    assert_good(log)


def test_writes_past_each_other() -> None:
    """Both counters of one memory are told of the other's writes, whichever was named first."""
    y = leaf(1.0, 2.0).exp()
    data = y.data
    for names in ({"y": y, "data": data}, {"data": data, "y": y}):
        with viz.versions(**names) as log:
            y.detach().mul_(2)
            data.mul_(2)
        told_of = [
            (e.kind, log.lanes[e.lane].title) for e in log.events if e.kind in ("write", "unseen")
        ]
        assert told_of == [("write", "y"), ("unseen", "data"), ("write", "data"), ("unseen", "y")]
        assert_good(log)


def test_out_and_composite_writes_are_told_once() -> None:
    x = internals.zeros(3)
    with viz.versions(x=x) as log:
        internals.add(x, 1, out=x)
        x[0] = 2
        x.clamp_(0, 1)
    assert [(before, after) for *_, before, after in told(log)] == [(0, 1), (1, 2), (2, 3)]
    assert told(log)[0][0] == "aten::add.out" and told(log)[1][1] == "a view of x"


def test_without_names_all_that_was_written_is_shown() -> None:
    with viz.versions() as log:
        x = internals.zeros(3)
        y = x + 1
        x += y
    assert [lane.title for lane in log.lanes] == ["T0 float32 (3,)"]
    assert told(log) == [("aten::add_.Tensor", "the tensor itself", 0, 1)]


def test_what_a_function_marks_dirty() -> None:
    class Twice(internals.autograd.Function):
        @staticmethod
        def forward(ctx: object, x: internals.Tensor) -> internals.Tensor:
            ctx.mark_dirty(x)  # type: ignore[attr-defined]
            return x.mul_(2)

        @staticmethod
        def backward(ctx: object, grad: internals.Tensor) -> internals.Tensor:
            return grad * 2

    x = leaf(1.0).clone()
    with viz.versions(x=x) as log:
        Twice.apply(x)
    assert (
        sum(after - before for *_, before, after in told(log, "write"))
        == x._version
        == log.lanes[0].end
    )
    assert_good(log)


def test_an_optimizer_step_and_the_second_backward() -> None:
    internals.manual_seed(0)
    model = internals.nn.Linear(2, 1)
    opt = internals.optim.SGD(model.parameters(), lr=0.1)
    with viz.versions(**dict(model.named_parameters())) as log:
        loss = model(internals.ones(3, 2)).sum()
        loss.backward()
        opt.step()
    for name, p in model.named_parameters():
        lane = next(lane for lane in log.lanes if name in lane.names)
        assert lane.end - lane.start == 1 and lane.end == p._version
    assert {e.line for e in log.events if e.kind == "write"} == {"opt.step()"}
    a = leaf(1.0)
    with viz.versions(a=a) as log:
        y = (a * a).sum()
        y.backward()
        with pytest.raises(RuntimeError, match="second time"):
            y.backward()
    assert [e.outcome for e in log.events if e.kind == "check"] == ["ok", "released"]
    assert_good(log)


def test_nodes_from_before_the_block() -> None:
    a = leaf(1.0)
    y = a.exp()
    with viz.versions(y=y) as log:
        y.add_(1)
    assert [(e.kind, e.line) for e in log.events] == [("keep", ""), ("write", "y.add_(1)")]


def test_nothing_happened_and_much_happened() -> None:
    x = internals.zeros(2)
    with viz.versions(x=x) as log:
        x + 1
    assert log.text() == "versions: nothing happened (x at v0)"
    assert_good(log)
    with viz.versions(x=x) as log:
        for _ in range(80):
            x += 1
    assert "(20 more events hidden)" in log.text() and log.lanes[0].end == 80
    assert_good(log)


def test_the_recorder_goes_away() -> None:
    a = leaf(1.0)
    with pytest.raises(ZeroDivisionError), viz.versions(a=a) as log:
        y = (a * a).sum()
        a.data.add_(1)
        1 // 0  # noqa: B018
    assert hot.off == 0 and tls.around is None
    assert viz.autograd(y).find("MulBackward0").hooks == 0
    assert [e.kind for e in log.events] == ["keep", "unseen"]  # what was recorded until then
    with pytest.raises(RuntimeError, match="belongs inside the block"):
        log.watch(y=y)
    with pytest.raises(TypeError, match="'b' must be a tensor, got int"):
        viz.versions(a=a, b=3)


def test_observe_calls_tells_before_and_after() -> None:
    seen: list[object] = []

    def observer(op: object, args: tuple[object, ...]) -> object:
        seen.append(op.name)  # type: ignore[attr-defined]
        return lambda result: seen.append(result.tolist())

    a = internals.ones(2)
    with observe_calls(observer):  # type: ignore[arg-type]
        a + a
    a + a
    assert seen == ["aten::add.Tensor", [2, 2]]


PROGRAM = """
import internals as torch, viz
a = torch.tensor([1.0], requires_grad=True)
with viz.versions(a=a) as log:
    y = a.exp(); z = y.sin() * y; log.watch(y=y, z=z); z.add_(1); z.sum().backward()
print(log.text(), log.html())
"""


@pytest.mark.sampled(1 / 4)
def test_the_same_record_in_every_process() -> None:
    assert "refused" not in same_in_two_processes(PROGRAM)

"""`viz.flame`: equal calls under one caller are one stripe, as wide as they are together."""

from __future__ import annotations

from typing import Any

import pytest

import internals
import viz
from internals.profiler import profile, record_function
from tests.viz.support import assert_good, same_in_two_processes
from viz.rooms.flame import WIDTH


def program() -> None:
    a = internals.ones(8)
    for _ in range(3):
        with record_function("turn"):
            a = a + a
            a * a


def taken(**options: Any) -> Any:
    with profile(**options) as prof:
        program()
    return prof


def test_equal_calls_are_put_together() -> None:
    picture = viz.flame(taken(), weight="calls")
    assert [(s.name, s.calls, s.total) for s in picture.roots] == [
        ("aten::ones", 1, 1),
        ("turn", 3, 9),
    ]
    (add,) = picture.find("aten::add")
    assert (add.calls, add.own, add.kind) == (3, 3, "operator") and picture.find("turn")[
        0
    ].kind == "label"
    assert picture.text() == (
        "flame: 10 recorded calls; width is calls, those within included\n"
        "                 calls    total  share     self\n"
        "    aten::ones       1   1 call  10.0%   1 call\n"
        "    turn             3  9 calls  90.0%  3 calls\n"
        "      aten::add      3  3 calls  30.0%  3 calls\n"
        "      aten::mul      3  3 calls  30.0%  3 calls"
    )
    assert_good(picture)


def test_stripes_lie_in_their_callers() -> None:
    canvas = viz.flame(taken(), weight="calls").canvas()
    boxes = {m.tip.partition(":")[0] or m.tip: m.box for m in canvas.marks if getattr(m, "tip", "")}
    boxes = {m.tip.rpartition(": ")[0]: m.box for m in canvas.marks if getattr(m, "tip", "")}
    turn, add, mul = boxes["turn"], boxes["aten::add"], boxes["aten::mul"]
    assert turn.w == pytest.approx(0.9 * WIDTH, abs=1) and add.w == pytest.approx(mul.w)
    assert (
        turn.x <= add.x and add.right <= mul.x and mul.right <= turn.right and add.y > turn.bottom
    )


def test_time_and_memory() -> None:
    prof = taken(profile_memory=True)
    time = viz.flame(prof)
    assert time.total == pytest.approx(prof.events().self_cpu_time_total)
    memory = viz.flame(prof, weight="memory")
    assert memory.total == 7 * 64 and memory.find("aten::add")[0].total == 3 * 64
    assert "width is bytes taken" in memory.text()
    assert_good(time, kept=False)
    assert_good(memory)


def test_what_may_be_drawn() -> None:
    prof = taken()
    texts = {viz.flame(source, weight="calls").text() for source in (prof, prof.events(), program)}
    assert len(texts) == 1
    with internals.autograd.profiler.profile() as older:
        program()
    assert viz.flame(older, weight="calls").text() in texts
    assert viz.flame(lambda n: internals.ones(n), 3, weight="memory").total == 64
    assert viz.flame([]).text() == "flame: nothing was recorded"
    assert_good(viz.flame([]))
    with pytest.raises(ValueError, match="weight must be one of time, calls, memory"):
        viz.flame(prof, weight="colour")
    with pytest.raises(TypeError, match="takes a profile, its events, or a function, not int"):
        viz.flame(3)
    with pytest.raises(AssertionError, match="Profiler must be initialized"):
        viz.flame(profile())


def test_kinds_have_colours() -> None:
    model = internals.jit.script(internals.nn.Linear(2, 2))
    x = internals.ones(1, 2)

    def step() -> None:
        with record_function("step"):
            model(x).sum().backward()

    step()
    picture = viz.flame(step, weight="calls")
    assert {s.kind for root in picture.roots for _, s in root.walk()} == {
        "label", "module", "compiled", "operator", "backward",
    }  # fmt: skip
    assert_good(picture)


def test_many_narrow_stripes_are_counted() -> None:
    def many() -> None:
        for n in range(900):
            with record_function(f"label {n}"):
                pass
        for _ in range(400):
            internals.ones(1)

    picture = viz.flame(many, weight="calls")
    assert "more lines" in picture.text()
    assert any("900 narrower stripes not drawn" in t.text for t in picture.canvas().texts())


@pytest.mark.sampled(1 / 4)
def test_the_same_picture_in_every_process() -> None:
    same_in_two_processes("""
import internals as torch, viz
model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU())
f = viz.flame(lambda: model(torch.ones(2, 3)).sum().backward(), weight="calls")
print(f.text(), f.svg())
""")

"""`viz.bytecode`, `viz.step`, `viz.pipeline` and `viz.explore`: what runs, one instruction and one
pass at a time.
"""

from __future__ import annotations

import linecache
import re

import pytest

import internals as torch
import viz
from internals import jit, nn
from internals.jit.runtime.compile import compile_graph
from tests.viz.support import assert_good, same_in_two_processes
from viz.rooms.bytecode import VALUE_AT_MOST, value_text, window
from viz.rooms.step import Machine


def until_five(x: torch.Tensor, n: int) -> torch.Tensor:
    total = 0
    for i in range(n):
        if total > 5:
            break
        total += i
    return x + total


def twice(x: torch.Tensor) -> torch.Tensor:
    return x + x


def calls(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    a = twice(x)
    return a * y


def words(a: str, n: int) -> tuple[str, int]:
    out = ""
    for _ in range(n):
        out = out + a.upper() + "<&>\n"
    return out, len(out)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.fc(x)
        if bool(y.mean() > 0):
            y = y.relu()
        return y


def block() -> Block:
    torch.manual_seed(0)
    return Block().eval()


# bytecode


def test_bytecode_says_what_each_instruction_does() -> None:
    picture = viz.bytecode(jit.script(until_five))
    assert_good(picture)
    code = jit.script(until_five).bytecode
    assert [r.text for r in picture.rows] == [
        str(i) for i in code.instructions
    ] and picture.total == len(picture.rows)
    loop = next(r for r in picture.rows if r.text.startswith("LOOP"))
    back = next(r for r in picture.rows if r.text.startswith("JMP -"))
    assert back.target == loop.pc and loop.target == back.pc + 1
    assert loop.note == f"next turn, or leave to {loop.target}" and loop.role == "ready"
    assert (
        picture.rows[0].note == "pop into %x.1, %n.1"
        and picture.rows[-1].note == "return what is on the stack"
    )
    assert any(r.note == "aten::add.int: 2 in, 1 out" and r.role == "key" for r in picture.rows)
    first = until_five.__code__.co_firstlineno
    assert {r.line for r in picture.rows if r.line} <= set(range(first, first + 7))


def test_operands_are_put_into_the_explanations() -> None:
    notes = [r.note for r in viz.bytecode(jit.script(block())).rows]
    assert "pop an object, push its fc" in notes and "pop an object, push its weight" in notes
    notes = [r.note for r in viz.bytecode(jit.script(words)).rows]
    assert "push '<&>\\n'" in notes and "pop 2 values, push a tuple of them" in notes
    assert "call function twice" in [
        r.note for r in viz.bytecode(compile_graph(jit.script(calls).graph, "calls")).rows
    ]

    @jit.script
    def lists(x: torch.Tensor):  # type: ignore[no-untyped-def]
        return [x, x]

    assert "pop 2 values, push a list of type List[Tensor]" in [
        r.note for r in viz.bytecode(lists).rows
    ]


def test_long_listings_are_cut() -> None:
    picture = viz.bytecode(jit.script(until_five), limit=10)
    assert_good(picture)
    assert len(picture.rows) == 10 and picture.text().endswith(
        f"... {picture.total - 10} more instructions not shown"
    )
    rows = viz.bytecode(jit.script(until_five)).rows
    assert window(rows, {3}) == rows
    many = rows * 3
    assert window(many, {30, 40}) == many[24:47]


@pytest.mark.parametrize("room", [viz.bytecode, viz.step, viz.pipeline])
def test_what_is_not_compiled_is_refused(room: object) -> None:
    with pytest.raises(TypeError, match=r"right:  viz\.\w+\(torch\.jit\.script\(f\)"):
        room(twice)  # type: ignore[operator]


def test_values_in_a_few_characters() -> None:
    assert value_text(torch.tensor([1.0, 2.0], requires_grad=True)) == "tensor([1., 2.])"
    longest = "x" * (VALUE_AT_MOST - 2)  # with its quotes as long as may be
    assert value_text(longest) == repr(longest) and value_text(longest + "x").endswith("x…")
    assert value_text(torch.tensor(3)) == "tensor(3)" and value_text(3) == "3"
    assert value_text(torch.tensor([1.5], dtype=torch.float64)) == "tensor([1.5000])"
    assert value_text(torch.zeros(2, 3)) == "float32 (2, 3)"
    assert value_text([1, 2, 3, 4, 5]) == "[1, 2, 3, 4, …]" and value_text((1,)) == "(1,)"
    assert value_text({"a": (1, 2)}) == "{'a': (1, 2)}" and value_text(
        dict.fromkeys(range(5))
    ).endswith(", …}")
    assert value_text("ab\n") == "'ab\\n'" and len(value_text("x" * 1000)) == 60


# step


def machines(steps: viz.Stepper) -> list[Machine]:
    return [frame for _, frame in steps.frames]  # type: ignore[misc]


def test_steps_are_those_of_the_run() -> None:
    scripted = jit.script(until_five)
    steps = viz.step(scripted, torch.ones(2), 4, limit=1000)
    frames = machines(steps)
    assert [m.current for m in frames][:3] == [0, 1, 2] and frames[0].stack == [
        "tensor([1., 1.])",
        "4",
    ]
    assert frames[-1].rows[frames[-1].current].text == "RET"  # type: ignore[index]
    assert frames[-1].stack == [value_text(scripted(torch.ones(2), 4))] == ["tensor([7., 7.])"]
    for before, after in zip(frames, frames[1:]):
        row = before.rows[before.current]  # type: ignore[index]
        assert after.current in (row.pc + 1, row.target)
    turns = sum(m.rows[m.current].text.startswith("LOOP") for m in frames)  # type: ignore[index]
    assert turns == 5 and "not shown" not in steps.heading
    assert frames[1].fresh == {"x.1", "n.1"} and not frames[2].fresh


@pytest.mark.sampled(1 / 4)
def test_frames_are_good_pictures() -> None:
    steps = viz.step(jit.script(until_five), torch.ones(2), 6, limit=20)
    for _, frame in steps.frames:
        assert_good(frame)  # type: ignore[arg-type]
    assert "the first 20 steps" in steps.heading and len(steps.frames) == 20
    html = steps.html()
    assert (
        html.count('type="checkbox"') == 19
        and "<script" not in html
        and not re.search(r'\sid="', html)
    )
    assert html.count("STOREN 1 2</text>") == 1  # one listing for all frames
    assert html.count('style="position:absolute') == 20


def test_calls_are_entered() -> None:
    code = compile_graph(jit.script(calls).graph, "calls")  # not inlined
    steps = viz.step(code, torch.ones(1), torch.tensor([3.0]))
    captions = [caption for caption, _ in steps.frames]
    inside = [n for n, c in enumerate(captions) if c.endswith(" in twice")]
    frames = machines(steps)
    assert inside == list(range(inside[0], inside[-1] + 1)) and "CALL 0" in captions[inside[0] - 1]
    assert {m.name for m in frames} == {"calls", "twice"} and frames[-1].stack == ["tensor([6.])"]
    back = frames[inside[-1] + 1]
    assert not back.fresh  # the caller's registers are as they were before the call
    assert steps.html().count("RET</text>") == 2


def test_modules_step_with_themselves_as_the_first_argument() -> None:
    frames = machines(viz.step(jit.script(block()), torch.ones(2, 4)))
    assert frames[0].stack == ["<Block>", "float32 (2, 4)"]
    assert ("fc", "<Linear>") in frames[4].held
    for m in frames[::7]:
        assert_good(m)


def test_what_a_run_raises_is_raised() -> None:
    with pytest.raises(RuntimeError, match="The size of tensor a"):
        viz.step(jit.script(calls), torch.ones(2), torch.ones(3))


# pipeline


def test_each_frame_is_a_phase_that_changed_something() -> None:
    scripted = jit.script(until_five)
    records = scripted.phases(torch.ones(2), 6)
    steps = viz.pipeline(scripted, torch.ones(2), 6)
    changed = [r.name for r in records if r.changed]
    shown = [caption.partition(":")[0] for caption, _ in steps.frames if ":" in caption]
    assert shown == changed and f"{len(changed)} phases of {len(records)}" in steps.heading
    assert all(len(caption) < 110 for caption, _ in steps.frames)
    for _, frame in steps.frames:
        if isinstance(frame, viz.rooms.diff.Diff):
            assert frame.changed
            assert_good(frame)
    every = viz.pipeline(scripted, torch.ones(2), 6, show_unchanged=True)
    assert len(every.frames) == len(records)
    html = steps.html()
    assert (
        html.count("<svg") == html.count("<svg ") <= len(steps.frames) and "data:image" not in html
    )


def test_a_graph_with_nothing_to_do() -> None:
    @jit.script
    def same(x):  # type: ignore[no-untyped-def]
        return x

    steps = viz.pipeline(same, torch.ones(1))
    assert steps.heading.startswith("same: 0 phases of") and "return (%x" in steps.text()
    assert len(steps.frames) == 1 and "phases changed nothing" in steps.frames[0][0]


# explore

STAGES = [
    "source", "syntax tree", "typed tree", "graph", "graph as text", "trace", "phases",
    "optimised graph", "bytecode", "Python", "interpreter",
]  # fmt: skip


@pytest.mark.sampled(1 / 4)
@pytest.mark.parametrize("made", ["function", "scripted", "module"])
def test_every_stage_is_shown(made: str) -> None:
    fn, args = {
        "function": (calls, (torch.ones(2), torch.ones(2))),
        "scripted": (jit.script(calls), (torch.ones(2), torch.ones(2))),
        "module": (block(), (torch.ones(2, 4),)),
    }[made]
    picture = viz.explore(fn, *args)
    assert [s.title for s in picture.stages] == STAGES
    assert not any(str(s.picture).startswith("not shown") for s in picture.stages)
    html = picture.html()
    assert "aten::" in html and len(html) < 20_000
    for s in picture.stages:
        assert s.why.endswith(".") and len(s.why) > 60
        if isinstance(s.picture, viz.Picture) and not isinstance(s.picture, viz.Stepper):
            assert_good(s.picture)
    assert picture.text() == picture.text() and html == picture.html()
    assert "graph(" in picture.stage("trace") and (
        "aten::mul" if made != "module" else "aten::linear"
    ) in picture.stage("trace")
    with pytest.raises(KeyError, match="no stage 'optimizer'; there are source, syntax tree"):
        picture.stage("optimizer")


def test_the_trace_stage_follows_tensors_and_freezes_the_rest() -> None:
    trace = viz.explore(until_five, torch.ones(2), 4).stage("trace")
    assert (
        trace.startswith("graph(%x : Float(2")
        and "prim::Loop" not in trace
        and "value={6}" in trace
    )
    branch = viz.explore(block(), torch.ones(2, 4)).stage("trace")
    assert (
        "TracerWarning: Converting a tensor to a Python boolean" in branch
        and "prim::If" not in branch
    )


def test_what_cannot_be_shown_says_why() -> None:
    picture = viz.explore(words, "he", 2)
    assert (
        picture.stage("trace")
        == "not shown: a trace follows tensors, and none of these arguments is one"
    )
    assert picture.stage("interpreter").frames and "&lt;&amp;&gt;" in picture.html()
    compiled = viz.explore(jit.script(block()), torch.ones(2, 4))
    assert "give the nn.Module that it was made from" in compiled.stage("trace")
    before = viz.explore(until_five)
    assert [s.title for s in before.stages] == [*STAGES[:5], "bytecode"]
    with pytest.raises(RuntimeError):
        viz.explore(lambda x: {x for _ in x})


@pytest.mark.filterwarnings("ignore::internals.jit.TracerWarning")
def test_stages_of_what_was_traced() -> None:
    module = block()
    traced = jit.trace(module, torch.rand(2, 4), check_trace=False)
    picture = viz.explore(traced, torch.rand(2, 4))
    assert picture.stage("source").startswith(
        "def forward(self, x"
    ) and "aten::linear" in picture.stage("trace")
    function = jit.trace(calls, (torch.ones(2), torch.ones(2)))
    picture = viz.explore(function, torch.ones(2), torch.ones(2))
    assert picture.stage("source").startswith("def calls") and "prim::Call" not in str(
        picture.stage("graph")
    )


def test_defaults_and_containers() -> None:
    def scaled(xs: list[torch.Tensor], k: float = 2.0) -> list[torch.Tensor]:
        return [x * k for x in xs]

    picture = viz.explore(scaled, [torch.ones(1)])
    assert not any(str(s.picture).startswith("not shown") for s in picture.stages)
    assert machines(viz.step(jit.script(scaled), [torch.ones(1)]))[0].stack[1] == "2.0"
    with pytest.raises(RuntimeError, match="missing value for argument 'xs'"):
        viz.step(jit.script(scaled))


def test_long_graphs_are_told() -> None:
    source = "def long(x):\n    y = x\n" + "    y = y.t().t() + 1\n" * 60 + "    return y\n"
    space: dict[str, object] = {"__name__": __name__}
    linecache.cache["<long>"] = (len(source), None, source.splitlines(keepends=True), "<long>")
    exec(compile(source, "<long>", "exec"), space)
    picture = viz.explore(space["long"], torch.ones(2, 2))
    assert re.search(r"peephole: \d+ lines before, \d+ after", picture.stage("phases"))
    assert "more instructions not shown" in picture.stage("bytecode").text()


@pytest.mark.sampled(1 / 4)
def test_the_same_in_two_processes() -> None:
    printed = same_in_two_processes(
        "import internals as torch, viz\nfrom tests.viz.test_jit_steps import block, until_five\n"
        "print(viz.explore(until_five, torch.ones(2), 5).html())\nprint(viz.explore(block(), "
        "torch.ones(2, 4)).text())"
    )
    assert "interpreter" in printed and not re.search("0x[0-9a-f]{6,}", printed)

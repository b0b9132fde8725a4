"""The page of `viz.explore`: what belongs together on it, from source to kernel, phase by phase."""

from __future__ import annotations

import functools
import re
from random import Random

import pytest

import internals as torch
import viz
from internals import jit, nn
from internals.cuda import backend
from internals.cuda.ptx import PtxUnavailable
from internals.cuda.simulator.driver import SimulatedDriver
from internals.jit.fuser import kernels_of
from internals.jit.ir import all_nodes
from tests.jit.corpus import Program, load
from tests.jit.corpus.running import callable_of, traced
from tests.support import full
from viz.rooms.explore_linked import linked
from viz.rooms.explore_page.phases import Line, compared, identities
from viz.rooms.explore_page.record import record
from viz.rooms.explore_page.scene import Page, Part, Row, folded
from viz.rooms.explore_page.trees import innermost, python_tree

PROGRAMS = load(torch)
# of `with no_grad()`, whose results nobody uses
NO_PLACE = ("aten::is_grad_enabled", "aten::set_grad_enabled")


def scale(a, k: float):  # type: ignore[no-untyped-def]
    return a * k + 1


def blend(x, y):  # type: ignore[no-untyped-def]
    z = scale(x, 2.0)
    w = torch.sigmoid(z) * y
    return w - x


@functools.cache
def blended() -> Page:
    """With arguments, and everything made of them."""
    with torch.no_grad():
        return viz.explore(blend, torch.ones(4, 8), torch.ones(8)).page


def rows(page: Page, pane: str, view: int | None = None) -> list[Row]:
    shown = page.pane(pane)
    return shown.views[shown.first if view is None else view].rows


def row_with(page: Page, pane: str, text: str, view: int | None = None) -> Row:
    (found,) = [row for row in rows(page, pane, view) if text in row.text]
    return found


def texts(page: Page, thing: Row | Part, pane: str, view: int | None = None) -> list[str]:
    return [each.text for each in page.marked(thing, pane, view) if isinstance(each, Row)]


def part_text(row: Row, part: Part) -> str:
    return row.text[part.start : part.end]


# One function


@pytest.mark.sampled(1 / 4)
def test_a_line_is_tied_to_its_tree_its_nodes_its_instructions_and_its_kernel() -> None:
    page = blended()
    line = row_with(page, "source", "w = torch.sigmoid(z) * y")
    assert texts(page, line, "ast")[:3] == [
        "body[1]: Assign",
        "targets[0]: Name id='w'",
        "value: BinOp op=Mult",
    ]
    assert "body[0]: Assign" not in texts(page, line, "ast")
    first = texts(page, line, "ir", 0)
    assert [t.split(" = ")[1].split("(")[0] for t in first] == ["aten::sigmoid", "aten::mul"]
    group = texts(page, row_with(page, "ir", "aten::sigmoid"), "ir")
    assert len(group) == 2 and "prim::FusionGroup_0(" in group[0] and "aten::sigmoid" in group[1]
    kernel = texts(page, line, "kernel")
    assert any("sigmoid(" in text for text in kernel) and not any(
        "for row" in text for text in kernel
    )
    written = page.pane("bytecode").views[1]
    assert written.title == "of the graph as written"
    notes = [row.note for row in page.marked(line, "bytecode", 1) if isinstance(row, Row)]
    assert any("aten::sigmoid" in n for n in notes) and any("aten::mul" in n for n in notes)
    assert not any("aten::sub" in n for n in notes)


def test_a_node_marks_the_very_text_that_it_was_compiled_from() -> None:
    page = blended()
    node = row_with(page, "ir", "aten::sigmoid", 0)
    (row,) = [each for each in page.marked(node, "source") if isinstance(each, Row)]
    parts = [part_text(row, each) for each in page.marked(node, "source") if isinstance(each, Part)]
    assert row.text.strip().startswith("w =") and "".join(parts) == "torch.sigmoid(z)"


def test_inlined_nodes_belong_to_the_callee_and_to_the_call() -> None:
    page = blended()
    inlined = [
        row
        for row in rows(page, "ir", 1)
        if "aten::mul" in row.text and "aten::mul" not in row.note
    ][0]
    marked = texts(page, inlined, "source")
    assert any("return a * k + 1" in text for text in marked) and any(
        "z = scale(x, 2.0)" in text for text in marked
    )
    call = row_with(page, "source", "z = scale(x, 2.0)")
    assert sum("aten::" in text for text in texts(page, call, "ir", 1)) == 2


def test_inputs_and_results() -> None:
    page = blended()
    x = row_with(page, "ir", "graph(%x", 0)
    assert texts(page, x, "ast") == ["args[0]: arg arg='x'"]
    back = row_with(page, "source", "return w - x")
    assert any(text.strip().startswith("return (") for text in texts(page, back, "ir", 0))
    assert any(row.text == "RET" for row in page.marked(back, "bytecode") if isinstance(row, Row))


def test_a_group_belongs_to_all_its_members_and_to_the_whole_kernel() -> None:
    page = blended()
    group = row_with(page, "ir", "= prim::FusionGroup_0(")
    source = texts(page, group, "source")
    assert len(source) == 4 and "def" not in "".join(source)
    assert texts(page, group, "kernel") == [row.text for row in rows(page, "kernel")]
    views = {view.title.partition(": ")[2]: view for view in page.pane("kernel").views}
    assert list(views) == ["", "loop", "LLVM", "PTX"]
    loop = list(page.pane("kernel").views).index(views["loop"])
    assert views["loop"].rows and "no line numbers" in views["loop"].note
    assert texts(page, group, "kernel", loop) == [row.text for row in views["loop"].rows]
    assert (
        any(row.text.startswith("define ") for row in views["LLVM"].rows)
        or "not shown" in views["LLVM"].note
    )


def test_ptx_instructions_belong_to_the_line_that_became_them() -> None:
    page = blended()
    (number,) = [
        i for i, view in enumerate(page.pane("kernel").views) if view.title.endswith(": PTX")
    ]
    view = page.pane("kernel").views[number]
    if view.note.startswith("not shown"):
        pytest.skip(f"PTX cannot be compiled here: {view.note}")
    line = row_with(page, "source", "return w - x")
    marked = texts(page, line, "kernel", number)
    assert any(text.startswith(("sub.", "add.", "fma.", "st.global")) for text in marked)
    assert len(marked) < len(view.rows) / 2


def test_a_name_without_a_node_of_its_own_belongs_to_what_uses_it() -> None:
    page = blended()
    line = row_with(page, "source", "return w - x")
    (name,) = [part for part in line.parts if part_text(line, part) == "w"]
    assert any("aten::sub" in text for text in texts(page, name, "ir", 0))
    (key,) = name.own
    assert texts(page, name, "ast") == [
        "value: BinOp op=Sub",
        "left: Name id='w'",
    ] and key.startswith("a")


# Phases


def test_the_slider_has_a_position_for_each_phase() -> None:
    page, scripted = blended(), jit.script(blend)
    with torch.no_grad():
        records = scripted.phases(torch.ones(4, 8), torch.ones(8))
    assert [p.name for p in page.phases] == ["compiled", *(r.name for r in records)]
    for phase, before in zip(page.phases[1:], page.phases):
        assert phase.changed == (phase.view != before.view)
    fusing = next(p for p in page.phases if p.name == "graph_fuser")
    assert fusing.view == page.pane("ir").first and "added" in fusing.summary


def test_nodes_are_the_same_ones_in_all_phases() -> None:
    page = blended()
    line = row_with(page, "source", "w = torch.sigmoid(z) * y")
    for n, view in enumerate(page.pane("ir").views):
        assert sum("aten::sigmoid" in text for text in texts(page, line, "ir", n)) == 1, view.title


def test_what_a_phase_did_is_told_by_nodes_not_by_text() -> None:
    page = blended()
    inlined = page.pane("ir").views[1]
    assert inlined.title == "after inline"
    kinds = {row.kind for row in inlined.rows}
    assert {"added", "removed"} <= kinds
    assert [row.text for row in inlined.rows if row.kind == "removed"][0].strip().startswith("%z")
    shapes = next(
        view for view in page.pane("ir").views if view.title == "after propagate_input_shapes"
    )
    for row in shapes.rows:
        if row.kind == "changed":
            assert "".join(text for tag, text in row.pieces if tag != "del") == row.text
            assert any(tag == "ins" and "Float" in text for tag, text in row.pieces)


def test_the_rows_of_a_phase_without_what_is_gone_are_the_graph() -> None:
    from internals.jit.ir import type_verbosity

    page = blended()
    with torch.no_grad(), type_verbosity(1):
        last = list(jit.script(blend).executor.watched((torch.ones(4, 8), torch.ones(8))))[-1][1]
        text = last.str(False)
    shown = [row for row in rows(page, "ir") if row.kind != "removed"]
    assert "\n".join(row.text for row in shown) + "\n" == text
    assert [row.label for row in shown] == [str(n) for n in range(1, len(shown) + 1)]


@pytest.mark.parametrize("changed", [(0,), (2,), (99,), (97,), (40, 47), (40, 48), (40, 49), ()])
def test_of_a_long_graph_only_rows_far_from_what_changed_are_left_out(
    changed: tuple[int, ...],
) -> None:
    rows = [Row(str(n), kind="added" if n in changed else "") for n in range(100)]
    near = [n for n in range(100) if any(abs(n - at) <= 3 for at in changed)]
    kept = folded(rows, 99)
    assert [row.text for row in kept if row.kind != "note"] == [str(n) for n in near]
    gaps = [n for row in kept if row.kind == "note" for n in map(int, re.findall(r"\d+", row.text))]
    assert sum(gaps) == 100 - len(near) and 0 not in gaps
    assert folded(rows, 100) == rows


def test_long_graphs_keep_what_changed() -> None:
    many = [Row(str(n), kind="added" if n == 500 else "") for n in range(1000)]
    kept = folded(many, 100)
    assert [row.text for row in kept if row.kind != "note"] == [str(n) for n in range(497, 504)]
    assert [row.text for row in kept if row.kind == "note"] == [
        "… 497 unchanged lines not shown",
        "… 496 unchanged lines not shown",
    ]


# Programs of the corpus: a third of them, all in the long version


LOOKED_AT = (
    list(PROGRAMS.values())
    if full()
    else Random(0).sample(list(PROGRAMS.values()), len(PROGRAMS) // 3)
)


@pytest.mark.parametrize("program", [pytest.param(p, id=p.name) for p in LOOKED_AT])
def test_everything_is_tied_to_something(program: Program) -> None:
    function, _ = callable_of(torch, program)
    page = record(jit.script(function), program.arguments(torch), program.name, kernels=False)
    lines = {key for row in rows(page, "source") for key in row.own}
    for n, view in enumerate(page.pane("ir").views):
        for row in view.rows:
            assert row.own, row.text
            if "= " in row.text and not any(kind in row.text for kind in NO_PLACE):
                assert any(isinstance(each, Part) for each in page.marked(row, "source")), (
                    n,
                    row.text,
                )
                assert page.reach(row) & lines
    for view in page.pane("bytecode").views[:2]:
        assert view.rows and all(row.own for row in view.rows)
    keys = {key for row in rows(page, "ir") for key in row.own}
    for row in rows(page, "bytecode"):
        assert keys.intersection(row.own), (
            f"{row.text} is of a node that is not in the optimised graph"
        )
    for key, reached in page.links.items():
        assert key not in page.links.get("", ()) and list(reached) == sorted(reached)


def test_places_are_those_that_the_frontend_wrote_down() -> None:
    """The text marked for a node is that of its range, for every node of a scripted function that
    has one.
    """
    scripted = jit.script(blend)
    page = record(scripted, (), "blend")
    shown = [row for row in rows(page, "ir", 0) if " = " in row.text]
    for node, row in zip(all_nodes(scripted.graph.block()), shown, strict=True):
        assert f"{node.kind()}" in row.text
        if node.sourceRange() is None:
            continue
        parts = [
            (r, p) for r in rows(page, "source") for p in r.parts if set(p.own) & page.reach(row)
        ]
        marked = "".join(part_text(r, p) for r, p in parts)
        assert node.sourceRange().text() in marked


# Modules, traces, and what cannot be shown


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.fc(x)
        return y.relu()


def test_a_traced_module_is_tied_by_the_lines_of_the_stack() -> None:
    x = torch.ones(2, 4)
    page = record(jit.trace(Net().eval(), x, check_trace=False), (x,), "Net")
    line = row_with(page, "source", "return y.relu()")
    assert any("aten::relu" in text for text in texts(page, line, "ir"))
    linear = [row for row in rows(page, "ir") if "aten::linear" in row.text][0]
    assert any("y = self.fc(x)" in text for text in texts(page, linear, "source"))


@pytest.mark.parametrize("name", ["small_convnet", "multilayer_perceptron"])
@pytest.mark.filterwarnings("ignore::internals.jit.TracerWarning")
def test_traced_programs_have_places(name: str) -> None:
    program = PROGRAMS[name]
    function, _ = callable_of(torch, program)
    args = program.arguments(torch)
    page = record(traced(torch, program, function, args), args, name, kernels=False)
    tied = [
        bool(list(page.marked(row, "source"))) for row in rows(page, "ir") if "aten::" in row.text
    ]
    assert tied and all(tied)


def test_without_arguments_only_what_must_run_is_shown() -> None:
    page = record(jit.script(blend), (), "blend")
    assert (
        "give some" in page.notes[0]
        and "depends on the arguments" in page.pane("kernel").views[0].note
    )
    assert [p.name for p in page.phases][:2] == ["compiled", "inline"] and rows(page, "bytecode")
    net = record(jit.script(Net()), (torch.ones(2, 4),), "Net")
    assert net.pane("kernel").views[0].note.startswith("not shown: nothing in this graph is fused")


def test_arguments_are_not_written_to() -> None:
    def bump(x):  # type: ignore[no-untyped-def]
        return x.add_(1) * 2

    x = torch.zeros(2)
    record(jit.script(bump), (x,), "bump")
    assert x.tolist() == [0.0, 0.0]


def test_a_function_given_as_text() -> None:
    page = viz.explore("def f(x):\n    return torch.dot(x, x) + math.pi\n", torch.ones(2)).page
    assert page.name == "f" and row_with(page, "source", "def f").label == "1"
    assert any(
        "aten::dot" in text
        for text in texts(page, row_with(page, "source", "return torch"), "ir", 0)
    )
    two = viz.explore("  def g(x):\n    return x * 2\n\n  def f(x):\n    return g(x)\n").page
    assert two.name == "f" and row_with(two, "source", "return x * 2")
    with pytest.raises(ValueError, match="no function is defined in this text"):
        viz.explore("x = 1\n")
    with pytest.raises(SyntaxError):
        viz.explore("def f(x:\n")


def test_kernels_know_which_line_computes_which_node() -> None:
    with torch.no_grad():
        (kernel,) = kernels_of(jit.script(lambda_of_rows), torch.rand(3, 5), torch.rand(5))
    lines = list(zip(kernel.source.splitlines(), kernel.nodes, strict=True))
    for text, node in lines:
        if "# %" in text:  # the comment says the same
            assert node is not None and node.kind() in text
    stored = [
        node.kind() for text, node in lines if text.strip().startswith("out[") and node is not None
    ]
    assert stored[-1] == "aten::mul"


def lambda_of_rows(x, y):  # type: ignore[no-untyped-def]
    return torch.softmax(x * y, -1) * 2


def test_trees_and_ranges() -> None:
    text = "    def f(x):\n        return g(x, y[0]) + é.shape[1]\n"
    nodes, _ = python_tree(text)
    for node in nodes:
        if node.kind in ("Name", "Constant", "Subscript"):
            assert text[node.start : node.end].strip() == text[node.start : node.end] != ""
    at = text.index("y[0]")
    found = innermost(nodes, at, at + 4)
    assert found is not None and nodes[found].kind == "Subscript"
    assert innermost(nodes, 0, len(text) + 5) is None
    called = innermost(nodes, text.index("g("), text.index("g(") + 1)
    assert called is not None and nodes[called].kind == "Call"


def test_of_several_copies_those_in_the_same_block_are_the_same() -> None:
    def line(key: str, where: str, text: str = "") -> Line:
        return Line(text or key, (key,), "prim::Constant", (where,))

    before = [line("n1", "p0"), line("n1", "n5"), line("n2", "n5")]
    after = [line("n1", "n5"), line("n2", "p0"), line("n3", "p0")]
    assert identities(before, after) == [1, 2, -3]
    kinds = [(row.text, row.kind) for row in compared(before, after)]
    assert kinds == [("n1", "removed"), ("n1", ""), ("n2", ""), ("n3", "added")]
    assert [
        row.kind for row in compared(before[:2], [line("n1", "p0", "other"), line("n1", "n5")])
    ] == ["changed", ""]


def test_where_gradients_are_wanted_a_line_reaches_the_groups_that_it_runs_in() -> None:
    page = record(
        jit.script(blend),
        (torch.ones(4, 8, requires_grad=True), torch.ones(8)),
        "blend",
        kernels=False,
    )
    line = row_with(page, "source", "w = torch.sigmoid(z) * y")
    marked = texts(page, line, "ir")
    assert any("= prim::DifferentiableGraph_0(" in text for text in marked)
    assert any("= prim::FusionGroup_0(" in text for text in marked) and any(
        "aten::sigmoid" in text for text in marked
    )
    assert any(
        "prim::DifferentiableGraph" in row.note
        for row in page.marked(line, "bytecode")
        if isinstance(row, Row)
    )


def test_on_a_gpu_that_is_simulated_the_kernel_is_one_for_a_gpu(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def absent(*args: object, **kwargs: object) -> None:
        raise PtxUnavailable("compiling to PTX needs numba")

    monkeypatch.setattr("internals.cuda.ptx.compile_all", absent)
    with torch.no_grad(), backend.installed(SimulatedDriver()):
        args = torch.ones(4, 8, device="cuda"), torch.ones(8, device="cuda")
        page = record(jit.script(blend), args, "blend")
    source, ptx = page.pane("kernel").views
    assert source.note == "for this machine: cuda" and any(
        "cuda.grid(1)" in row.text for row in source.rows
    )
    line = row_with(page, "source", "w = torch.sigmoid(z) * y")
    assert any("sigmoid(" in text for text in texts(page, line, "kernel"))
    assert ptx.note == "not shown: compiling to PTX needs numba" and not ptx.rows


def test_the_small_view_has_each_line_beside_what_was_made_of_it() -> None:
    def mine(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        a = x * y
        return torch.relu(a + x)

    found = viz.explore(mine, torch.ones(2, 2), torch.ones(2, 2))
    titles, lines = linked(found.page)
    assert [title.split()[0].strip(",") for title in titles] == ["Graph", "Bytecode", "Kernel"]
    product = next(line for line in lines if "a = x * y" in line.line)
    assert any("aten::mul" in text for text in product.made[0])
    assert not any("relu" in text for text in product.made[2])
    bundle = found._repr_mimebundle_()
    assert "aten::mul" in bundle["text/plain"] and str(__file__) not in bundle["text/plain"]
    assert bundle["text/html"].count("<tr>") == len(lines) + 1 and len(bundle["text/html"]) < 20_000

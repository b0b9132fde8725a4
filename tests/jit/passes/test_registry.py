"""The table of passes: entering one, running it, noticing what it did, verifying it; passes for the
executor to run.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from internals.jit.ir import Graph
from internals.jit.passes import (
    PASSES,
    POST_PASSES,
    PRE_PASSES,
    Pass,
    clear_post_pass,
    clear_pre_pass,
    find_pass,
    graph_pass,
    register_pass,
    register_post_pass,
    register_pre_pass,
    run_pass,
    verify_after_every_pass,
)
from tests.jit.passes.pass_support import own_passes, parsed

TWICE = """graph(%x : Tensor):
  %a : Tensor = aten::relu(%x)
  %b : Tensor = aten::relu(%a)
  return (%b)
"""


@pytest.fixture(autouse=True)
def _own_passes() -> Iterator[None]:
    with own_passes():
        yield


def relu_twice(graph: Graph) -> bool:
    """relu(relu(x)) is relu(x)."""
    changed = False
    for node in graph.findAllNodes("aten::relu"):
        if node.input().node().kind() == "aten::relu":
            node.output().replaceAllUsesWith(node.input())
            node.destroy()
            changed = True
    return changed


def breaks_the_graph(graph: Graph) -> bool:
    last = list(graph.nodes())[-1]
    graph.outputs()[0].node().moveBefore(next(graph.nodes()))
    return last is not None


def test_a_pass_is_entered_under_its_name_and_run() -> None:
    run = graph_pass("relu of relu")(relu_twice)
    assert isinstance(PASSES["relu_twice"], Pass) and PASSES["relu_twice"].title == "relu of relu"
    assert PASSES["relu_twice"].doc == "relu(relu(x)) is relu(x)."
    graph = parsed(TWICE)
    assert run(graph) is True and len(graph.findAllNodes("aten::relu")) == 1
    assert run(graph) is False


def test_run_pass_takes_a_name_a_function_or_an_entry() -> None:
    entry = register_pass(relu_twice, name="mine")
    for p in ("mine", relu_twice, entry):
        record = run_pass(p, parsed(TWICE))
        assert record.changed and record.before != record.after and record.ms >= 0
    assert run_pass(relu_twice, parsed(TWICE)).name == "relu_twice"
    assert find_pass("mine") is entry


def test_texts_are_kept_only_if_wanted() -> None:
    record = run_pass(relu_twice, parsed(TWICE), keep_text=False)
    assert (record.before, record.after, record.changed) == ("", "", True)


def test_an_unknown_name_is_named_in_the_error() -> None:
    with pytest.raises(KeyError, match="no pass is called 'nonsense'; there are: "):
        run_pass("nonsense", parsed(TWICE))
    with pytest.raises(TypeError, match="a pass is a function of a graph, got int"):
        register_pass(3)  # type: ignore[arg-type]


def test_a_pass_that_returns_nothing_is_watched() -> None:
    def forgetful(graph: Graph) -> None:
        relu_twice(graph)

    graph = parsed(TWICE)
    assert run_pass(forgetful, graph).changed
    assert not run_pass(forgetful, graph).changed


def test_a_broken_graph_is_noticed_when_asked() -> None:
    with pytest.raises(
        RuntimeError,
        match="the pass 'breaks_the_graph' left a graph that is not well formed: .*order",
    ):
        run_pass(breaks_the_graph, parsed(TWICE), verify=True)
    with verify_after_every_pass(), pytest.raises(RuntimeError, match="not well formed"):
        run_pass(breaks_the_graph, parsed(TWICE))
    with verify_after_every_pass(False):
        run_pass(breaks_the_graph, parsed(TWICE))


def test_a_pass_that_denies_a_change_is_noticed() -> None:
    def denies(graph: Graph) -> bool:
        relu_twice(graph)
        return False

    with pytest.raises(RuntimeError, match="says that it changed nothing"):
        run_pass(denies, parsed(TWICE), verify=True)


def test_a_decorated_pass_is_verified_when_called_directly() -> None:
    run = graph_pass("breaks")(breaks_the_graph)
    with verify_after_every_pass(), pytest.raises(RuntimeError, match="not well formed"):
        run(parsed(TWICE))


def test_passes_for_the_executor() -> None:
    register_pass(relu_twice)
    register_pre_pass("relu_twice")
    register_post_pass("relu_twice")
    register_post_pass("relu_twice")
    assert [p.name for p in PRE_PASSES].count("relu_twice") == 1
    assert [p.name for p in POST_PASSES].count("relu_twice") == 1
    again = register_pass(relu_twice, title="run again, as a notebook cell is")
    assert again in PRE_PASSES and again in POST_PASSES
    clear_pre_pass("relu_twice")
    clear_post_pass(relu_twice)
    assert again not in PRE_PASSES and again not in POST_PASSES
    clear_post_pass("relu_twice")


def test_every_pass_of_the_table_is_explained() -> None:
    for p in PASSES.values():
        assert p.title and p.doc, p.name


def test_a_record_says_how_many_milliseconds_the_pass_took(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([7.0, 7.5])
    monkeypatch.setattr(run_pass.__globals__["time"], "perf_counter", lambda: next(clock, 8.0))
    assert run_pass("dce", parsed(TWICE)).ms == 500.0

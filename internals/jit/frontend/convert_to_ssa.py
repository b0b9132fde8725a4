"""From names to values: each `prim::Load` is replaced by the value that was last stored
(`convert_to_ssa.cpp`).

    x = x + 1            %0 = prim::Load[name="x"]()                    %x.3 = aten::add(%x.1, ...)
    if c:                %x.3 = aten::add(%0, ...)                      %x = prim::If(%c)
        x = -x           prim::Store[name="x"](%x.3)                      block0():
    return x             prim::If(%c)                          =>           %x.5 = aten::neg(%x.3)
                           block0():                                        -> (%x.5)
                             ...                                          block1():
                                                                            -> (%x.3)

Within one block, a walk with a dictionary does that. Values assigned inside an `if` or a loop need
a way out, however, because a block's values are not visible after it. So there are two walks:

1. Each `if` and loop gets an output for every name assigned in it that is defined after it; a loop
   gets an input as well, which is carried from one iteration to the next. Loads and Stores connect
   these inputs and outputs with the names.
2. All Loads and Stores are removed, block by block.

Between the walks, `break` and `continue` get their arguments (`loop_forms.py`); after them,
`return`, `break` and `continue` are removed themselves (`exit_transforms.py`).

In every block the names are handled in alphabetical order, so that the same program always gives
the same graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from internals.jit.ir import Block, Graph, Node, Type, Value, unify_types

from .environment import meaningful
from .exit_transforms import transform_exits
from .loop_forms import inline_loop_conditions, set_loop_continuations

if TYPE_CHECKING:
    from .compiler import Watch

T = TypeVar("T")


def convert_to_ssa(graph: Graph, watch: Watch) -> None:
    """Remove the Loads, Stores and exits of a graph the compiler has just emitted."""
    pass_variables_through_control_flow(graph.block(), None)
    watch("outputs of ifs and loops", graph)
    set_loop_continuations(graph)
    inline_loop_conditions(graph.block())
    watch("loop conditions", graph)
    erase_loads_and_stores(graph.block(), None)
    watch("names resolved", graph)
    transform_exits(graph)
    watch("exits removed", graph)


class Frame(Generic[T]):
    """The names assigned in one block: their types in the first walk, their values in the second.
    `outer` is the frame of the block around it.
    """

    def __init__(self, outer: Frame[T] | None) -> None:
        self.outer = outer
        self.table: dict[str, T] = {}

    def find(self, name: str) -> T | None:
        """The entry of a name in the innermost frame that has it; None if it is unknown."""
        frame: Frame[T] | None = self
        while frame is not None:
            if name in frame.table:
                return frame.table[name]
            frame = frame.outer
        return None

    def defined(self) -> list[str]:
        return sorted(self.table)


def pass_variables_through_control_flow(block: Block, outer: Frame[Type] | None) -> Frame[Type]:
    """First walk: give ifs and loops outputs for the names they assign. Returns the frame of the
    block.
    """
    frame: Frame[Type] = Frame(outer)
    for node in block.nodes():
        if node.kind() == "prim::If":
            _outputs_of_if(node, frame)
        elif node.kind() == "prim::Loop":
            _outputs_of_loop(node, frame)
        elif node.kind() == "prim::Store":
            frame.table[node.s("name")] = node.input().type()
        elif node.kind() in ("prim::Closure", "prim::ComprehensionScope"):
            pass_variables_through_control_flow(node.blocks()[0], frame)
    return frame


def _outputs_of_if(node: Node, frame: Frame[Type]) -> None:
    """Give an `if` an output for each name that one arm assigns and that the other one knows: a
    name known in only one arm is undefined afterwards.
    """
    arms = node.blocks()
    true, false = (pass_variables_through_control_flow(arm, frame) for arm in arms)
    changed = {name for name in true.table if false.find(name) is not None}
    changed |= {name for name in false.table if true.find(name) is not None}
    for name in sorted(changed):
        if_true, if_false = true.find(name), false.find(name)
        assert if_true is not None and if_false is not None
        unified = unify_types(if_true, if_false)
        if unified is None:  # never read: the compiler has reported every use as an error
            continue
        _load_as_output(arms[0], if_true, name)
        _load_as_output(arms[1], if_false, name)
        _add_output(node, unified, name)
        frame.table[name] = unified


def _outputs_of_loop(node: Node, frame: Frame[Type]) -> None:
    """Carry each name that the body assigns and that is known before the loop: it enters as an
    input of the node, is a parameter and an output of the body, and leaves as the node's output.
    """
    body = node.blocks()[0]
    inside = pass_variables_through_control_flow(body, frame)
    for name in inside.defined():
        before = frame.find(name)
        if before is None:  # unknown before the loop, so also after it: it may run zero times
            continue
        unified = unify_types(before, inside.table[name])
        assert unified is not None
        graph = node.owningGraph()
        load = graph.create("prim::Load").s_("name", name)
        load.output().setType(before)
        node.addInput(load.insertBefore(node).output())
        carried = body.addInput(name).setType(unified)
        graph.create("prim::Store", [carried], 0).s_("name", name).insertAfter(body.paramNode())
        _load_as_output(body, inside.table[name], name)
        _add_output(node, unified, name)
        frame.table[name] = unified


def _load_as_output(block: Block, t: Type, name: str) -> None:
    """Make the value that `name` has at the end of the block one more output of it."""
    graph = block.graph
    load = graph.create("prim::Load").s_("name", name).insertBefore(block.returnNode())
    block.registerOutput(load.output().setType(t))


def _add_output(node: Node, t: Type, name: str) -> None:
    """Add an output to an `if` or a loop, and store it in `name` right after it."""
    out = node.addOutput().setType(t)
    if meaningful(name):
        out.setDebugName(name)
    node.owningGraph().create("prim::Store", [out], 0).s_("name", name).insertAfter(node)


def erase_loads_and_stores(block: Block, outer: Frame[Value] | None) -> None:
    """Second walk: replace each Load by the value last stored, and remove Loads and Stores."""
    frame: Frame[Value] = Frame(outer)
    for node in list(block.nodes()):
        if node.kind() == "prim::Store":
            frame.table[node.s("name")] = node.input()
            node.destroy()
        elif node.kind() == "prim::Load":
            value = frame.find(node.s("name"))
            assert value is not None, f"{node.s('name')} is read before it is assigned"
            node.output().replaceAllUsesWith(value)
            node.destroy()
        elif node.kind() == "prim::ComprehensionScope":
            # names in it have a frame of their own; its nodes then move into the block around it
            body = node.blocks()[0]
            erase_loads_and_stores(body, frame)
            for each in list(body.nodes()):
                each.moveBefore(node)
            node.destroy()
        else:
            for inner in node.blocks():
                erase_loads_and_stores(inner, frame)

"""Early `return`, `break` and `continue` out of the graph (`exit_transforms.cpp`).

The IR has no jumps: a block runs from its first node to its last. So what follows a statement that
may have left is put under a condition:

    while i < 5:                            i, exited, result = 0, False, ?
        if x[i] > 3:                        while i < 5 and not exited:
            return i              =>            if x[i] > 3: exited, result = True, i
        i += 1                                  else:        exited, result = False, ?
    return 5                                    if not exited: i += 1
                                            return result if exited else 5

A first walk does so for `break` and `continue`, which leave to the end of the loop's body, a second
for `return`, which leaves to the end of the function. The walk gives for each block a value that
says whether it has been left, `exited`, with the values it was left with. What is left surely needs
no condition: the rest of the block is dead. `?` is a `prim::Uninitialized`, one for each type:
nothing reads it.

An `if` directly followed by another whose condition is the constants the first one's arms put out
is then merged with it, so that `if c: return 1` / `return 2` is one `prim::If`.

How the real one differs: when the body of a `with` may be left in the middle and makes a value that
is used after it, the real one fails with an internal error; here the value is one more output of
the condition (`hand_out`). The same happens there when such a value is used in an arm that is
merged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from internals.jit.ir import Block, BoolType, Graph, Node, Type, Value, unify_types
from internals.jit.ir.constants import constant_of, is_constant

from .context_managers import lower_grad_modes
from .loop_forms import first_node
from .with_blocks import enter_exit_to_with_blocks, with_blocks_to_enter_exit


def transform_exits(graph: Graph) -> None:
    """Remove `prim::LoopContinuation` and `prim::ReturnStmt`."""
    enter_exit_to_with_blocks(graph)
    for kind in ("prim::LoopContinuation", "prim::ReturnStmt"):
        with graph.insert_point_guard(first_node(graph.block())):
            transformer = ExitTransformer(graph, kind)
        transformer.transform_block(graph.block())
    with_blocks_to_enter_exit(graph)
    # copies blocks: what a `with` makes must not be in one of its own any more
    merge_consecutive_ifs(graph.block())
    lower_grad_modes(graph.block())


class Exit(NamedTuple):
    """Whether a block has been left (a bool of the graph, or one of the transformer's marks) and
    with which values.
    """

    exited: Value
    values: list[Value]


class ExitTransformer:
    """One walk, for one kind of exit. `true`, `false` and `throws` mark blocks that surely are
    left, are not left, raise.
    """

    def __init__(self, graph: Graph, kind: str) -> None:
        self.graph, self.kind = graph, kind
        self.uninitialized: dict[Type, Value] = {}
        self.true = graph.insertConstant(True)
        self.false = graph.insertConstant(False)
        self.throws = self.unit(BoolType.get())
        self.target: Block | None = None  # the block the exits leave to the end of

    def transform_block(self, block: Block) -> Exit:
        outer_target = self.target
        if self.is_target(block):
            self.target = block
        exit = Exit(self.false, [])
        node = block.paramNode().next()
        while node is not block.returnNode():
            following = node.next()
            exit = self.transform_node(node, exit)
            if exit.exited is self.true or exit.exited is self.throws:
                self.delete_from(following, block)
                break
            if exit.exited is not self.false:
                if following is not block.returnNode():
                    exit = self.guard_rest(block, exit, following)
                break
            node = following
        if self.target is block:
            self.leave_target(block, exit)
            exit = Exit(self.false, [])
        self.target = outer_target
        return exit

    def is_target(self, block: Block) -> bool:
        owner = block.owningNode()
        if self.kind == "prim::LoopContinuation":
            return owner is not None and owner.kind() == "prim::Loop"
        return owner is None or owner.kind() == "prim::Closure"

    def transform_node(self, node: Node, exit: Exit) -> Exit:
        kind = node.kind()
        if kind == "prim::RaiseException":
            return Exit(self.throws, [])
        if kind == self.kind:
            values = node.inputs()
            node.destroy()
            return Exit(self.true, values)
        if kind == "prim::If":
            return self.transform_if(node)
        if kind == "prim::Loop":
            return self.transform_loop(node)
        if kind == "prim::With":
            return self.transform_block(node.blocks()[0])
        if kind == "prim::Closure":
            self.transform_block(node.blocks()[0])
        return exit

    def transform_if(self, node: Node) -> Exit:
        then, other = (self.transform_block(b) for b in node.blocks())
        marks = [e.exited for e in (then, other) if e.exited is not self.throws]
        if not marks:
            return Exit(self.throws, [])
        if all(mark is self.false for mark in marks):
            return Exit(self.false, [])
        if then.exited is self.false or then.exited is self.throws:
            then = Exit(then.exited, [self.unit(v.type()) for v in other.values])
        elif other.exited is self.false or other.exited is self.throws:
            other = Exit(other.exited, [self.unit(v.type()) for v in then.values])
        exited = self.true
        if any(mark is not self.true for mark in marks):
            exited = add_if_outputs(node, [then.exited], [other.exited])[0]
        return Exit(exited, add_if_outputs(node, then.values, other.values))

    def transform_loop(self, node: Node) -> Exit:
        body = node.blocks()[0]
        exit = self.transform_block(body)
        if (
            exit.exited is self.false or exit.exited is self.throws
        ):  # a loop that always throws may still not be entered
            return Exit(self.false, [])
        go_on = self.graph.create("prim::If", [exit.exited], 0).insertBefore(body.returnNode())
        go_on.addBlock().registerOutput(self.false)
        go_on.addBlock().registerOutput(body.outputs()[0])
        body.replaceOutput(0, go_on.addOutput().setType(BoolType.get()))
        node.addInput(self.false)
        body.addInput().setType(BoolType.get())
        body.registerOutput(exit.exited)
        exited = node.addOutput().setType(BoolType.get())
        for value in exit.values:
            node.addInput(self.unit(value.type()))
            node.addOutput().setType(value.type())
            body.addInput().setType(value.type())
            body.registerOutput(value)
        n = len(exit.values)
        return Exit(exited, node.outputs()[-n:] if n else [])

    def guard_rest(self, block: Block, exit: Exit, first: Node) -> Exit:
        """Put everything from `first` on under `if exited: leave again, else: go on`."""
        guard = self.graph.create("prim::If", [exit.exited], 0).insertBefore(first)
        left, rest = guard.addBlock(), guard.addBlock()
        node = first
        while node is not block.returnNode():
            following = node.next()
            node.moveBefore(rest.returnNode())
            node = following
        outputs = block.outputs()
        units = [self.unit(v.type()) for v in outputs]
        for out, unit in zip(outputs, units):
            left.registerOutput(unit)
            rest.registerOutput(out)
            guard.addOutput().setType(out.type())
        set_outputs(block, guard.outputs())
        self.hand_out(guard, left, rest)
        self.graph.create(self.kind, exit.values, 0).insertBefore(left.returnNode())
        return self.transform_if(guard)

    def hand_out(self, guard: Node, left: Block, rest: Block) -> None:
        """What is made in `rest` and used after it comes out of the guard: a `with` is no scope,
        its names live on.
        """
        for value in [v for node in rest.nodes() for v in node.outputs()]:
            later = [use for use in value.uses() if not is_in(use.user, rest)]
            if later:
                left.registerOutput(self.unit(value.type()))
                rest.registerOutput(value)
                out = guard.addOutput().copyMetadata(value)
                for use in later:
                    use.user.replaceInput(use.offset, out)

    def leave_target(self, block: Block, exit: Exit) -> None:
        """The block's outputs become the values it was left with."""
        if exit.exited is self.true:
            set_outputs(block, exit.values)
        elif exit.exited is not self.false and exit.exited is not self.throws:
            choice = self.graph.create("prim::If", [exit.exited], 0).insertBefore(
                block.returnNode()
            )
            choice.addBlock()
            choice.addBlock()
            add_if_outputs(choice, exit.values, block.outputs())
            set_outputs(block, choice.outputs())

    def delete_from(self, first: Node, block: Block) -> None:
        """Remove dead nodes, last first; what is still used of them is never read."""
        node = block.returnNode().prev()
        end = first.prev()
        while node is not end:
            previous = node.prev()
            for out in node.outputs():
                if out.uses():
                    out.replaceAllUsesWith(self.unit(out.type()))
            node.destroy()
            node = previous

    def unit(self, t: Type) -> Value:
        """The uninitialized value of a type, made on demand at the start of the graph."""
        if t not in self.uninitialized:
            node = self.graph.create("prim::Uninitialized").insertAfter(
                self.graph.block().paramNode()
            )
            self.uninitialized[t] = node.output().setType(t)
        return self.uninitialized[t]


def add_if_outputs(node: Node, true: Sequence[Value], false: Sequence[Value]) -> list[Value]:
    """Let both arms put out these values."""
    added = []
    for t, f in zip(true, false):
        node.blocks()[0].registerOutput(t)
        node.blocks()[1].registerOutput(f)
        unified = unify_types(t.type(), f.type())
        added.append(node.addOutput().setType(t.type() if unified is None else unified))
    return added


def is_in(node: Node, block: Block) -> bool:
    """Whether `node` is in `block` or in a block inside it."""
    at: Node | None = node
    while at is not None and at.owningBlock() is not block:
        at = at.owningBlock().owningNode()
    return at is not None


def set_outputs(block: Block, values: Sequence[Value]) -> None:
    while block.outputs():
        block.eraseOutput(0)
    for v in values:
        block.registerOutput(v)


def merge_consecutive_ifs(block: Block) -> None:
    node = block.paramNode().next()
    while node is not block.returnNode():
        for inner in node.blocks():
            merge_consecutive_ifs(inner)
        if not _merge_with_next(node):
            node = node.next()


def _merge_with_next(first: Node) -> bool:
    second = first.next()
    if (
        first.kind() != "prim::If"
        or second.kind() != "prim::If"
        or second.input().node() is not first
    ):
        return False
    offset = second.input().offset()
    decisions = [arm.outputs()[offset] for arm in first.blocks()]
    if not all(is_constant(d) for d in decisions) or constant_of(decisions[0]) == constant_of(
        decisions[1]
    ):
        return False
    for arm, decision in zip(first.blocks(), decisions):
        chosen = second.blocks()[0 if constant_of(decision) else 1]
        for out, inside in zip(first.outputs(), arm.outputs()):
            for use in out.uses():
                if is_in(use.user, chosen):
                    use.user.replaceInput(use.offset, inside)
        for node in chosen.nodes():
            node.moveBefore(arm.returnNode())
        for value in chosen.outputs():
            arm.registerOutput(value)
    for out in second.outputs():
        out.replaceAllUsesWith(first.addOutput().copyMetadata(out))
    second.destroy()
    return True

"""Removing early `return`, `break` and `continue` from the graph (`exit_transforms.cpp`).

The IR has no jumps: a block runs from its first node to its last. So the statements after one that
may have left the block are put under a condition:

    while i < 5:                            i, exited, result = 0, False, ?
        if x[i] > 3:                        while i < 5 and not exited:
            return i              =>            if x[i] > 3: exited, result = True, i
        i += 1                                  else:        exited, result = False, ?
    return 5                                    if not exited: i += 1
                                            return result if exited else 5

The first walk does this for `break` and `continue`, which jump to the end of the loop's body; the
second for `return`, which jumps to the end of the function. For each block, the walk finds a bool,
`exited`, that says whether the block has been left, and the values it was left with. If a block is
left for certain, the rest of it is dead and is removed instead. `?` is a `prim::Uninitialized`, one
for each type, which is never read.

Afterwards an `if` is merged with the one after it, if the latter's condition is an output of the
former that is constant in each arm. So `if c: return 1` / `return 2` becomes one `prim::If`.

How the real one differs: if the body of a `with` may be left in the middle, and makes a value that
is used after it, the real one fails with an internal error; here the value is one more output of
the condition (`hand_out`). It also fails if such a value is used in an arm that is merged.
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
    """Remove `prim::LoopContinuation` and `prim::ReturnStmt`, in place: first the exits from loops,
    then those from the function.
    """
    enter_exit_to_with_blocks(graph)
    for kind in ("prim::LoopContinuation", "prim::ReturnStmt"):
        with graph.insert_point_guard(first_node(graph.block())):
            transformer = ExitTransformer(graph, kind)
        transformer.transform_block(graph.block())
    with_blocks_to_enter_exit(graph)
    # only now: it moves nodes between blocks, so values made in a `with` must not be in a block of
    # their own
    merge_consecutive_ifs(graph.block())
    lower_grad_modes(graph.block())


class Exit(NamedTuple):
    """`exited` is a bool of the graph, or one of the transformer's marks, that says whether a block
    has been left; `values` are the values it was left with.
    """

    exited: Value
    values: list[Value]


class ExitTransformer:
    """One walk, for one kind of exit node. The values `true`, `false` and `throws` also serve as
    marks, compared by identity: of a block that always is left, never is left, always raises.
    """

    def __init__(self, graph: Graph, kind: str) -> None:
        self.graph, self.kind = graph, kind
        self.uninitialized: dict[Type, Value] = {}
        self.true = graph.insertConstant(True)
        self.false = graph.insertConstant(False)
        self.throws = self.unit(BoolType.get())
        self.target: Block | None = None  # the block to whose end the exits jump

    def transform_block(self, block: Block) -> Exit:
        """Remove the exits in `block`, and return whether and how it is left. A target block is
        never left: its exits jump to its own end.
        """
        outer_target = self.target
        if self.is_target(block):
            self.target = block
        exit = Exit(self.false, [])
        node = block.paramNode().next()
        while node is not block.returnNode():
            following = node.next()
            exit = self.transform_node(node, exit)
            if exit.exited is self.true or exit.exited is self.throws:
                self.delete_from(following, block)  # dead code
                break
            if exit.exited is not self.false:  # known at run time only
                if following is not block.returnNode():
                    exit = self.guard_remainder(block, exit, following)
                break
            node = following
        if self.target is block:
            self.leave_target(block, exit)
            exit = Exit(self.false, [])
        self.target = outer_target
        return exit

    def is_target(self, block: Block) -> bool:
        """Whether exits of this kind jump to the end of `block`: the body of a loop for `break` and
        `continue`, a whole function for `return`.
        """
        owner = block.owningNode()
        if self.kind == "prim::LoopContinuation":
            return owner is not None and owner.kind() == "prim::Loop"
        return owner is None or owner.kind() == "prim::Closure"

    def transform_node(self, node: Node, exit: Exit) -> Exit:
        """The exit state after `node`, given the one before it."""
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
        """Make `exited` and the values of the arms' exits outputs of the `if`."""
        then, other = (self.transform_block(b) for b in node.blocks())
        # an arm that raises never gets here, so it does not decide
        marks = [e.exited for e in (then, other) if e.exited is not self.throws]
        if not marks:
            return Exit(self.throws, [])
        if all(mark is self.false for mark in marks):
            return Exit(self.false, [])
        # an arm that does not leave needs as many values, which are never read
        if then.exited is self.false or then.exited is self.throws:
            then = Exit(then.exited, [self.unit(v.type()) for v in other.values])
        elif other.exited is self.false or other.exited is self.throws:
            other = Exit(other.exited, [self.unit(v.type()) for v in then.values])
        exited = self.true
        if any(mark is not self.true for mark in marks):
            exited = add_if_outputs(node, [then.exited], [other.exited])[0]
        return Exit(exited, add_if_outputs(node, then.values, other.values))

    def transform_loop(self, node: Node) -> Exit:
        """Stop the loop once its body has been left, and carry `exited` and the values out of it.
        (In the walk for `break`, the body is a target: it is not left.)
        """
        body = node.blocks()[0]
        exit = self.transform_block(body)
        # a loop whose body always raises may have no iteration, so it does not always raise
        if exit.exited is self.false or exit.exited is self.throws:
            return Exit(self.false, [])
        # the next condition: `False if exited else condition`
        next_condition = self.graph.create("prim::If", [exit.exited], 0).insertBefore(
            body.returnNode()
        )
        next_condition.addBlock().registerOutput(self.false)
        next_condition.addBlock().registerOutput(body.outputs()[0])
        body.replaceOutput(0, next_condition.addOutput().setType(BoolType.get()))
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

    def guard_remainder(self, block: Block, exit: Exit, first: Node) -> Exit:
        """Put the nodes from `first` to the end of the block under a condition: `if exited:` an
        exit with the same values, `else:` the nodes. The block's outputs become those of the new
        `if`, which is then transformed itself.
        """
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
        """Make each value that is computed in `rest` and used outside it an output of the guard. It
        happens in the body of a `with`, whose names are visible after it.
        """
        for value in [v for node in rest.nodes() for v in node.outputs()]:
            outside = [use for use in value.uses() if not is_in(use.user, rest)]
            if outside:
                left.registerOutput(self.unit(value.type()))
                rest.registerOutput(value)
                out = guard.addOutput().copyMetadata(value)
                for use in outside:
                    use.user.replaceInput(use.offset, out)

    def leave_target(self, block: Block, exit: Exit) -> None:
        """Make the values that a target block was left with its outputs: always, or if `exited`."""
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
        """Remove the dead nodes from `first` to the end of the block, last first. The block's
        outputs may still use their values, which become uninitialized: they are not read.
        """
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
        """The uninitialized value of a type, created on first use, at the start of the graph."""
        if t not in self.uninitialized:
            node = self.graph.create("prim::Uninitialized").insertAfter(
                self.graph.block().paramNode()
            )
            self.uninitialized[t] = node.output().setType(t)
        return self.uninitialized[t]


def add_if_outputs(node: Node, true: Sequence[Value], false: Sequence[Value]) -> list[Value]:
    """Add outputs to both arms of an `if`. Returns the new outputs of the node."""
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
    """Replace all outputs of a block."""
    while block.outputs():
        block.eraseOutput(0)
    for v in values:
        block.registerOutput(v)


def merge_consecutive_ifs(block: Block) -> None:
    """Merge ifs with the next one where possible, in `block` and the blocks in it. A merged `if` is
    tried again with the node that then follows.
    """
    node = block.paramNode().next()
    while node is not block.returnNode():
        for inner in node.blocks():
            merge_consecutive_ifs(inner)
        if not _merge_with_next(node):
            node = node.next()


def _merge_with_next(first: Node) -> bool:
    """If `first` decides which arm the `if` after it takes, move those arms into its own. Returns
    whether it did.
    """
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
        # inside the arm, the outputs of `first` are not visible: use the values themselves
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

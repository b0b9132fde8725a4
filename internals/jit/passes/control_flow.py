"""Rewriting nodes with blocks: shared by the passes that take an If, a Loop or a GradOf apart
(`inlineIf` of `torch/csrc/jit/passes/constant_propagation.cpp`, `inlineBody` of
`loop_unrolling.cpp`).

How the real one differs: `inlineBody` and the like are private to each pass there.
"""

from __future__ import annotations

from internals.jit.ir import Block, Node


def splice(block: Block, node: Node) -> None:
    """Move the nodes of one of its blocks in front of `node`, give its outputs' users what the
    block returns, and destroy it.
    """
    for inner in block.nodes():
        inner.moveBefore(node)
    for old, new in zip(node.outputs(), block.outputs(), strict=True):
        old.replaceAllUsesWith(new)
    node.destroy()


def erase_if_output(node: Node, i: int) -> None:
    """Take output `i`, which nobody uses, from an If (or GradOf) and from its blocks."""
    node.eraseOutput(i)
    for b in node.blocks():
        b.eraseOutput(i)


def erase_carried(loop: Node, i: int, body_input: bool = True) -> None:
    """Take the value number `i` that a Loop carries out of it; neither its output nor the body's
    input may be used any more.

    body_input=False leaves the body's input, for a caller who has yet to remove its last users.
    """
    body = loop.blocks()[0]
    loop.eraseOutput(i)
    loop.removeInput(i + 2)
    body.eraseOutput(i + 1)
    if body_input:
        body.eraseInput(i + 1)

"""Rewriting of nodes with blocks, shared by the passes that dissolve an If, a Loop or a GradOf
(`inlineIf` of `torch/csrc/jit/passes/constant_propagation.cpp`, `inlineBody` of
`loop_unrolling.cpp`).

How the real one differs: each pass has such functions of its own.
"""

from __future__ import annotations

from internals.jit.ir import Block, Node


def splice(block: Block, node: Node) -> None:
    """Replace `node` by the nodes of `block`, one of its blocks: they are moved in front of it, and
    its outputs are replaced by those of the block.
    """
    for inner in block.nodes():
        inner.moveBefore(node)
    for old, new in zip(node.outputs(), block.outputs(), strict=True):
        old.replaceAllUsesWith(new)
    node.destroy()


def erase_if_output(node: Node, i: int) -> None:
    """Erase the unused output `i` of an If (or GradOf), and that of its blocks."""
    node.eraseOutput(i)
    for b in node.blocks():
        b.eraseOutput(i)


def erase_carried(loop: Node, i: int, body_input: bool = True) -> None:
    """Erase the carried value number `i` of a Loop; neither the output of the Loop nor the input of
    its body may be in use any more.

    `body_input=False` keeps the body's input, for a caller that has yet to remove its last users.
    """
    body = loop.blocks()[0]
    loop.eraseOutput(i)
    loop.removeInput(i + 2)
    body.eraseOutput(i + 1)
    if body_input:
        body.eraseInput(i + 1)

"""`with` statements while exits are transformed (`exit_transforms.cpp`).

    %a = prim::Enter(%b)               %a = prim::Enter(%b)
    <body>                   <=>       prim::With()
    prim::Exit(%b)                       block0(): <body>
                                         block1(): prim::Exit(%b)

A `return` inside `with` must still run the exit. So while returns are removed, which moves the
nodes after a `return` under a condition, the body is a block of its own, and the exit is not in it.
"""

from __future__ import annotations

from internals.jit.ir import Graph, Node, all_nodes


def enter_exit_to_with_blocks(graph: Graph) -> None:
    """From left to right in the picture above, for all blocks of the graph."""
    open_ones: list[Node] = []  # a stack, because `with` statements are nested
    pairs: list[tuple[Node, Node]] = []
    for node in list(all_nodes(graph.block())):
        if node.kind() == "prim::Enter":
            open_ones.append(node)
        elif node.kind() == "prim::Exit":
            pairs.append((open_ones.pop(), node))
    for enter, exit in pairs:
        block = graph.create("prim::With", [], 0).insertAfter(enter)
        body, at_exit = block.addBlock(), block.addBlock()
        node = block.next()
        while node is not exit:
            following = node.next()
            node.moveBefore(body.returnNode())
            node = following
        exit.moveBefore(at_exit.returnNode())


def with_blocks_to_enter_exit(graph: Graph) -> None:
    """From right to left in the picture above."""
    for block in [node for node in all_nodes(graph.block()) if node.kind() == "prim::With"]:
        for part in block.blocks():
            for node in list(part.nodes()):
                node.moveBefore(block)
        block.destroy()

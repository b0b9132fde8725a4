"""In-place Python functions are refused (`torch/csrc/jit/passes/inplace_check.cpp`).

What a Python function does to its arguments nobody can see in the graph. One that says that it
writes to them would make every reordering wrong, so a graph that contains one does not run at all.
"""

from __future__ import annotations

from internals.jit.ir import Graph
from internals.jit.passes.registry import graph_pass


@graph_pass("no in-place Python functions")
def check_inplace(graph: Graph) -> bool:
    """Raises RuntimeError if a Python function of the graph's top level is marked as in-place.
    Changes nothing.
    """
    for node in graph.nodes():
        is_python = node.kind().startswith("^") or node.kind() == "prim::PythonOp"
        if is_python and node.hasAttribute("inplace") and node.i("inplace"):
            raise RuntimeError(f"inplace {node.kind().removeprefix('^')} not supported in the JIT")
    return False

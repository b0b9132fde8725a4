"""Functions of rows that a fused group may contain: reductions over the last dimensions (part of
`graph_fuser.cpp`).

softmax, layer_norm, sums, means and variances over the last dimensions need a whole row before they
have a result. The fuser makes one kernel of them and of the operations before and after, which
walks over a row several times while it is in the cache. So a group contains them only where it is
known that they reduce the last dimensions:

    x.sum(-1)                x.var(1), if x is known to have two dimensions
    x.mean((-2, -1))         F.layer_norm(x, (64,), w, b)

How the real one differs: 1.0.1 fuses pointwise operations only.
"""

from __future__ import annotations

from collections.abc import Sequence

from internals.jit.ir import Node
from internals.jit.ir.tensor_type import TensorType
from internals.jit.passes.overloads import NOT_CONSTANT, constant, named_constant, overload_of
from internals.jit.passes.subgraph_utils import is_tensor

SOFTMAX = frozenset({"aten::softmax.int", "aten::log_softmax.int"})
LAYER_NORM = "aten::layer_norm"
REDUCTIONS = frozenset({
    "aten::sum.dim_IntList", "aten::mean.dim", "aten::var.dim", "aten::var.correction",
    "aten::std.dim", "aten::std.correction",
})  # fmt: skip
ROW_FUNCTIONS = SOFTMAX | REDUCTIONS | {LAYER_NORM}


def is_of_rows(node: Node) -> bool:
    """Whether `node` is such a function, and a group can contain it: all arguments but its tensors
    must be constants. Only the sizes for a layer norm may be computed, as `(x.size(-1),)` is.
    """
    name = overload_of(node)
    # the numbers of the arguments that are neither tensors nor constants
    others = [
        i for i, v in enumerate(node.inputs()) if not is_tensor(v) and constant(v) is NOT_CONSTANT
    ]
    if name == LAYER_NORM:
        return others in ([], [1])
    if name not in ROW_FUNCTIONS or others:
        return False
    schema = node.schema()
    if (
        schema is None
        or schema.argument_index("dtype") is not None
        and named_constant(node, "dtype") is not None
    ):
        return False
    return name in SOFTMAX or goes_over_last(named_constant(node, "dim"), _rank(node))


def goes_over_last(dim: Sequence[int], rank: int | None) -> bool:
    """Whether `dim` are the last dimensions. Without the rank, that is known only for dimensions
    counted from the end: -1, -2.
    """
    dims = [dim] if isinstance(dim, int) else dim or []
    behind = sorted(d - rank if d >= 0 and rank is not None else d for d in dims)
    return len(behind) > 0 and behind == list(range(-len(behind), 0))


def _rank(node: Node) -> int | None:
    t = node.inputsAt(0).type()
    return t.dim() if isinstance(t, TensorType) else None

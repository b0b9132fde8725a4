"""What runs a `prim::FusionGroup`, and the nodes that exist because of fusion
(`torch/csrc/jit/codegen/fuser/`).

A group is run as it stands, operator by operator: the same result as from one compiled loop over
memory, without its speed. That is also what PyTorch does where it cannot compile a kernel
(`codegen/fuser/fallback.cpp`).

How the real one differs: it compiles the group to CUDA or C++ when it is first run with tensors of
some dtypes and layouts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from internals._generated import ops
from internals.aten.broadcasting import broadcast_shapes
from internals.jit.fuser.compiled_group import CompiledGroup
from internals.jit.ir import Node

from .node_functions import node_function

if TYPE_CHECKING:
    from internals._tensor import Tensor

Function = Callable[..., Any]


@node_function("prim::FusionGroup")
def fusion_group(node: Node) -> Function:
    return CompiledGroup(node)


@node_function("prim::ConstantChunk", "prim::BroadcastingChunk")
def constant_chunk(node: Node) -> Function:
    """`chunk` with its arguments as attributes, and as many outputs as pieces; RuntimeError if
    there are more or less.
    """
    chunks, dim, tensors = node.i("chunks"), node.i("dim"), node.inputsSize()

    def chunk(*inputs: Any) -> Any:
        pieces: list[Any] = []
        for t in ops.broadcast_tensors(list(inputs)) if tensors > 1 else inputs:
            found = ops.chunk(t, chunks, dim)
            if len(found) != chunks:
                raise RuntimeError(
                    f"Expected chunk to return exactly {chunks} outputs but it returned "
                    f"{len(found)}: the size {t.size(dim)} of dimension {dim} cannot be split so"
                )
            pieces += found
        return pieces[0] if len(pieces) == 1 else tuple(pieces)

    return chunk


@node_function("prim::FusedConcat")
def fused_concat(node: Node) -> Function:
    dim = node.i("dim")
    return lambda *tensors: ops.cat(list(tensors), dim)


@node_function("prim::BroadcastSizes")
def broadcast_sizes(node: Node) -> Function:
    """The size that tensors of these sizes broadcast to. Raises RuntimeError if they do not."""
    return lambda *sizes: list(broadcast_shapes(*sizes))


@node_function("prim::ChunkSizes")
def chunk_sizes(node: Node) -> Function:
    """The sizes of the pieces of a chunk: of all but the last, and of the last."""
    chunks, dim = node.i("chunks"), node.i("dim")

    def sizes_of_chunks(size: list[int]) -> tuple[list[int], list[int]]:
        regular, last = list(size), list(size)
        regular[dim] = -(-size[dim] // chunks)
        last[dim] = size[dim] - regular[dim] * (chunks - 1)
        return regular, last

    return sizes_of_chunks


@node_function("prim::SumToSize")
def sum_to_size(node: Node) -> Function:
    return undo_broadcast


def undo_broadcast(t: Tensor, size: list[int]) -> Any:
    """Sum `t` over what broadcasting had repeated of a tensor of `size`: extra dimensions at the
    front, and those of size 1.

    None, an undefined gradient, stays None.
    """
    if t is None or list(t.shape) == list(size):
        return t
    extra = t.dim() - len(size)
    repeated = [
        i for i in range(t.dim()) if i < extra or (size[i - extra] == 1 and t.shape[i] != 1)
    ]
    return t.sum(repeated, keepdim=True).reshape(size)

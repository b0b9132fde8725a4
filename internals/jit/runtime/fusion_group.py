"""The functions of `prim::FusionGroup`, and of the nodes that exist because of fusion
(`torch/csrc/jit/codegen/fuser/`).

A group is run by a `CompiledGroup` (`internals/jit/fuser`), the others by operators.

How the real one differs: it compiles a group to CUDA or C++ when it is first run with tensors of
some dtypes and layouts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from internals._generated import ops
from internals.aten.broadcasting import broadcast_shapes
from internals.core.tensor_impl import Tensor
from internals.jit.fuser.compiled_group import CompiledGroup
from internals.jit.ir import Node

from .node_functions import node_function

Function = Callable[..., Any]


@node_function("prim::FusionGroup")
def fusion_group(node: Node) -> Function:
    return CompiledGroup(node)


@node_function("prim::ConstantChunk", "prim::BroadcastingChunk")
def constant_chunk(node: Node) -> Function:
    """The function that returns the chunks of each input, after broadcasting if there are several.
    Raises RuntimeError if `chunk` returns fewer than the attribute `chunks`.
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
    """The sizes of the chunks of a tensor: of all but the last, and of the last."""
    chunks, dim = node.i("chunks"), node.i("dim")

    def sizes_of_chunks(size: list[int]) -> tuple[list[int], list[int]]:
        regular, last = list(size), list(size)
        regular[dim] = -(-size[dim] // chunks)  # rounded up: 7 in 3 chunks are 3, 3, 1
        last[dim] = size[dim] - regular[dim] * (chunks - 1)
        return regular, last

    return sizes_of_chunks


@node_function("prim::SumToSize")
def sum_to_size(node: Node) -> Function:
    return undo_broadcast


def undo_broadcast(t: Tensor, size: list[int]) -> Any:
    """Sum `t` over the dimensions in which a tensor of `size` was broadcast: extra dimensions at
    the front, and those of size 1: (5, 3, 4) to (3, 1) sums over 0 and 2.

    None, an undefined gradient, stays None.
    """
    if t is None or list(t.shape) == list(size):
        return t
    extra = t.dim() - len(size)
    repeated = [
        i for i in range(t.dim()) if i < extra or (size[i - extra] == 1 and t.shape[i] != 1)
    ]
    return t.sum(repeated, keepdim=True).reshape(size)

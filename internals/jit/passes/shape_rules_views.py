"""Rules of shape propagation for views and layers: sizes follow from what they are called with (part of `shape_analysis.cpp`).

How the real one differs: today most of these are functions in TorchScript itself (`symbolic_shape_registry.cpp`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from internals.core.dtype import int64
from internals.jit.ir.tensor_type import TensorType
from internals.jit.passes.shape_arguments import ArgumentTypes, common_dtype, dims, product, repeated, result, size_of

if TYPE_CHECKING:
    from internals.jit.ir import Node

# Views and shapes


def t(a: ArgumentTypes) -> TensorType:
    sizes = dims(a.first())
    return result(a.first(), None if sizes is None else sizes[::-1])


def transpose(a: ArgumentTypes) -> TensorType:
    sizes, i, j = dims(a.first()), a.number("dim0"), a.number("dim1")
    if sizes is None or not isinstance(i, int) or not isinstance(j, int) or not sizes:
        return result(a.first(), None if sizes is None else (None,) * len(sizes))
    swapped = list(sizes)
    swapped[i], swapped[j] = swapped[j], swapped[i]
    return result(a.first(), swapped)


def permute(a: ArgumentTypes) -> TensorType:
    sizes, order = dims(a.first()), a.ints("dims")
    if sizes is None or order is None:
        return result(a.first(), None if sizes is None else (None,) * len(sizes))
    return result(a.first(), [None if i is None else sizes[i] for i in order])


def unsqueeze(a: ArgumentTypes) -> TensorType:
    sizes, dim = dims(a.first()), a.number("dim")
    if sizes is None:
        return result(a.first(), None)
    if not isinstance(dim, int):
        return result(a.first(), (None,) * (len(sizes) + 1))
    at = dim % (len(sizes) + 1)
    return result(a.first(), (*sizes[:at], 1, *sizes[at:]))


def squeeze(a: ArgumentTypes) -> TensorType:
    sizes, dim = dims(a.first()), a.number("dim")
    if sizes is None or not isinstance(dim, int) or not sizes or sizes[dim] is None:
        return result(a.first(), None)
    at = dim % len(sizes)
    return result(a.first(), sizes if sizes[at] != 1 else sizes[:at] + sizes[at + 1 :])


def view(a: ArgumentTypes) -> TensorType:
    wanted, sizes = a.ints("size") or a.ints("shape"), dims(a.first())
    if wanted is None:
        return result(a.first(), None)
    unknown = [None if s == -1 else s for s in wanted]
    if -1 in wanted and unknown.count(None) == 1 and sizes is not None and None not in sizes:
        rest = product([s for s in unknown if s is not None])
        unknown[wanted.index(-1)] = product([s or 0 for s in sizes]) // rest if rest else None
    return result(a.first(), unknown)


def expand(a: ArgumentTypes) -> TensorType:
    wanted, sizes = a.ints("size"), dims(a.first())
    if wanted is None:
        return result(a.first(), None)
    own = [None] * len(wanted) if sizes is None else [None] * (len(wanted) - len(sizes)) + list(sizes)
    return result(a.first(), [o if w == -1 else w for w, o in zip(wanted, own)])


def flatten(a: ArgumentTypes) -> TensorType:
    sizes, start, end = dims(a.first()), a.number("start_dim"), a.number("end_dim")
    if sizes is None or not isinstance(start, int) or not isinstance(end, int):
        return result(a.first(), None)
    if not sizes:
        return result(a.first(), (1,))
    start, end = start % len(sizes), end % len(sizes)
    inside = [s for s in sizes[start : end + 1] if s is not None]
    one = product(inside) if len(inside) == end + 1 - start else None
    return result(a.first(), (*sizes[:start], one, *sizes[end + 1 :]))


def select(a: ArgumentTypes) -> TensorType:
    sizes, dim = dims(a.first()), a.number("dim")
    if not sizes:
        return result(a.first(), None)
    if not isinstance(dim, int):
        return result(a.first(), (None,) * (len(sizes) - 1))
    at = dim % len(sizes)
    return result(a.first(), sizes[:at] + sizes[at + 1 :])


def one_size_unknown(a: ArgumentTypes) -> TensorType:
    """The sizes of the first argument but for dimension `dim`: slice, narrow, index_select, topk."""
    sizes, dim = dims(a.first()), a.number("dim")
    if not sizes:
        return result(a.first(), None)
    if not isinstance(dim, int):
        return result(a.first(), (None,) * len(sizes))
    at = dim % len(sizes)
    return result(a.first(), (*sizes[:at], None, *sizes[at + 1 :]))


def like_index(a: ArgumentTypes) -> TensorType:
    return result(a.first(), dims(a.tensor("index")))


def embedding(a: ArgumentTypes) -> TensorType:
    weight, sizes = a.tensor("weight"), dims(a.tensor("indices"))
    return result(weight, None if sizes is None else (*sizes, size_of(weight, 1)))


def cat(a: ArgumentTypes) -> TensorType | None:
    tensors, dim = a.list_of_tensors("tensors"), a.number("dim")
    if not tensors or any(x.dim() is None or x.sizes() == [0] for x in tensors):
        return None
    rank = tensors[0].dim() or 0
    sizes: list[int | None] = [None] * rank
    if isinstance(dim, int) and all(x.dim() == rank for x in tensors) and rank:
        columns = list(zip(*[dims(x) or () for x in tensors]))
        sizes = [next((s for s in c if s is not None), None) for c in columns]
        along = columns[dim % rank]
        sizes[dim % rank] = None if None in along else sum(s for s in along if s is not None)
    return TensorType(common_dtype([x.dtype() for x in tensors]), tensors[0].device(), sizes)


def stack(a: ArgumentTypes) -> TensorType | None:
    tensors, dim = a.list_of_tensors("tensors"), a.number("dim")
    if not tensors or not isinstance(dim, int) or any(x.dim() is None for x in tensors):
        return None
    sizes = dims(tensors[0]) or ()
    at = dim % (len(sizes) + 1)
    return TensorType(
        common_dtype([x.dtype() for x in tensors]), tensors[0].device(), (*sizes[:at], len(tensors), *sizes[at:])
    )


def chunk_types(node: Node) -> list[TensorType]:
    """Of the outputs of a `prim::ConstantChunk`."""
    like, chunks, dim = node.inputsAt(0).type(), node.i("chunks"), node.i("dim")
    sizes = dims(like) if isinstance(like, TensorType) else None
    if not sizes or not isinstance(like, TensorType):
        return [TensorType.get()] * node.outputsSize()
    at, total = dim % len(sizes), sizes[dim]
    regular = None if total is None else -(-total // chunks)
    found = [regular] * (chunks - 1) + [None if total is None or regular is None else total - regular * (chunks - 1)]
    return [result(like, (*sizes[:at], s, *sizes[at + 1 :])) for s in found]


# Layers


def convolution(a: ArgumentTypes) -> TensorType:
    like, weight = a.first(), dims(a.tensor("weight"))
    sizes = dims(like)
    if sizes is None or weight is None:
        return result(like, None)
    spatial = len(weight) - 2
    settings = [repeated(a.ints(name), spatial) for name in ("stride", "padding", "dilation")]
    out: list[int | None] = []
    for i, (size, kernel) in enumerate(zip(sizes[len(sizes) - spatial :], weight[2:])):
        stride, padding, dilation = (None if s is None else s[i] for s in settings)
        if size is None or kernel is None or stride is None or padding is None or dilation is None:
            out.append(None)
        else:
            out.append((size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1)
    return result(like, (*sizes[: len(sizes) - spatial - 1], weight[0], *out))


def pool2d(a: ArgumentTypes) -> TensorType:
    sizes = dims(a.first())
    return result(a.first(), None if sizes is None else (*sizes[:-2], None, None))


def pool2d_indices(a: ArgumentTypes) -> list[TensorType]:
    out = pool2d(a)
    return [out, out.with_(dtype=int64)]


def adaptive_pool2d(a: ArgumentTypes) -> TensorType:
    sizes, wanted = dims(a.first()), a.ints("output_size")
    wanted = [None, None] if wanted is None else wanted * (2 if len(wanted) == 1 else 1)
    return result(a.first(), None if sizes is None else (*sizes[:-2], *wanted))

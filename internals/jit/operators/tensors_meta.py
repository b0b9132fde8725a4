"""The operators for properties of tensors, and for tensors made of numbers and lists
(`torch/csrc/jit/runtime/register_prim_ops.cpp`, `register_special_ops.cpp`).

    aten::size(Tensor self) -> int[]            x.shape, x.size()
    prim::dtype(Tensor a) -> int                x.dtype: in the IR a dtype is a number
    aten::tensor(t[] data, ...) -> Tensor       torch.tensor([[1, 2], [3, 4]])

How the real one differs: `aten::dim`, `aten::size.int`, `aten::numel` and a few more are operators
of the dispatcher.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from internals._generated import ops
from internals.aten.broadcasting import broadcast_shapes
from internals.construction import tensor_new as construction
from internals.core.device import device
from internals.core.tensor_impl import TensorImpl as Tensor

from .registry import OBJECTS, op, register_operator, register_operators

DTYPE, MEMORY_FORMAT = OBJECTS["ScalarType"], OBJECTS["MemoryFormat"]

# Sizes and strides

register_operators(
    {
        "aten::size.int(Tensor self, int dim) -> int": lambda self, dim: self.size(dim),
        "aten::size(Tensor self) -> int[]": lambda self: list(self.shape),
        "aten::stride.int(Tensor self, int dim) -> int": lambda self, dim: self.stride(dim),
        "aten::stride(Tensor self) -> int[]": lambda self: list(self.stride()),
        "aten::storage_offset(Tensor self) -> int": Tensor.storage_offset,
        "aten::dim(Tensor self) -> int": Tensor.dim,
        "aten::numel(Tensor self) -> int": Tensor.numel,
        "aten::element_size(Tensor self) -> int": Tensor.element_size,
        "aten::is_contiguous(Tensor self) -> bool": lambda self: self.is_contiguous(),
        "aten::is_contiguous.memory_format(Tensor self, "
        "MemoryFormat memory_format) -> bool": lambda self, memory_format: self.is_contiguous(
            MEMORY_FORMAT[memory_format]
        ),
        "aten::is_same_size(Tensor self, Tensor other) -> bool": lambda self, other: (
            self.shape == other.shape
        ),
        "aten::is_floating_point(Tensor self) -> bool": Tensor.is_floating_point,
        "aten::is_complex(Tensor self) -> bool": Tensor.is_complex,
        "aten::is_signed(Tensor self) -> bool": Tensor.is_signed,
        "aten::get_device(Tensor self) -> int": lambda self: (
            -1 if self.device.index is None else self.device.index
        ),
        "aten::Size(int[] sizes) -> int[]": list,
    }
)


@op("aten::len.Tensor(Tensor t) -> int")
def len_(t: Any) -> int:
    """The size of the first dimension. Raises RuntimeError for a 0-d tensor."""
    if t.dim() == 0:
        raise RuntimeError("len() of a 0-d tensor")
    return int(t.shape[0])


@op(
    "aten::_infer_size(int[] a, int[] b) -> int[]",
    "aten::broadcast_shapes(int[] a, int[] b) -> int[]",
)
def infer_size(a: Sequence[int], b: Sequence[int]) -> list[int]:
    """The size that two sizes broadcast to. Raises RuntimeError if they do not."""
    return list(broadcast_shapes(a, b))


# Dtype, device, gradient

register_operators(
    {
        "prim::dtype(Tensor a) -> int": lambda a: a.dtype.code,
        "prim::device(Tensor a) -> Device": lambda a: a.device,
        "prim::layout(Tensor a) -> Layout": lambda a: 0,
        "prim::requires_grad(Tensor a) -> bool": lambda a: a.requires_grad,
        "aten::is_leaf(Tensor self) -> bool": lambda self: self.is_leaf,
        "prim::grad(Tensor a) -> Tensor(*)": lambda a: a.grad,
        "prim::data(Tensor(a) a) -> Tensor(a)": lambda a: a.detach(),
        "prim::itemsize(Tensor a) -> int": lambda a: a.itemsize,
        "prim::nbytes(Tensor a) -> int": lambda a: a.nbytes,
        "prim::name(Tensor a) -> str?": lambda a: None,
        "prim::type(Device self) -> str": lambda self: self.type,
        "prim::index(Device self) -> int?": lambda self: self.index,
    }
)


def _is_on(kind: str) -> Any:
    return lambda a: a.device.type == kind


for kind in ("cpu", "cuda", "meta", "mps", "xpu", "xla", "ipu", "vulkan", "maia", "mtia"):
    register_operator(f"prim::is_{kind}(Tensor a) -> bool", _is_on(kind))
for layout in ("sparse", "sparse_csr", "mkldnn", "quantized", "nested"):
    # every tensor here is strided
    register_operator(f"prim::is_{layout}(Tensor a) -> bool", lambda a: False)

# Tensors of Python values


def tensor(
    data: object, dtype: int | None, device: device | None, requires_grad: bool = False
) -> Any:
    """`torch.tensor`, with the dtype as a number of the IR."""
    return construction.tensor(
        data,
        dtype=None if dtype is None else DTYPE[dtype],
        device=device,
        requires_grad=requires_grad,
    )


def as_tensor(data: object, dtype: int | None, device: device | None) -> Any:
    return construction.as_tensor(data, None if dtype is None else DTYPE[dtype], device)


_OPTIONS = "*, ScalarType? dtype=None, Device? device=None"
for t in ("bool", "float", "int", "complex"):
    register_operators(
        {
            f"aten::tensor.{t}({t} t, {_OPTIONS}, bool requires_grad=False) -> Tensor": tensor,
            f"aten::as_tensor.{t}({t} t, {_OPTIONS}) -> Tensor": as_tensor,
        }
    )
register_operators(
    {
        f"aten::tensor(t[] data, {_OPTIONS}, bool requires_grad=False) -> Tensor": tensor,
        f"aten::as_tensor(Tensor(a) data, {_OPTIONS}) -> Tensor(b|a)": as_tensor,
        f"aten::as_tensor.list(t[] data, {_OPTIONS}) -> Tensor": as_tensor,
        "aten::_list_to_tensor(int[] self) -> Tensor": lambda self: construction.tensor(
            self, dtype=DTYPE[4]
        ),
        "aten::_tensor_to_list(Tensor self) -> int[]": lambda self: self.tolist(),
        "aten::device(str a) -> Device": device,
        "aten::device.with_index(str type, int index) -> Device": device,
        "aten::_shape_as_tensor(Tensor self) -> Tensor": lambda self: construction.tensor(
            list(self.shape), dtype=DTYPE[4]
        ),
    }
)

# `to`, and calls with arguments that the dispatcher's own overloads do not accept


def to(self: Any, device: device | None, dtype: int | None, copy: bool) -> Any:
    kind = self.dtype if dtype is None else DTYPE[dtype]
    return self.to(self.device if device is None else device, kind, copy=copy)


register_operators(
    {
        "aten::to.prim_Device(Tensor(a) self, "
        "Device? device, int? dtype=None, "
        "bool non_blocking=False, bool "
        "copy=False) -> Tensor(b|a)": lambda self, device, dtype, non_blocking, copy: to(
            self, device, dtype, copy
        ),
        "aten::to.prim_dtype(Tensor(a) self, int? "
        "dtype=None, bool non_blocking=False, bool "
        "copy=False) -> Tensor(b|a)": lambda self, dtype, non_blocking, copy: to(
            self, None, dtype, copy
        ),
        "aten::to.prim_other(Tensor(a) self, bool "
        "non_blocking=False, bool copy=False) -> Tensor(b|a)": lambda self, non_blocking, copy: to(
            self, None, None, copy
        ),
        "aten::cpu(Tensor(a) self) -> Tensor(b|a)": lambda self: self.cpu(),
        "aten::cuda(Tensor(a) self) -> Tensor(b|a)": lambda self: self.cuda(),
        "aten::split(Tensor(a -> *) self, int[] split_sizes, int "
        "dim=0) -> Tensor(a)[]": lambda self, split_sizes, dim: list(
            ops.split_sizes(self, split_sizes, dim)
        ),
        "aten::index.Tensor_hacked_twin(Tensor self, Tensor[] indices) -> Tensor": ops.index_Tensor,
        "aten::index_put_.hacked_twin(Tensor(a!) self, Tensor[] indices, Tensor "
        "values, bool accumulate=False) -> Tensor(a!)": ops.index_put_,
        "aten::index_put.hacked_twin(Tensor self, Tensor[] indices, Tensor values, "
        "bool accumulate=False) -> Tensor": ops.index_put,
    }
)
for t in ("Tensor", "int", "float"):
    register_operator(
        f"aten::copy_.{t}(Tensor(a!) self, {t} other) -> Tensor(a!)",
        lambda self, other: self.copy_(other),
    )
register_operators(
    {
        "aten::numpy_T.a(Tensor(a) self) -> Tensor(a)": lambda self: self.T,
        "aten::mT.a(Tensor(a) self) -> Tensor(a)": lambda self: self.mT,
    }
)


@op("aten::requires_grad_(Tensor(a!) self, bool requires_grad=True) -> Tensor(a!)")
def requires_grad_(self: Any, requires_grad: bool) -> Any:
    return self.requires_grad_(requires_grad)

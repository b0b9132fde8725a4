"""`Tensor`: what users hold (`torch/_tensor.py`, `torch/csrc/autograd/python_variable.cpp`).

The class is put together from three floors: `TensorImpl` (storage, offset, geometry), the generated methods (one per line of
`native_functions.yaml`), and what is written here by hand because it is about Python rather than about tensors: conversion
to numbers, printing, indexing syntax, exchange with numpy.

How the real one differs: `torch.Tensor` is a Python class over the C type `torch._C.TensorBase`, which wraps a C++ tensor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from internals._generated import ops
from internals._generated.methods import TensorMethods
from internals.core.tensor_impl import TensorImpl, array, set_tensor_class
from internals.indexing import getitem, setitem

if TYPE_CHECKING:
    from collections.abc import Iterator


class Tensor(TensorImpl, TensorMethods):
    """A multi-dimensional array of one dtype. Make one with `internals.tensor(...)`, `zeros`, `from_numpy`, ..."""

    __slots__ = ()

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d tensor")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if not self.shape:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __getitem__(self, index: Any) -> Tensor:
        return getitem(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        setitem(self, index, value)

    T = property(lambda self: ops.numpy_T(self), doc="The dimensions in reverse order.")
    mT = property(lambda self: ops.mT(self), doc="The last two dimensions transposed.")

    def __repr__(self) -> str:
        return f"tensor({array(self)!r})"


set_tensor_class(Tensor)

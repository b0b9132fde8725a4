"""Makes tensors on memory of numba, CuPy and other libraries that have `__cuda_array_interface__`
(`tensor_from_cuda_array_interface`, `torch/csrc/utils/tensor_numpy.cpp`).

The interface is a dict: the address, sizes, strides in bytes, and numpy's name for the dtype.
Nothing is copied; the tensor keeps the object alive. The other direction is a property of `Tensor`.

How the real one differs: it ignores the `stream` that version 3 of the interface may name; here the
current stream waits for that one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals.construction.tensor_numpy import SUPPORTED
from internals.core.allocator import DataPtr, drop_reference
from internals.core.device import device, is_simulated
from internals.core.dtype import BY_NUMPY
from internals.core.geometry import bytes_spanned, contiguous_strides, geometry
from internals.core.storage import Storage
from internals.core.tensor_impl import make, newly_made

from . import backend
from .streams import ExternalStream, current_stream


def from_cuda_array_interface(obj: Any) -> Any:
    """A tensor on the memory of `obj`.

    Raises TypeError for a malformed interface or a dtype that PyTorch does not have, ValueError for
    strides that a tensor cannot have, BufferError if `cuda` is a simulated device.
    """
    interface = obj.__cuda_array_interface__
    if not isinstance(interface, dict):
        raise TypeError("`__cuda_array_interface__` must be a dict")
    for name in ("shape", "typestr", "data"):
        if name not in interface:
            raise TypeError(f"attribute `{name}` must exist")
    dtype = BY_NUMPY.get(np.dtype(interface["typestr"]))
    if dtype is None:
        raise TypeError(
            f"can't convert an array of type {interface['typestr']}. The only supported types are: "
            f"{SUPPORTED}."
        )
    n, sizes = dtype.itemsize, tuple(interface["shape"])
    given = interface.get("strides")
    if given is not None and any(s % n for s in given):
        raise ValueError(
            "given array strides not a multiple of the element byte size. Make a copy of the array "
            "to reallocate the memory."
        )
    strides = contiguous_strides(sizes) if given is None else tuple(s // n for s in given)
    if any(s < 0 for s in strides):
        raise ValueError("tensors cannot have negative strides: make a copy of the array")
    pointer = int(interface["data"][0] or 0)  # an array without elements may have no address
    where = device(
        "cuda", backend.driver().device_of(pointer) if pointer else backend.current_device()
    )
    if is_simulated(where):
        raise BufferError(
            f"the memory is that of a real GPU, and '{where}' is a simulated one here: copy it to "
            "the host first"
        )
    stream = interface.get("stream")
    if stream:  # the object may still be written to there: work on the tensor must come after that
        current_stream(where).wait_stream(ExternalStream(int(stream), where))
    g = geometry(sizes, strides, dtype, where)
    return newly_made(
        make(Storage(DataPtr(pointer, obj, drop_reference, where), bytes_spanned(g)), g)
    )

"""The methods of `Tensor` about devices: where it is, copying it to another device, and lending its
memory to other libraries (`torch/_tensor.py`, `python_variable_methods.cpp`).

How the real one differs: `is_shared` checks whether other processes can see the memory, and
`share_memory_` moves it to where they can; here memory belongs to one process.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from internals.construction.conversions import type_name, type_named
from internals.core.corrected import corrected
from internals.core.device import CPU, DeviceLike, device as Device, is_simulated
from internals.core.dtype import dtype, dtype as Dtype
from internals.core.formats import memory_format
from internals.core.tensor_impl import TensorImpl

if TYPE_CHECKING:
    from internals.construction import dlpack
    from internals.construction.legacy import tensortype


class OnDevice:
    """The part of `Tensor` for devices."""

    __slots__ = ()

    is_cpu = property(lambda self: self.device.type == "cpu")
    is_cuda = property(lambda self: self.device.type == "cuda")
    is_meta = property(lambda self: self.device.type == "meta")

    def get_device(self: Any) -> int:
        """The index of the device; -1 for the CPU."""
        return -1 if self.device.index is None else self.device.index

    def cpu(self: Any, memory_format: memory_format | None = None) -> Any:
        """A copy of the tensor in CPU memory; the tensor itself if it is there already."""
        return self.to(CPU, memory_format=memory_format)

    def cuda(
        self: Any,
        device: DeviceLike | None = None,
        non_blocking: bool = False,
        memory_format: memory_format | None = None,
    ) -> Any:
        """A copy of the tensor on a GPU: `device`, or the current one. The tensor itself if it is
        there already.

        With `non_blocking`, a copy from pinned memory is only queued. Raises RuntimeError for
        another kind of device, and AssertionError without CUDA.
        """
        where = Device("cuda" if device is None else device)
        if where.type != "cuda":
            raise RuntimeError(
                f"Invalid device, must be cuda device but got device type: {where.type}"
            )
        return self.to(where, non_blocking=non_blocking, memory_format=memory_format)

    def type(
        self: Any, dtype: tensortype | dtype | str | None = None, non_blocking: bool = False
    ) -> Any:
        """Without argument, the legacy name of the tensor's type (`internals.FloatTensor`); with
        one, the tensor converted to a dtype or a legacy type (a name or a class like `LongTensor`).
        """
        if dtype is None:
            return type_name(self.dtype, self.device.type)
        if isinstance(dtype, Dtype):
            return self.to(dtype, non_blocking=non_blocking)
        kind, where = (
            type_named(dtype)
            if isinstance(dtype, str)
            else (dtype.dtype, getattr(dtype, "device_type", "cpu"))
        )
        return self.to(
            where if where != self.device.type else self.device, kind, non_blocking=non_blocking
        )

    def is_shared(self: Any) -> bool:
        """Whether other processes may see the memory. Always True for a GPU, as in PyTorch."""
        return self.is_cuda

    def share_memory_(self: Any) -> Any:
        """Return the tensor itself if it is on a GPU. Raises NotImplementedError on the CPU: memory
        belongs to one process here.
        """
        if self.is_cuda:
            return self
        raise NotImplementedError(
            "share_memory_() is not supported here: memory belongs to one process"
        )

    @property
    def __cuda_array_interface__(self: Any) -> dict[str, Any]:
        """A description of the memory for numba, CuPy and others (version 2 of the protocol):
        `strides` in bytes, or None if contiguous; `data` is the address, and whether it is
        read-only.

        Raises AttributeError for a tensor that is not on a GPU, RuntimeError for one that requires
        a gradient, BufferError for a simulated GPU.
        """
        if not self.is_cuda:
            raise AttributeError(
                f"Can't get __cuda_array_interface__ on non-CUDA tensor type: {self.type()} If "
                "CUDA data is required use tensor.cuda() to copy tensor to device memory."
            )
        if self.requires_grad:
            raise RuntimeError(
                "Can't get __cuda_array_interface__ on Variable that requires grad. If gradients "
                "aren't required, use var.detach() to get Variable that doesn't require grad."
            )
        refuse_simulated(self, "__cuda_array_interface__")
        return {
            "typestr": self.dtype.np.str,
            "shape": tuple(self.shape),
            "strides": None
            if self.is_contiguous()
            else tuple(s * self.itemsize for s in self.stride()),
            "data": (self.data_ptr() if self.numel() else 0, False),
            "version": 2,
        }

    def __dlpack__(
        self: Any,
        *,
        stream: int | str = -1,
        max_version: Sequence[int] | None = None,
        dl_device: Any = None,
        copy: bool | None = None,
    ) -> Any:
        """A capsule with this tensor's memory, for `np.from_dlpack` and the like; see
        `internals.construction.dlpack`.

        `stream` is the CUDA stream on which the receiver will use the memory; it is made to wait
        for the current stream, unless it is -1. Raises BufferError for a tensor that requires a
        gradient, that is on `meta`, or on a simulated GPU.
        """
        from internals.construction import dlpack

        if self.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        if self.is_cuda:
            refuse_simulated(self, "__dlpack__")
        if stream is not None and type(stream) is not int:
            raise TypeError("stream must be ``int`` or ``none``")
        if self.is_cuda:
            dlpack.hand_over_to_stream(self, stream)
        elif stream not in (None, -1):
            raise AssertionError("stream should be None on cpu.")
        t = self
        # memory on another device is a copy, and the only other device to copy to is the CPU
        if dl_device is not None and tuple(dl_device) != tuple(self.__dlpack_device__()):
            if copy is False or dl_device[0] != dlpack.DLDeviceType.kDLCPU:
                raise BufferError(
                    f"cannot move a tensor on '{self.device}' to DLPack device {tuple(dl_device)}"
                )
            t = self.cpu()
        elif copy:
            t = self.clone()
        versioned = max_version is not None and max_version[0] >= 1
        return dlpack.to_dlpack(t, versioned, t is not self)

    def __dlpack_device__(self: Any) -> tuple[dlpack.DLDeviceType, int]:
        """The device of the memory, as DLPack's (type, index)."""
        from internals.construction import dlpack

        return dlpack.dlpack_device(self)


def refuse_simulated(t: TensorImpl, protocol: str) -> None:
    """Raises BufferError for a tensor on a simulated GPU, whose memory other libraries cannot
    read.
    """
    if is_simulated(t.device):
        raise BufferError(
            corrected(
                f"{protocol}: '{t.device}' is a simulated device, and no other library can read "
                "its memory",
                "numpy.from_dlpack(t)",
                "numpy.from_dlpack(t.cpu())",
            )
        )

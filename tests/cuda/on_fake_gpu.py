"""Every native operator on the driver for real GPUs, with a libcuda whose memory is the host's
(`fake_libcuda.c`).

`GpuDriver` allocates, copies, and packs the arguments of each launch as it would for the hardware,
and the host side of the operators decides as it does there. Only the kernel itself is not machine
code: the interpreter runs its source, in the form that it has for a GPU. `test_gpu_operators.py`
runs this as a program of its own.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from internals.cuda import backend, gpu_launch, interpreter
from internals.cuda.device_array import flat
from internals.cuda.gpu_driver import GpuDriver
from internals.cuda.launch import Repeated
from tests.cuda.operator_calls import (
    CUDA,
    NATIVE,
    NOT_COMPARED,
    OPERATORS,
    calls,
    difference,
    run,
    way,
)


class HostMemory:
    """Addresses of the device are addresses of the host."""

    def view(self, pointer: int, nbytes: int) -> Any:
        if not nbytes:
            return np.empty(0, np.uint8)
        return np.frombuffer(memoryview((ctypes.c_ubyte * nbytes).from_address(pointer)), np.uint8)


class InterpretingDriver(GpuDriver):
    """Launches twice: the kernel that does nothing, and its source."""

    failure: Exception | None = None

    def launch(
        self, device: int, stream: int, kernel: Any, grid: Any, block: Any, args: tuple[Any, ...]
    ) -> None:
        super().launch(device, stream, kernel, grid, block, args)
        try:
            interpreter.run(kernel, grid, block, args, HostMemory())
        except Exception as error:  # told when somebody waits for the device
            self.failure = error

    def launch_repeated(
        self, again: Repeated, tensors: list[Any], numbers: tuple[Any, ...]
    ) -> None:
        """What is packed has to be what `launch` packs."""
        super().launch_repeated(again, tensors, numbers)
        packed = bytes(again.call.memory)
        args = (*map(flat, tensors), numbers, *again.rest)
        call, values = gpu_launch.call_for(self, tensors[0].device.index, again.launch.kernel, args)
        call.fill(values)
        assert bytes(call.memory) == packed, (again.launch.kernel, args)
        again.in_full(tensors, numbers)

    def synchronize(self, device: int) -> None:
        super().synchronize(device)
        failure, self.failure = self.failure, None
        if failure is not None:
            raise failure


def main() -> None:
    """Prints what is different from the CPU, and in the end how many operators and kernels there
    were.
    """
    gpu_launch.load = lambda *args: 1  # what compiles is for test_ptx.py
    compared = 0
    with backend.installed(InterpretingDriver()), interpreter.hardware_forms():
        for op in OPERATORS:
            if way(op) != NATIVE or {op.name.removeprefix("aten::"), op.schema.name} & set(
                NOT_COMPARED
            ):
                continue
            for values, expected in calls(op, 1):
                complaint = difference(op, run(op, values, CUDA), expected, values)
                if complaint:
                    print(f"{op.schema}\n{values}\n{complaint}")
            compared += 1
    print(compared, len(gpu_launch._calls))

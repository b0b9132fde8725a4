"""Runs a kernel on the CPU and records every memory access of every thread, as NVIDIA's
compute-sanitizer does on a GPU.

    log = record(add, 2, 64, out, a, b)     # a grid of 2 blocks of 64 threads; numpy arrays or
                                            # tensors
    log.instructions[0].efficiency          # 1.0: perfectly coalesced
    log.races                               # []

The recorder is an observer of the interpreter: the arrays that it gives to a kernel record which
thread reads or writes which element, from which place in the source. It needs neither a GPU nor a
simulated one. The kernel really runs: its outputs are written to your arrays.

How the real one differs: NVIDIA's tools patch the machine code of the kernel, so their numbers are
about the compiled program; these are about the source.
"""

from __future__ import annotations

import ctypes
import inspect
import linecache
import re
import sys
from collections import defaultdict
from collections.abc import Sequence
from math import prod
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from internals.core import dtype as dtypes
from internals.core.corrected import corrected
from internals.core.tensor_impl import Array, TensorImpl, backed_ptr

from .access_log import Access, AccessLog, ArrayInfo, Place
from .device_array import DeviceArray
from .foreign import as_kernel
from .interpreter import CheckedArray, run
from .launch import dim3, is_numbers

if TYPE_CHECKING:
    from internals.cuda.language import Kernel
    from internals.cuda.registers import Dim3

ALIGNED = 512  # addresses of GPU allocations are multiples of this many bytes


def record(
    kernel: Kernel, grid: int | Sequence[int], block: int | Sequence[int], *args: Any
) -> AccessLog:
    """Run `kernel` with `args` and return the log of its threads' memory accesses.

    `kernel` is one of this package, or a function written for numba.cuda, decorated or not. Arrays
    are numpy arrays, tensors on any device, or `flat(t)`. Memory on a device is copied to the host,
    and back after the run. Raises TypeError for other arguments, and any error of the kernel.
    """
    program = as_kernel(kernel)
    names = list(inspect.signature(program.function).parameters)
    memory = _Memory()
    values = tuple(memory.take(name, a) for name, a in zip(names, args)) + args[len(names) :]
    recorder = Recorder(
        AccessLog(program.name, dim3("grid", grid), dim3("block", block)), memory.starts
    )
    memory.fetch()
    run(program, recorder.log.grid, recorder.log.block, values, memory, recorder)
    memory.store()
    return recorder.log


class Recorder:
    """The observer that writes into `log`. `starts` has the offset of each array in its allocation,
    modulo `ALIGNED`, in bytes.
    """

    def __init__(self, log: AccessLog, starts: dict[str, int] | None = None) -> None:
        self.log, self.starts = log, starts or {}
        self.in_atomic = False
        self.block = self.thread = self.phase = 0
        self._numbers: dict[tuple[str, str], int] = {}  # (name, space) to index in log.arrays
        self._shown: dict[str, str] = {}  # "shared0" to the name of the variable
        self._places: dict[Any, int] = {}  # call path to index in log.places
        self._positions: dict[CodeType, list[Any]] = {}  # one for each instruction
        self._occurrences: defaultdict[tuple[int, int], int] = defaultdict(int)  # of this block

    def array(self, name: str, data: Array, argument: DeviceArray) -> RecordedArray:
        """The array that threads get for the argument `name`."""
        return RecordedArray(data, self, self._number(name, "global", data))

    def shared_array(self, name: str, data: Array) -> RecordedArray:
        """The array that threads get for one in shared memory. Each block has its own, but the log
        has one entry for all.

        It is named after the variable that it is assigned to, if the line of the source shows one.
        """
        frame = sys._getframe(2)  # the kernel: 0 is this function, 1 is cuda.shared.array
        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
        assigned = re.match(r"\s*(\w+)\s*=", line)
        taken = {shown for given, shown in self._shown.items() if given != name}
        shown = assigned[1] if assigned and assigned[1] not in taken | set(self.starts) else name
        self._shown[name] = shown
        return RecordedArray(data, self, self._number(shown, "shared", data))

    def begin_block(self, index: tuple[int, int, int]) -> None:
        x, y, z = index
        self.block = x + self.log.grid[0] * (y + self.log.grid[1] * z)
        self._occurrences.clear()

    def begin_thread(self, thread: Dim3, phase: int) -> None:
        n = self.log.block
        self.thread, self.phase = thread.x + n[0] * (thread.y + n[1] * thread.z), phase

    def note(self, kind: str, array: int, element: int, offset: int, frame: FrameType) -> None:
        """The running thread touched `element`, from the place in the source where `frame` is."""
        place = self._place(frame)
        # `x[i] += 1` loads and stores at one place: the two are counted separately
        key = (self.thread, 2 * place + (kind == "store"))
        occurrence = self._occurrences[key]
        self._occurrences[key] = occurrence + 1
        self.log.accesses.append(
            Access(
                kind, array, element, offset, self.block, self.thread, self.phase, place, occurrence
            )
        )

    def _number(self, name: str, space: str, data: Array) -> int:
        """The index of an array in `log.arrays`, to which it is added if it is new."""
        found = self._numbers.get((name, space))
        if found is None:
            found = self._numbers[name, space] = len(self.log.arrays)
            steps = tuple(s // data.itemsize for s in data.strides)
            start = self.starts.get(name, 0) if space == "global" else 0
            self.log.arrays.append(
                ArrayInfo(name, space, data.shape, steps, data.dtype.name, data.itemsize, start)
            )
        return found

    def _place(self, frame: FrameType) -> int:
        """The index in `log.places` of a place: the position in the source of the kernel, and of
        each function that it called on the way.

        Positions rather than instructions: Python's adaptive interpreter may call from an
        instruction after the one that the source means.
        """
        key = []
        caller: FrameType | None = frame
        while caller is not None and caller.f_globals.get("__name__") != _INTERPRETER:
            key.append((caller.f_code, self._position(caller)))
            caller = caller.f_back
        found = self._places.get(tuple(key))
        if found is None:
            found = self._places[tuple(key)] = len(self.log.places)
            self.log.places.append(_describe(found, frame.f_code, self._position(frame)))
        return found

    def _position(self, frame: FrameType) -> Any:
        """(line, end line, column, end column) of the instruction that a frame executes."""
        positions = self._positions.get(frame.f_code)
        if positions is None:
            positions = self._positions[frame.f_code] = list(frame.f_code.co_positions())
        return positions[frame.f_lasti // 2]  # f_lasti counts bytes, two to an instruction


class RecordedArray(CheckedArray):
    """An array that reports each access to the recorder."""

    __slots__ = ("recorder", "number", "steps")

    def __init__(self, data: Array, recorder: Recorder, number: int) -> None:
        super().__init__(data)
        self.recorder, self.number = recorder, number
        # strides of a contiguous array, for the index of an element in the log
        self.steps = tuple(prod(data.shape[d + 1 :]) for d in range(data.ndim))

    def __getitem__(self, index: Any) -> Any:
        value = super().__getitem__(index)
        if isinstance(value, np.ndarray):
            names = ", ".join("ijklmnopqrstuvwxyz"[: self.ndim])
            raise TypeError(
                corrected(
                    f"index {index} of {self.ndim} dimensions leaves some out, and a thread "
                    "touches single elements",
                    "x[i]",
                    f"x[{names}]",
                )
            )
        if self.recorder.in_atomic:
            # the kernel's frame, behind this one, `_change` and `cuda.atomic.add`
            self._note("atomic", index, sys._getframe(3))
        else:
            self._note("load", index, sys._getframe(1))
        return value

    def __setitem__(self, index: Any, value: Any) -> None:
        super().__setitem__(index, value)
        if not self.recorder.in_atomic:  # else it was recorded when it was read
            self._note("store", index, sys._getframe(1))

    def _note(self, kind: str, index: int, frame: FrameType) -> None:
        """Report an access to the element at `index`."""
        indices = index if index.__class__ is tuple else (index,)
        element = sum(int(i) * n for i, n in zip(indices, self.steps))
        offset = sum(int(i) * s for i, s in zip(indices, self.data.strides))  # in bytes
        self.recorder.note(kind, self.number, element, offset, frame)


_INTERPRETER = run.__module__


class _Memory:
    """The memory of the arguments of a launch, for `interpreter.run`.

    Memory of the host is used as it is. Memory of a device is copied; arguments that overlap share
    a copy, so that a write through one is seen through the other.
    """

    def __init__(self) -> None:
        self.starts: dict[str, int] = {}  # offset of each array in its allocation, see `Recorder`
        self._keep: list[Any] = []  # the owners of the memory, so that it stays alive
        self._remote: list[tuple[int, int, int]] = []  # (pointer, end, device)
        self._copies: list[tuple[int, int, int, Any]] = []  # (pointer, end, device, bytes)

    def take(self, name: str, value: object) -> Any:
        """`value` as an argument of the launch: a `DeviceArray` for an array. Raises TypeError for
        a value that a kernel cannot take.
        """
        if isinstance(value, TensorImpl):
            g = value._geometry
            # -1: no device; the pointer is the CPU's, or that of a device's memory to be copied
            found = DeviceArray(backed_ptr(value), tuple(g.sizes), tuple(g.strides), g.dtype, -1)
            if value.device.type == "cpu":
                self.starts[name] = value.storage_offset() * g.dtype.itemsize % ALIGNED
            elif value.device.type == "cuda":
                self._add_remote(found, value.device.index or 0)
                self.starts[name] = found.pointer % ALIGNED
            else:
                raise TypeError(
                    f"'{name}' is on device '{value.device}', where there is no memory to look at"
                )
            self._keep.append(value)
            return found
        if isinstance(value, DeviceArray):
            self._add_remote(value, value.device)
            self.starts[name] = value.pointer % ALIGNED
            return value
        if isinstance(value, np.ndarray):
            self.starts[name] = _start(value)
            self._keep.append(value)
            return _of_numpy(name, value)
        if is_numbers(value):
            return value
        raise TypeError(
            corrected(
                f"'{name}' of a kernel is a {type(value).__name__}: it has to be an array, a "
                "tensor, a number or a tuple of numbers",
                f"{name}=[1, 2]",
                f"{name}=torch.tensor([1, 2])",
            )
        )

    def fetch(self) -> None:
        """Copy the memory on devices to the host, in one piece wherever arguments overlap or
        touch.
        """
        # sorted by device and address, an array either extends the last range or begins a new one
        ranges: list[tuple[int, int, int]] = []
        for pointer, end, device in sorted(self._remote, key=lambda r: (r[2], r[0])):
            if ranges and ranges[-1][2] == device and pointer <= ranges[-1][1]:
                ranges[-1] = (ranges[-1][0], max(end, ranges[-1][1]), device)
            else:
                ranges.append((pointer, end, device))
        for pointer, end, device in ranges:
            copy = np.empty(end - pointer, np.uint8)
            self._copies.append((pointer, end, device, copy))
            self._move(device, copy.ctypes.data, pointer, end - pointer, "d2h")

    def store(self) -> None:
        """Copy the memory back to the devices."""
        for pointer, end, device, copy in self._copies:
            self._move(device, pointer, copy.ctypes.data, end - pointer, "h2d")

    def view(self, pointer: int, nbytes: int) -> Any:
        """The bytes at `pointer` as a numpy array that shares them: of a copy, or of the host."""
        for start, end, _, copy in self._copies:
            if start <= pointer and pointer + nbytes <= end:
                return copy[pointer - start : pointer - start + nbytes]
        if not nbytes:
            return np.empty(0, np.uint8)
        return np.frombuffer(memoryview((ctypes.c_ubyte * nbytes).from_address(pointer)), np.uint8)

    def _add_remote(self, array: DeviceArray, device: int) -> None:
        if array.nbytes:
            self._remote.append((array.pointer, array.pointer + array.nbytes, device))

    def _move(self, device: int, target: int, source: int, nbytes: int, kind: str) -> None:
        """Copy bytes between host and device, and wait for it."""
        from . import backend

        driver = backend.driver()
        driver.copy(device, backend.current_stream(device), target, source, nbytes, kind)
        driver.synchronize(device)


def _of_numpy(name: str, a: np.ndarray[Any, Any]) -> DeviceArray:
    """A numpy array as an argument. Raises TypeError for a dtype or strides that no tensor has."""
    kind = getattr(dtypes, "bool_" if a.dtype == np.bool_ else a.dtype.name, None)
    if not isinstance(kind, dtypes.dtype) or any(s < 0 or s % a.itemsize for s in a.strides):
        raise TypeError(
            f"'{name}', an array of {a.dtype} with strides {a.strides}, is none that a tensor "
            "could be made from"
        )
    strides = tuple(s // a.itemsize for s in a.strides)
    return DeviceArray(int(a.__array_interface__["data"][0]), a.shape, strides, kind, -1)


def _start(a: np.ndarray[Any, Any]) -> int:
    """The offset of the first element in the memory of the array that owns it, in bytes modulo
    `ALIGNED`: as if that memory were an allocation of a GPU.
    """
    owner = a
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    return int(a.__array_interface__["data"][0] - owner.__array_interface__["data"][0]) % ALIGNED


def _describe(number: int, code: CodeType, position: Sequence[int]) -> Place:
    """The place at a position: its text is that of the expression, or the first line of a longer
    one.
    """
    line, end_line, column, end_column = position
    text = linecache.getline(code.co_filename, line)
    if code.co_qualname == code.co_name:
        # the interpreter compiled it from source without indentation: add that to the columns
        first = linecache.getline(code.co_filename, code.co_firstlineno)
        shift = len(first) - len(first.lstrip())
        column, end_column = column + shift, end_column + shift
    if line == end_line:
        text = text.encode()[column:end_column].decode()  # columns count bytes of UTF-8
    return Place(number, text.strip(), line, code.co_name)

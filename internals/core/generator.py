"""`Generator`: the source of random numbers (`aten/src/ATen/CPUGeneratorImpl.cpp`,
`ATen/core/MT19937RNGEngine.h`).

A Mersenne Twister makes a stream of 32-bit words, and all random numbers are made from these words.
How many each operator uses, and in which order, is part of PyTorch's behaviour, so that the same
seed gives the same tensors here (`internals.aten.native.random`). Operators that are not given a
generator use `default_generator`.

How the real one differs: the engine is written in C++, and each generator has a mutex; here numpy
runs the same engine, many words at a time. The tensor of `get_state` has the same layout, byte by
byte, so a state can be used in both.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from operator import length_hint
from typing import TYPE_CHECKING, Any

import numpy as np

from .backend_hooks import hooks
from .device import CPU, device, resolve
from .dtype import uint8
from .tensor_impl import TensorImpl, array, from_array

if TYPE_CHECKING:
    from internals.core.device import DeviceLike

DEFAULT_SEED = 67280421310721
# Held while a generator's state is changed. (Drawing words needs no lock: numpy has its own.)
drawing = threading.RLock()
_WORDS = 624  # of the state of a Mersenne Twister
# PyTorch's C++ structs, padding included: the old one for seeds and words, and what came later
STATE = np.dtype(
    [
        ("initial_seed", "u8"), ("left", "i4"), ("seeded", "i4"), ("next", "u8"),
        ("state", "u8", _WORDS), ("normal_x", "f8"), ("normal_y", "f8"), ("normal_rho", "f8"),
        ("normal_is_valid", "i4"), ("_pad", "i4"), ("next_float", "f4"),
        ("next_float_is_valid", "u1"), ("_pad2", "u1", 3),
    ]
)  # fmt: skip


class Generator:
    """A stream of random bits with a state. `Generator()` starts from a fixed default seed;
    `Generator("cuda")` is one of a GPU.

    Raises RuntimeError for a device without a generator.
    """

    __slots__ = ("device", "_engine", "_seed", "_untouched", "next_normal")
    __module__ = "internals.random"  # where users find it

    device: device

    def __new__(cls, device: DeviceLike | None = "cpu") -> Generator:
        if cls is Generator and device != "cpu" and resolve(device).type == "cuda":
            cls = hooks("cuda").generator()
        return object.__new__(cls)

    def __init__(self, device: DeviceLike = "cpu") -> None:
        self.device = resolve(device)
        if self.device is not CPU:
            raise RuntimeError(
                f"Device type {self.device.type} is not supported for internals.Generator() api."
            )
        self._engine: Any = None
        self.manual_seed(DEFAULT_SEED)

    def manual_seed(self, seed: int) -> Generator:
        """Starts the stream of `seed`, of which the lower 32 bits count. Returns the generator.

        Negative seeds are taken modulo 2**64. Raises RuntimeError for a seed that is not an
        integer, ValueError for one of more than 64 bits.
        """
        if isinstance(seed, (float, str)) or not hasattr(seed, "__index__"):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        seed = seed.__index__()
        if not -(1 << 63) <= seed < 1 << 64:
            raise ValueError("Overflow when unpacking long long")
        self._seed = seed if seed >= 0 else (1 << 64) + seed
        self._engine = None  # numpy.random is imported when the first number is drawn
        self._untouched = True
        self.next_normal: float | None = None
        return self

    def initial_seed(self) -> int:
        return self._seed

    def seed(self) -> int:
        """Starts the stream of a seed from the operating system, and returns the seed."""
        self.manual_seed(int.from_bytes(os.urandom(8)) >> 11)
        return self._seed

    def random32(self, n: int) -> Any:
        """The next `n` words of the stream, as a uint64 array of 32-bit values."""
        self._untouched = False
        return self._bits().random_raw(n)

    def random64(self, n: int) -> Any:
        """The next `n` pairs of words as uint64, the first of each pair in the upper half."""
        self._untouched = False
        words = self._bits().random_raw(2 * n)
        return words[0::2] << np.uint64(32) | words[1::2]

    def get_state(self) -> Any:
        """The state as a uint8 tensor, in the layout of `STATE`."""
        twister = self._bits().state["state"]
        s = np.zeros((), STATE)
        s["initial_seed"], s["seeded"], s["state"] = self._seed, 1, twister["key"]
        # of the 624 words `next` were drawn; `left` is how many are left, plus 1
        s["left"], s["next"] = 625 - twister["pos"], 0 if self._untouched else twister["pos"]
        if self.next_normal is not None:
            s["normal_y"], s["normal_is_valid"] = self.next_normal, 1
        return from_array(np.frombuffer(s.tobytes(), np.uint8))

    def set_state(self, new_state: TensorImpl) -> Generator:
        """Continues from a state that `get_state` returned. Raises TypeError or RuntimeError for a
        tensor that cannot be one.
        """
        content = state_bytes(new_state)
        if len(content) != STATE.itemsize:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {STATE.itemsize} but found the input "
                f"RNG state size to be {len(content)}"
            )
        s = np.frombuffer(content, STATE)[0]
        # with none left, the next word starts a new round of 624, whatever `next` is
        pos = _WORDS if s["left"] == 1 else int(s["next"])
        self._seed = int(s["initial_seed"])
        engine = np.random.MT19937()
        engine.state = {
            "bit_generator": "MT19937",
            "state": {"key": s["state"].astype(np.uint32), "pos": pos},
        }
        self._engine, self._untouched = engine, bool(s["left"] == 1 and s["next"] == 0)
        self.next_normal = float(s["normal_y"]) if s["normal_is_valid"] else None
        return self

    def clone_state(self) -> Generator:
        """A new generator that will produce the same numbers."""
        return Generator().set_state(self.get_state())

    def get_offset(self) -> int:
        """Raises RuntimeError: only generators of a GPU have an offset."""
        raise RuntimeError("CPU Generator does not use offset")

    def set_offset(self, offset: int) -> Generator:
        """Raises RuntimeError: only generators of a GPU have an offset."""
        raise RuntimeError("CPU Generator does not use offset")

    def graphsafe_get_state(self) -> Generator:
        """Raises NotImplementedError: only generators of a GPU have a state that a CUDA graph can
        hold.
        """
        raise NotImplementedError("graphsafe_get_state is not supported in this Generator")

    def graphsafe_set_state(self, state: Generator) -> None:
        """Raises NotImplementedError: only generators of a GPU have such a state."""
        raise NotImplementedError("graphsafe_set_state is not supported in this Generator")

    def _bits(self) -> Any:
        """numpy's engine, made when the first number is drawn."""
        engine = self._engine
        if engine is None:
            with drawing:  # two threads with an engine each would draw the same numbers
                engine = self._engine
                if engine is None:
                    engine = np.random.MT19937()
                    engine._legacy_seeding(self._seed & 0xFFFFFFFF)
                    self._engine = engine
        return engine

    def __repr__(self) -> str:
        return f"<internals.Generator on {self.device}>"


def state_bytes(state: TensorImpl) -> bytes:
    """The content of a tensor of bytes on the CPU. Raises TypeError for anything else."""
    if not isinstance(state, TensorImpl):
        raise TypeError(f"expected an internals.ByteTensor, but got {type(state).__name__}")
    if state.dtype is not uint8 or state.device is not CPU:
        raise TypeError("RNG state must be an internals.ByteTensor")
    return np.ascontiguousarray(array(state)).tobytes()


def uniform32(g: Generator, n: int, bits: int = 24) -> Any:
    """`n` doubles in [0, 1), from the lower `bits` of one word each. 24 bits are those of a
    float32's mantissa.
    """
    return (g.random32(n) & np.uint64((1 << bits) - 1)) * math.ldexp(1.0, -bits)


def uniform64(g: Generator, n: int) -> Any:
    """`n` doubles in [0, 1), from the lower 53 of 64 bits each: those of a double's mantissa."""
    return (g.random64(n) & np.uint64((1 << 53) - 1)) * math.ldexp(1.0, -53)


@contextmanager
def one_by_one(g: Generator) -> Iterator[Callable[[], float]]:
    """A block with a function that returns the next double in [0, 1) at each call, for algorithms
    that do not know how many they will need.

    Numbers are drawn many at a time. At the end of the block the stream is set to the place behind
    the last number that was used.
    """
    with drawing:
        engine = g._bits()
        before, drawn, block = engine.state, 0, iter(())

        # blocks of 64 numbers, then of four times as many as before, up to 65536
        def blocks() -> Iterator[Iterator[float]]:
            nonlocal drawn, block
            size = 64
            while True:
                block = iter(uniform64(g, size).tolist())
                drawn += size
                yield block
                size = min(4 * size, 1 << 16)

        try:
            yield chain.from_iterable(blocks()).__next__
        finally:
            # back to the beginning, then past the numbers that were used
            engine.state = before
            g.random64(drawn - length_hint(block))


default_generator = Generator()
default_generator.seed()

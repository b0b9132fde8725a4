"""`Generator`: where random numbers come from (`aten/src/ATen/CPUGeneratorImpl.cpp`,
`ATen/core/MT19937RNGEngine.h`).

A Mersenne Twister gives a stream of 32-bit words; everything random is made from these words, in an
order that is part of PyTorch's behaviour: the same seed gives the same tensors.
`internals.aten.native.random` has the recipes. One `default_generator` serves whoever does not
bring a generator.

How the real one differs: the same engine, seeded in the same way, in C++, and a mutex in each
generator; here numpy runs it, many words at a time. The tensor of `get_state` has the same layout,
byte by byte, so a state can be carried from one to the other.
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
# held while a generator's state is changed; numpy draws words under a lock of its own
drawing = threading.RLock()
_WORDS = 624
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
        """Start the stream that belongs to `seed`; its lower 32 bits count. Returns the generator.

        Negative seeds are taken modulo 2**64. Raises RuntimeError for what is no integer,
        ValueError for more than 64 bits.
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
        """Start anew from a seed that cannot be guessed, and return it."""
        self.manual_seed(int.from_bytes(os.urandom(8)) >> 11)
        return self._seed

    def random32(self, n: int) -> Any:
        """The next `n` words of the stream, as a uint64 array of 32-bit values."""
        self._untouched = False
        return self._bits().random_raw(n)

    def random64(self, n: int) -> Any:
        """The next `n` pairs of words, the first of each pair in the upper half."""
        self._untouched = False
        words = self._bits().random_raw(2 * n)
        return words[0::2] << np.uint64(32) | words[1::2]

    def get_state(self) -> Any:
        """The state as a tensor of bytes."""
        twister = self._bits().state["state"]
        s = np.zeros((), STATE)
        s["initial_seed"], s["seeded"], s["state"] = self._seed, 1, twister["key"]
        s["left"], s["next"] = 625 - twister["pos"], 0 if self._untouched else twister["pos"]
        if self.next_normal is not None:
            s["normal_y"], s["normal_is_valid"] = self.next_normal, 1
        return from_array(np.frombuffer(s.tobytes(), np.uint8))

    def set_state(self, new_state: TensorImpl) -> Generator:
        """Continue from a state. Raises TypeError or RuntimeError for what `get_state` cannot have
        given.
        """
        content = state_bytes(new_state)
        if len(content) != STATE.itemsize:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {STATE.itemsize} but found the input "
                f"RNG state size to be {len(content)}"
            )
        s = np.frombuffer(content, STATE)[0]
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
        """A generator that will give the same numbers."""
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
    """`n` doubles in [0, 1) from one word each, of which the lower `bits` count: what a float32 can
    hold.
    """
    return (g.random32(n) & np.uint64((1 << bits) - 1)) * math.ldexp(1.0, -bits)


def uniform64(g: Generator, n: int) -> Any:
    """`n` doubles in [0, 1) from two words each, of which 53 bits count."""
    return (g.random64(n) & np.uint64((1 << 53) - 1)) * math.ldexp(1.0, -53)


@contextmanager
def one_by_one(g: Generator) -> Iterator[Callable[[], float]]:
    """A function that gives the next double in [0, 1), for those who do not know how many they will
    need.

    Numbers are drawn many at a time; at the end the stream is put where the last one that was asked
    for left it.
    """
    with drawing:
        engine = g._bits()
        before, drawn, block = engine.state, 0, iter(())

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
            engine.state = before
            g.random64(drawn - length_hint(block))


default_generator = Generator()
default_generator.seed()

"""The generators of random numbers on the GPU, and the functions that seed them
(`torch/cuda/random.py`, `CUDAGeneratorImpl.cpp`).

A generator is two numbers: a seed, and an *offset*, the number of random words that each thread has
been given so far. Philox computes a thread's words from these two and the thread's index
(`kernels/philox.py`). So a state has only 16 bytes, and none of it lies on the device. The launch
of a kernel that draws reserves the words that a thread may take: the offset moves on by as many.

Seeding a GPU that has not been used is remembered until it is, so that `torch.manual_seed`
initialises no device.

How the real one differs: a generator that takes part in the capture of a CUDA graph keeps seed and
offset in device memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from internals.core.device import DeviceLike, device as Device, resolve
from internals.core.generator import DEFAULT_SEED, Generator, state_bytes
from internals.core.tensor_impl import Tensor, TensorImpl, from_array

from . import backend

SEED_BYTES, STATE_BYTES = 8, 16  # a state is the seed alone, or the seed and the offset


class CUDAGenerator(Generator):
    """The class of `Generator("cuda")`: a seed, and an offset that is a multiple of 4, as Philox
    computes four words at once.
    """

    __slots__ = ("_offset",)

    def __init__(self, device: DeviceLike = "cuda") -> None:
        self.device = resolve(device)
        self.manual_seed(DEFAULT_SEED)

    def manual_seed(self, seed: int) -> CUDAGenerator:
        super().manual_seed(seed)
        self._offset = 0
        return self

    def get_offset(self) -> int:
        """The number of words that every thread has been given so far."""
        return self._offset

    def set_offset(self, offset: int) -> CUDAGenerator:
        """Continue at word `offset` of every thread. Raises RuntimeError unless it is a multiple of
        4.
        """
        if offset % 4:
            raise RuntimeError("offset must be a multiple of 4")
        self._offset = int(offset)
        return self

    def philox_state(self, words: int) -> tuple[Any, Any]:
        """The seed, and the position in blocks of four words, for a kernel whose threads take up to
        `words` words each. Moves the offset on.
        """
        position = self._offset // 4
        self._offset += (words + 3) // 4 * 4  # whole blocks: no two launches share one
        return np.uint64(self._seed), np.uint64(position)

    def get_state(self) -> Any:
        """The state as a tensor (16,) of bytes on the CPU: the seed, then the offset."""
        return from_array(np.array([self._seed, self._offset], np.uint64).view(np.uint8))

    def set_state(self, new_state: TensorImpl) -> CUDAGenerator:
        """Continue from a state, or from a seed alone. Raises TypeError or RuntimeError for a
        tensor that is neither.
        """
        content = state_bytes(new_state)
        if len(content) not in (SEED_BYTES, STATE_BYTES):
            raise RuntimeError("RNG state is wrong size")
        seed, *offset = np.frombuffer(content, np.uint64).tolist()
        self.manual_seed(seed)
        return self.set_offset(offset[0] if offset else 0)

    def clone_state(self) -> CUDAGenerator:
        return CUDAGenerator(self.device).set_state(self.get_state())


class DefaultGenerators:
    """`torch.cuda.default_generators`: one for each device, made when it is first asked for. Unless
    you seeded the device before, its seed is unpredictable.
    """

    def __init__(self) -> None:
        self._made: dict[int, CUDAGenerator] = {}
        self._seed_of: dict[int, int] = {}  # the seeds of generators that are yet to be made
        self._seed_of_all: int | None = None

    def __len__(self) -> int:
        return backend.device_count()

    def __iter__(self) -> Iterator[CUDAGenerator]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: int) -> CUDAGenerator:
        found = self._made.get(index)
        if found is None:
            if not 0 <= index < backend.driver().device_count():
                raise IndexError(f"there is no device cuda:{index}")
            found = self._made[index] = CUDAGenerator(Device("cuda", index))
            seed = self._seed_of.pop(index, self._seed_of_all)
            found.seed() if seed is None else found.manual_seed(seed)
        return found

    def __repr__(self) -> str:
        return repr(tuple(self))

    def seed_one(self, index: int, seed: int) -> None:
        """Seed the generator of a device, now or when it is made."""
        if index in self._made:
            self._made[index].manual_seed(seed)
        else:
            self._seed_of[index] = seed

    def seed_all(self, seed: int) -> None:
        """Seed the generators of all devices, also of those that are yet to be made."""
        self._seed_of.clear()
        self._seed_of_all = seed
        for generator in self._made.values():
            generator.manual_seed(seed)

    def forget(self) -> None:
        """Drop the generators, since another driver took over; its devices get new ones."""
        self._made.clear()


default_generators = DefaultGenerators()
backend.on_change(default_generators.forget)


def get_rng_state(device: DeviceLike = "cuda") -> Any:
    """The state of the device's default generator, as a tensor of 16 bytes on the CPU."""
    return default_generators[_index(device)].get_state()


def get_rng_state_all() -> list[Any]:
    return [generator.get_state() for generator in default_generators]


def set_rng_state(new_state: Tensor, device: DeviceLike = "cuda") -> None:
    """Let the device's default generator continue from a state of `get_rng_state`."""
    default_generators[_index(device)].set_state(new_state)


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    for i, state in enumerate(new_states):
        set_rng_state(state, i)


def manual_seed(seed: int) -> None:
    """Seed the generator of the current GPU. Without a GPU it has no effect."""
    default_generators.seed_one(backend.current_device(), int(seed))


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all GPUs. Without a GPU it has no effect."""
    default_generators.seed_all(int(seed))


def seed() -> None:
    """Seed the generator of the current GPU unpredictably. Without a GPU it has no effect."""
    manual_seed(Generator().seed())


def seed_all() -> None:
    """Seed all GPUs with the same unpredictable seed."""
    manual_seed_all(Generator().seed())


def initial_seed() -> int:
    """The seed of the current GPU's generator."""
    return default_generators[_index("cuda")].initial_seed()


def generator_for(given: Generator | None, device: Any) -> CUDAGenerator:
    """`given`, or the default generator of `device` for None. Raises RuntimeError for a generator
    of another type of device.
    """
    if given is None:
        return default_generators[device.index]
    if not isinstance(given, CUDAGenerator):
        raise RuntimeError(
            f"Expected a 'cuda' device type for generator but found '{given.device.type}'"
        )
    return given


def _index(device: DeviceLike) -> int:
    """The index of a device given as an index, a string or a `torch.device`."""
    where = (
        Device("cuda", device)
        if isinstance(device, int)
        else Device(device)
        if isinstance(device, str)
        else device
    )
    return backend.current_device() if where.index is None else int(where.index)

"""Seeds and states of the default generators (`torch/random.py`).

The generators themselves, which make the random numbers, are in `core/generator.py` and
`internals.cuda.random`.

How the real one differs: `fork_rng` takes other accelerators too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from internals.core.generator import Generator, default_generator
from internals.core.tensor_impl import Tensor


def manual_seed(seed: int) -> Generator:
    """Seeds the default generators of all devices, so that all random numbers from here on are the
    same in each run. Returns the generator of the CPU.
    """
    from internals.cuda import random as cuda_random

    default_generator.manual_seed(int(seed))
    cuda_random.manual_seed_all(default_generator.initial_seed())
    return default_generator


def seed() -> int:
    """Seeds the default generators of all devices with an unpredictable number, and returns it."""
    return manual_seed(default_generator.seed()).initial_seed()


def initial_seed() -> int:
    """The seed that the CPU's default generator started from."""
    return default_generator.initial_seed()


def get_rng_state() -> Any:
    """The state of the CPU's default generator, as a uint8 tensor."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Makes the CPU's default generator continue from a state that `get_rng_state` returned."""
    default_generator.set_state(new_state)


@contextmanager
def fork_rng(
    devices: Iterable[Any] | None = None, enabled: bool = True, device_type: str = "cuda"
) -> Iterator[None]:
    """A block after which the generators of the CPU and of the GPUs in `devices` have the states
    that they had before. None means all GPUs.

    With a `device_type` other than "cuda" only the CPU's generator is restored.
    """
    from internals.cuda import backend, random as cuda_random

    if not enabled:
        yield
        return
    every = range(backend.device_count() if device_type == "cuda" else 0)
    gpus = list(every if devices is None else devices)
    state, states = get_rng_state(), [cuda_random.get_rng_state(gpu) for gpu in gpus]
    try:
        yield
    finally:
        set_rng_state(state)
        for gpu, gpu_state in zip(gpus, states):
            cuda_random.set_rng_state(gpu_state, gpu)

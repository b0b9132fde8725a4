"""A simulated GPU for the checkers of notebooks 19 to 21: made for one check, and gone afterwards.

So an answer is judged the same whatever CUDA is where it is judged: not there at all, a real GPU,
or the simulated one of a notebook, with whatever the reader has left in its memory.

How the real one differs: PyTorch's tests of CUDA need a GPU, and empty its cache between them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def simulated_gpu(memory: int = 64 << 20, **times: Any) -> Iterator[Any]:
    """Inside, `cuda` is a new simulated device; its driver. `times` are fields of the simulator's
    `Model`.
    """
    from internals.cuda import backend
    from internals.cuda.simulator.driver import SimulatedDriver
    from internals.cuda.simulator.model import Model

    with _kept(), backend.installed(SimulatedDriver(memory=memory, model=Model(**times))) as driver:
        yield driver


@contextmanager
def _kept() -> Iterator[None]:
    """What belongs to a device is forgotten when another one takes over: caches, streams,
    generators. Afterwards it is back.
    """
    from internals.core.side_streams import side_streams
    from internals.cuda import random, streams
    from internals.cuda.allocator import devices

    generators = random.default_generators
    tables: list[dict[Any, Any]] = [
        devices._allocators, streams._pools, streams._taken, generators._made, generators._seed_of
    ]  # fmt: skip
    contents = [dict(table) for table in tables]
    pinned, seed, in_use = devices._pinned, generators._seed_of_all, side_streams.in_use
    try:
        yield
    finally:
        for table, content in zip(tables, contents):
            table.clear()
            table.update(content)
        devices._pinned, generators._seed_of_all, side_streams.in_use = pinned, seed, in_use

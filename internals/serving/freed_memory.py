"""Memory that was freed goes back to the system.

glibc's `free` gives back only what lies at the end of a heap. After a crowd of calls has gone, a
little that lives on above keeps all that is free below it: a server that once needed 600 MiB has
600 MiB for ever. `malloc_trim` gives back every free page, wherever it lies. What the tensors' own
allocator keeps for the next tensor is not free in that sense, and stays.

How the real one differs: Triton links jemalloc or tcmalloc where its operator preloads one; both
give pages back by the clock.
"""

from __future__ import annotations

import asyncio
import ctypes
import os

EVERY = 10.0  # seconds


async def give_back(seconds: float = EVERY) -> None:
    """Gives back what is free, for ever; returns at once where the C library has no
    `malloc_trim`.
    """
    trim = None if os.name == "nt" else getattr(ctypes.CDLL(None), "malloc_trim", None)
    while trim is not None:
        await asyncio.sleep(seconds)
        await asyncio.to_thread(trim, 0)

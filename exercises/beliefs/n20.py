"""What people believe about kernels."""

from __future__ import annotations

from exercises.beliefs import Beliefs

PADDED = "the greatest common divisor of the pitch and 32 says how many rows begin in one bank"

BELIEFS: Beliefs = {
    "too many threads": [
        (
            {"the launch": True, "the wait": False},
            "the launch only queues the kernel, and it has not run yet",
        ),
        (
            {"the launch": False, "the wait": False},
            "thread 40 writes where the array has ended, and the simulator checks every index",
        ),
    ],
    "steps": [
        ({1: 4, 2: 8, 8: 32, 32: 128}, "32 threads touch 32 sectors at most, one each"),
        ({1: 32, 2: 32, 8: 32, 32: 32}, "neighbours share a sector: eight floats are in each"),
        ({1: 1, 2: 2, 8: 8, 32: 32}, "a sector has 32 bytes, so the 128 bytes of step 1 are four"),
    ],
    "hasty": [
        (
            {"right here": True, "a race": True},
            "on a GPU mostly; the simulator's threads run one after the other, so it shows",
        ),
        (
            {"right here": True, "a race": False},
            "thread 1 reads what thread 4 writes, and no barrier lies between them",
        ),
        (
            {"right here": False, "a race": False},
            "the race is the reason: a store and a load of one element, with no barrier between",
        ),
    ],
    "pitch": [
        ({32: 1, 33: 2, 34: 2, 40: 8}, f"rows of 32 put a whole column into one bank; {PADDED}"),
        ({32: 32, 33: 1, 34: 1, 40: 1}, f"not any padding helps: {PADDED}"),
        ({32: 32, 33: 1, 34: 2, 40: 1}, PADDED),
    ],
    "loads": [
        ({"naive": 32, "tiled": 1}, "four blocks side by side each load it once"),
        ({"naive": 1, "tiled": 1}, "each thread loads a whole row of a: 32 threads want it"),
        ({"naive": 64, "tiled": 8}, "those are the loads for an element of c, of a and of b"),
    ],
}

"""`torch.cuda._sleep`: keep a stream busy for a while, to see what waits for it
(`aten/src/ATen/cuda/Sleep.cu`).

How the real one differs: its kernel reads the clock of its multiprocessor until the cycles are
over; numba has no such register, so this one sleeps, about as long as a clock of 1.5 GHz would
take. On the simulator a cycle is modelled as a nanosecond.
"""

from __future__ import annotations

from typing import Any

from . import backend
from .language import cuda, kernel

CYCLES_A_MICROSECOND = 1500


@kernel
def spin(rounds: Any) -> None:
    """One thread that sleeps a microsecond at a time."""
    for _ in range(rounds):
        cuda.nanosleep(1000)


def _sleep(cycles: int) -> None:
    """Keep the current stream busy for about `cycles` cycles. The host goes on."""
    from .simulator.driver import SimulatedDriver

    driver = backend.driver()
    device = backend.current_device()
    if isinstance(driver, SimulatedDriver):
        driver.spin(device, backend.current_stream(device), cycles)
    else:
        spin[1, 1](max(1, cycles // CYCLES_A_MICROSECOND))

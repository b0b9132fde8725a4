"""`torch.cuda._sleep`: keeps a stream busy for a while, to see which work waits for it
(`aten/src/ATen/cuda/Sleep.cu`).

On the simulator a cycle is modelled as a nanosecond.

How the real one differs: its kernel reads the clock register of its multiprocessor until the cycles
are over. numba does not offer that register, so this kernel sleeps for the time that the cycles
would take at 1.5 GHz.
"""

from __future__ import annotations

from typing import Any

from . import backend
from .language import cuda, kernel

CYCLES_A_MICROSECOND = 1500


@kernel
def spin(rounds: Any) -> None:
    """Sleep `rounds` times a microsecond. Launched with one thread."""
    for _ in range(rounds):
        cuda.nanosleep(1000)  # many short sleeps: a single one is limited to about a millisecond


def _sleep(cycles: int) -> None:
    """Keep the current stream busy for about `cycles` cycles. Returns at once."""
    from .simulator.driver import SimulatedDriver

    driver = backend.driver()
    device = backend.current_device()
    if isinstance(driver, SimulatedDriver):
        driver.spin(device, backend.current_stream(device), cycles)
    else:
        spin[1, 1](max(1, cycles // CYCLES_A_MICROSECOND))

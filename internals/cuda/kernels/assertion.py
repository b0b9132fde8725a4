"""Assertions in kernels (`CUDA_KERNEL_ASSERT` in `c10/macros/Macros.h`).

A kernel cannot raise an exception. When `check` finds its condition false, the thread calls
`__assertfail`, which the driver knows: the launch ends, the next call that waits for the device
gets "CUDA error: device-side assert triggered", and the context cannot be used any more. So an
index out of range is detected without the host having to look at the indices before each launch.

How the real one differs: its message names the file, the line and the condition, as the
preprocessor saw them.
"""

from __future__ import annotations

from internals.machine_code.records import Element

from ..language import Intrinsic, device_function


def fail() -> None:
    """`__assertfail` where kernels do not run on a GPU: there an exception can be raised."""
    raise AssertionError("a condition that the kernel checks does not hold")


assert_fail = Intrinsic("internals.cuda.assert_fail:assert_fail", elsewhere=fail)


@device_function
def check(condition: Element):
    """Ends the launch with an error if `condition` is false."""
    if not condition:
        assert_fail()

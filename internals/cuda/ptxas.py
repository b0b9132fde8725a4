"""The registers that a kernel's PTX needs on a chip, and the values that did not fit into them, as
ptxas reports them (`nvcc -Xptxas=-v`).

    registers_of(ptx(kernel, ...), (9, 0))      # Registers(used=128, spilled=0, stack=0)

ptxas is part of nvJitLink, so this works without a GPU. A spill is a value kept in memory because
no register is left for it; in an inner loop that is expensive.

How the real one differs: `ptxas` is a program of the toolkit; `cuobjdump --dump-resource-usage`
reads the same from a binary.
"""

from __future__ import annotations

import importlib
import re
from typing import Any, NamedTuple

from .ptx import FIX, PtxError, PtxUnavailable


class Registers(NamedTuple):
    """The resources of a thread: `used` registers, and bytes of local memory. `spilled` is the
    bytes of spilled values, `stack` those of the stack frame, which holds local arrays too.
    """

    used: int
    spilled: int
    stack: int


def registers_of(text: str, cc: tuple[int, int]) -> Registers:
    """The registers of the one kernel in the PTX `text` on a chip of compute capability `cc`.
    Raises PtxUnavailable without nvJitLink, PtxError for bad PTX.
    """
    link, options, code = (
        nvjitlink(),
        [f"-arch=sm_{cc[0]}{cc[1]}", "-Xptxas=-v"],
        str(text).encode(),
    )
    handle = link.create(len(options), options)
    try:
        try:
            link.add_data(handle, link.InputType.PTX, code, len(code), "kernel")
            link.complete(handle)
        except Exception as error:  # it only says that linking failed: the log has the reason
            raise PtxError(
                f"ptxas refuses this for sm_{cc[0]}{cc[1]}: {_log(link, handle, 'error') or error}"
            ) from None
        return read(_log(link, handle, "info"))
    finally:
        link.destroy(handle)


def read(report: str) -> Registers:
    """The numbers in a report of ptxas about one kernel; 0 for one that it leaves out."""

    def number(pattern: str) -> int:
        found = re.search(pattern, report)
        return int(found[1]) if found else 0

    patterns = r"Used (\d+) registers", r"(\d+) bytes spill stores", r"(\d+) bytes stack frame"
    return Registers(*map(number, patterns))


def nvjitlink() -> Any:
    """The Python binding of nvJitLink. Raises PtxUnavailable if it or the library is missing."""
    try:
        found = importlib.import_module("cuda.bindings.nvjitlink")
        found.version()
    except Exception as error:  # the type depends on which part is missing
        raise PtxUnavailable(f"nvJitLink is not here: {FIX} ({error})") from None
    return found


def _log(link: Any, handle: int, kind: str) -> str:
    """The "info" or the "error" log of a link."""
    text = bytearray(getattr(link, f"get_{kind}_log_size")(handle))
    getattr(link, f"get_{kind}_log")(handle, text)
    return text.decode(errors="replace").strip("\0 \n")

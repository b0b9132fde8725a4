"""What becomes of PTX on a chip: registers, and what did not fit into them, as ptxas reports it
(`nvcc -Xptxas=-v`).

    registers_of(ptx(kernel, ...), (9, 0))      # Registers(used=128, spilled=0, stack=0)

ptxas comes within nvJitLink, so that this works without a GPU. A spill is a register kept in memory
because there are no more; in an inner loop it costs more than whatever wanted the register.

How the real one differs: `ptxas` is a program of the toolkit; `cuobjdump --dump-resource-usage`
reads the same from a binary.
"""

from __future__ import annotations

import importlib
import re
from typing import Any, NamedTuple

from .ptx import FIX, PtxError, PtxUnavailable


class Registers(NamedTuple):
    """Of a thread. `spilled` and `stack` are bytes of memory, `stack` those for arrays that are no
    registers as well.
    """

    used: int
    spilled: int
    stack: int


def registers_of(text: str, cc: tuple[int, int]) -> Registers:
    """Assign registers for a chip of compute capability `cc`. Raises PtxUnavailable without
    nvJitLink, PtxError for bad PTX.
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
        except Exception as error:  # nvJitLink's own, which only says that it failed
            raise PtxError(
                f"ptxas refuses this for sm_{cc[0]}{cc[1]}: {_log(link, handle, 'error') or error}"
            ) from None
        return read(_log(link, handle, "info"))
    finally:
        link.destroy(handle)


def read(report: str) -> Registers:
    """The numbers of a report of ptxas about one kernel."""

    def number(pattern: str) -> int:
        found = re.search(pattern, report)
        return int(found[1]) if found else 0

    patterns = r"Used (\d+) registers", r"(\d+) bytes spill stores", r"(\d+) bytes stack frame"
    return Registers(*map(number, patterns))


def nvjitlink() -> Any:
    """The binding of nvJitLink. Raises PtxUnavailable if it or the library is missing."""
    try:
        found = importlib.import_module("cuda.bindings.nvjitlink")
        found.version()
    except Exception as error:  # each way of being absent has its own
        raise PtxUnavailable(f"nvJitLink is not here: {FIX} ({error})") from None
    return found


def _log(link: Any, handle: int, kind: str) -> str:
    text = bytearray(getattr(link, f"get_{kind}_log_size")(handle))
    getattr(link, f"get_{kind}_log")(handle, text)
    return text.decode(errors="replace").strip("\0 \n")

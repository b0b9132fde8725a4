"""What came of a call: an answer, a refusal, or a finding.

An error must be PyTorch's in type ("error" if it is not), and raised by a `raise` of this package ("words" if it is not): what
numpy, ctypes or Python's own functions raise names none of the things that a user knows, even where the type is one of these.
"""

from __future__ import annotations

import dis
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import internals
from internals.core.device import CPU
from internals.core.tensor_impl import array
from tests.memory_fuzz.calls import Call, tensors
from tests.memory_fuzz.guarded import filled_otherwise

ROOT, HERE = Path(internals.__file__).parent, Path(__file__).parent
TYPES = (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError, OverflowError)
UNINITIALISED = {
    "empty",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "new_empty",
    "new_empty_strided",
}
GROWING = {"resize_", "resize_as_", "set_"}  # their new elements are not written either
READ = 1 << 20  # bytes of a tensor that are looked at


class Outcome(NamedTuple):
    """ "answered", "refused", or the kind of finding; where, and what."""

    kind: str
    place: str = ""
    details: str = ""


def judge(call: Call) -> Outcome:
    """Make the call, look at everything it gave."""
    try:
        found = call.run()
    except Exception as error:
        known = type(error).__module__.partition(".")[0] in (
            "builtins",
            "internals",
        ) and isinstance(error, TYPES)
        if known and is_ours(error):
            return Outcome("refused")
        told = f"{error}\n{''.join(traceback.format_tb(error.__traceback__)[-4:])}"
        return Outcome(
            "words" if known else "error", f"{type(error).__name__} at {place_of(error)}", told
        )
    if call.has_shrunk():  # its views reach out of their storage as it does; kernels must notice
        return Outcome("answered")
    for t in tensors(found):
        if complaint := beyond(t):
            return Outcome("outside", call.op.name, complaint)
    if call.op.schema.name not in UNINITIALISED | GROWING and (complaint := unwritten(call, found)):
        return Outcome("unwritten", call.op.name, complaint)
    return Outcome("answered")


def unwritten(call: Call, found: list[Any]) -> str:
    """Which tensor has other elements when memory that nobody wrote to has."""
    contents = [content(t) for t in tensors(found)]
    with filled_otherwise():
        again = tensors(call.run())
        for i, (was, t) in enumerate(zip(contents, again)):
            if content(t) != was:
                return f"tensor {i} of {len(again)} is another with other memory: {t}"
    return ""


def content(t: Any) -> bytes:
    """The elements of a tensor, none of a large one."""
    return array(t).tobytes() if t.device is CPU and 0 < t._geometry.nbytes <= READ else b""


def beyond(t: Any) -> str:
    """How a tensor reaches out of its storage."""
    if t.device is not CPU:
        return ""
    g, offset = t._geometry, t.storage_offset()
    if len(g.sizes) != len(g.strides) or min(g.sizes, default=0) < 0 or offset < 0:
        return f"{g} at {offset}"
    if g.numel:
        ends = [(n - 1) * s for n, s in zip(g.sizes, g.strides)]
        low, high = offset + sum(min(e, 0) for e in ends), offset + sum(max(e, 0) for e in ends)
        if low < 0 or (high + 1) * t.itemsize > t.untyped_storage().nbytes():
            return f"{g} at {offset}, in a storage of {t.untyped_storage().nbytes()} bytes"
    return ""


def is_ours(error: Exception) -> bool:
    """Whether a `raise` of this package raised it."""
    last = frames(error)[-1]
    code = last.tb_frame.f_code
    ours = {ROOT, HERE} & set(Path(code.co_filename).parents)  # the guarded allocator refuses, too
    return bool(ours) and dis.opname[code.co_code[last.tb_lasti]] in ("RAISE_VARARGS", "RERAISE")


def place_of(error: Exception) -> str:
    """The innermost line of this package."""
    inside = [f for f in frames(error) if ROOT in Path(f.tb_frame.f_code.co_filename).parents]
    if not inside:
        return "?"
    path = Path(inside[-1].tb_frame.f_code.co_filename).relative_to(ROOT)
    return f"{path}:{inside[-1].tb_lineno} {inside[-1].tb_frame.f_code.co_name}"


def frames(error: Exception) -> list[TracebackType]:
    found, at = [], error.__traceback__
    while at is not None:
        found.append(at)
        at = at.tb_next
    return found

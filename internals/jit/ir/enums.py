"""Dtypes, layouts and memory formats in the IR: numbers (`c10/core/ScalarType.h`, `Layout.h`,
`MemoryFormat.h`).

    enum_code(internals.float32)         6
    OBJECTS["ScalarType"][6]             internals.float32

They become numbers where Python hands them to a graph, and objects again at the door of the
operator.

How the real one differs: they are C++ enums, so nothing has to be converted; schemas alone know
what such an int means.
"""

from __future__ import annotations

from typing import Any

from internals.core import formats
from internals.core.dtype import BY_CODE, dtype

OBJECTS: dict[str, dict[int, Any]] = {
    "ScalarType": dict(BY_CODE),
    "Layout": {0: formats.strided},
    "MemoryFormat": dict(
        enumerate(
            (
                formats.contiguous_format,
                formats.preserve_format,
                formats.channels_last,
                formats.channels_last_3d,
            )
        )
    ),
}
_CODES = {
    value: code for name in ("Layout", "MemoryFormat") for code, value in OBJECTS[name].items()
}


def enum_code(value: object) -> int | None:
    """The number of a dtype, layout or memory format; None for anything else."""
    if isinstance(value, dtype):
        return value.code
    return _CODES[value] if isinstance(value, (formats.layout, formats.memory_format)) else None

"""The numbers of dtypes, layouts and memory formats in the IR (`c10/core/ScalarType.h`,
`Layout.h`, `MemoryFormat.h`).

    enum_code(internals.float32)         6
    OBJECTS["ScalarType"][6]             internals.float32

They become numbers when Python passes them to a graph, and objects again when an operator of the
dispatcher is called (`operators/registry.py`).

How the real one differs: they are C++ enums, so nothing is converted; only the schema tells such an
int from others.
"""

from __future__ import annotations

from typing import Any

from internals.core import formats
from internals.core.dtype import BY_CODE, dtype

# The keys are the `enum` of an argument in a schema.
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

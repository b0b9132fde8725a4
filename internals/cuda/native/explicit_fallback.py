"""For the dtypes a kernel does not take: the CPU's kernel, on copies, counted and shown like any fallback (`fallback.py`).

No kernel of this package computes with complex numbers, which are rare where these operators are used; boolean images have none
either.

How the real one differs: PyTorch's kernels are instantiated for complex types with a C++ template argument.
"""

from __future__ import annotations

from typing import Any

from internals.core.dispatcher import dispatcher

from ..fallback import cpu_fallback


def on_cpu(name: str, *args: Any) -> Any:
    """The operator `name` ("aten::mm") on the CPU. Raises NotImplementedError where fallbacks are not allowed."""
    return cpu_fallback(dispatcher.find(name), 0, *args)

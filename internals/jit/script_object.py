"""Objects of compiled classes that are not modules (`torch/csrc/jit/api/object.h`,
`torch.ScriptObject`).

    class no_grad:
      prev : bool
      def __enter__(self: __torch__.torch.autograd.grad_mode.no_grad) -> NoneType: ...

They come only from archives: when real PyTorch saves a script with `with torch.no_grad()`, the
archive has such a class.

How the real one differs: `jit.script` also compiles the user's classes.
"""

from __future__ import annotations

from typing import Any

from .ir.class_type import ClassType
from .script_function import ScriptMethod


class ScriptObject:
    """An object of the class `type`, whose attributes are in its `__dict__`, and whose methods are
    in the type.
    """

    def __init__(self, type: ClassType) -> None:
        self.__dict__["_jit_type"] = type

    def __getattr__(self, name: str) -> Any:
        method = (
            self.__dict__["_jit_type"].findMethod(name) if "_jit_type" in self.__dict__ else None
        )
        if method is None:
            raise AttributeError(f"'ScriptObject' has no attribute '{name}'")
        return ScriptMethod(self, method)

    def __repr__(self) -> str:
        return f"<internals.jit.ScriptObject {self._jit_type.name()}>"

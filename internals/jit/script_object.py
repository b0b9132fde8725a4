"""An object of a compiled class that is no module (`torch/csrc/jit/api/object.h`,
`torch.ScriptObject`).

    class no_grad:
      prev : bool
      def __enter__(self: __torch__.torch.autograd.grad_mode.no_grad) -> NoneType: ...

They come out of archives only, which is where `with torch.no_grad()` of real PyTorch's scripts
becomes such a class.

How the real one differs: `jit.script` compiles the user's classes to such types as well.
"""

from __future__ import annotations

from typing import Any

from .ir.class_type import ClassType
from .script_function import ScriptMethod


class ScriptObject:
    """Its attributes are in its dict, its methods in the type."""

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

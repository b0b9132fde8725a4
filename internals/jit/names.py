"""Names of compiled things: `__torch__.N`, and `__torch__.___torch_mangle_0.N` for the next that
would be called so (`torch/_jit_internal.py: _qualified_name`,
`torch/csrc/jit/frontend/name_mangler.h`).

How the real one differs: names are kept per compilation unit; here there is one for the process, as
there is for Python code there.
"""

from __future__ import annotations

import threading
from typing import Any

_MANGLE = "___torch_mangle_"
_THEIRS = dict.fromkeys(
    ("internals.nn.containers", "internals.nn.parameter_containers"),
    "internals.nn.modules.container",
)
_lock = threading.Lock()
_taken: set[str] = set()
_next = 0


def qualified_name(thing: Any) -> str:
    """`__torch__.` and the module and name of a class or function; what `__main__` defines has no
    module.
    """
    module = getattr(thing, "__module__", None) or "__main__"
    name = getattr(thing, "__name__", type(thing).__name__)
    if name == "<lambda>":
        name = "_lambda"
    module = _THEIRS.get(module, module).replace("<", "_").replace(">", "_")
    if module.startswith("internals.functional"):
        module = "torch.functional"
    if module.startswith("internals.nn._") and not module.endswith("_reduction"):
        module = "torch.nn.functional"  # which is one file there
    if module.startswith("internals.nn."):
        # the layers have the names they have in PyTorch
        module = "torch" + module.removeprefix("internals")
    prefix = "__torch__" if module == "__main__" else f"__torch__.{module}"
    return f"{prefix}.{name}"


def take_name(name: str) -> str:
    """`name` if nobody has it yet, else a mangled form that nobody has."""
    global _next
    with _lock:
        while name in _taken:
            prefix, _, last = name.rpartition(".")
            prefix = ".".join(p for p in prefix.split(".") if not p.startswith(_MANGLE))
            name = f"{prefix}.{_MANGLE}{_next}.{last}"
            _next += 1
        _taken.add(name)
    return name

"""Names of compiled classes and functions: `__torch__.N`, and `__torch__.___torch_mangle_0.N` for
the next one of that name (`torch/_jit_internal.py: _qualified_name`,
`torch/csrc/jit/frontend/name_mangler.h`).

How the real one differs: each compilation unit has its own names; here there is one set of names
for the process, as PyTorch has for Python code.
"""

from __future__ import annotations

import threading
from typing import Any

_MANGLE = "___torch_mangle_"
# module of this library -> the module in which PyTorch has these classes
_THEIRS = dict.fromkeys(
    ("internals.nn.containers", "internals.nn.parameter_containers"),
    "internals.nn.modules.container",
)
_lock = threading.Lock()
_taken: set[str] = set()
_next = 0  # the number of the next mangled name


def qualified_name(thing: Any) -> str:
    """`__torch__.` with the module and name of a class or function, such as `__torch__.pkg.N`. The
    module `__main__` is omitted. Parts of this library get PyTorch's names.
    """
    module = getattr(thing, "__module__", None) or "__main__"
    name = getattr(thing, "__name__", type(thing).__name__)
    if name == "<lambda>":
        name = "_lambda"
    module = _THEIRS.get(module, module).replace("<", "_").replace(">", "_")
    if module.startswith("internals.functional"):
        module = "torch.functional"
    if module.startswith("internals.nn._") and not module.endswith("_reduction"):
        module = "torch.nn.functional"  # a single file in PyTorch
    if module.startswith("internals.nn."):
        # the layers have the names they have in PyTorch
        module = "torch" + module.removeprefix("internals")
    prefix = "__torch__" if module == "__main__" else f"__torch__.{module}"
    return f"{prefix}.{name}"


def take_name(name: str) -> str:
    """`name`, if it is not in use yet, else a mangled form that is not."""
    global _next
    with _lock:
        while name in _taken:
            prefix, _, last = name.rpartition(".")
            prefix = ".".join(p for p in prefix.split(".") if not p.startswith(_MANGLE))
            name = f"{prefix}.{_MANGLE}{_next}.{last}"
            _next += 1
        _taken.add(name)
    return name

"""A module that is imported when something in it is first asked for.

`import internals` has to be quick, and most of what autograd needs is not needed before the first gradient is.

How the real one differs: libtorch is one library, loaded as a whole.
"""

from __future__ import annotations

import importlib
from typing import Any


class LazyModule:
    """Stands for the module `name`; takes on its contents at the first access."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        contents = vars(importlib.import_module(self._name))
        self.__dict__.update({k: v for k, v in contents.items() if not k.startswith("__")})
        try:
            return self.__dict__[attribute]
        except KeyError:
            raise AttributeError(f"module '{self._name}' has no attribute '{attribute}'") from None

"""`torch.linalg`: decompositions, solvers, norms (`torch/linalg/__init__.py`).

Every function here is an operator whose name begins with `linalg_`, declared in
`aten/native_functions/linalg_*.yaml`.

How the real one differs: there the module holds the documentation, 3,000 lines of it, of functions
in `torch._C._linalg`.
"""

from __future__ import annotations

from typing import Any

from internals._generated.linalg_functions import *
from internals.aten.native.linalg.errors import LinAlgError as LinAlgError
from internals.aten.pytorch_names import missing_attribute


def __getattr__(name: str) -> Any:
    raise missing_attribute("module 'internals.linalg'", name, prefix="linalg_")

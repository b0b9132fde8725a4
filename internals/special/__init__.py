"""`torch.special`: the functions of mathematics beyond the elementary ones
(`torch/special/__init__.py`).

Every function here is an operator whose name begins with `special_`, declared in
`aten/native_functions/special.yaml`; many of them are other operators by a second name.

How the real one differs: there the module holds the documentation of functions in
`torch._C._special`.
"""

from __future__ import annotations

from typing import Any

from internals._generated.special_functions import *
from internals.aten.pytorch_names import missing_attribute


def __getattr__(name: str) -> Any:
    raise missing_attribute("module 'internals.special'", name, prefix="special_")

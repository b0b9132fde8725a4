"""Modules without their first numbers (`torch/nn/utils/init.py`)."""

from __future__ import annotations

import inspect
from typing import Any, TypeVar

from internals.nn.module import Module

M = TypeVar("M", bound=Module)


def skip_init(module_cls: type[M], *args: Any, **kwargs: Any) -> M:
    """A module whose parameters and buffers hold whatever was in memory: made on the meta device,
    and then given memory.

    Raises RuntimeError for a class that is no module, or takes no `device`.
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, **{**kwargs, "device": "meta"}).to_empty(device=device)

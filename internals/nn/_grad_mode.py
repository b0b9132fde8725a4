"""`no_grad`, from where autograd has it. Goes away once `internals.no_grad` is there."""

from __future__ import annotations

from typing import Any

try:
    from internals.autograd import no_grad
except ImportError:
    import contextlib

    class no_grad(contextlib.ContextDecorator):  # type: ignore[no-redef]
        def __enter__(self) -> None: ...

        def __exit__(self, *exception: Any) -> None: ...

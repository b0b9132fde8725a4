"""What layers with options share: the constructor keeps them, `extra_repr` prints them.

How the real one differs: each of its layers assigns its options one by one and spells out what is
printed.
"""

from __future__ import annotations

from typing import Any

from internals.nn.module import Module


class _Options(Module):
    """Options become attributes of their names, in the order given; `_shown` are those printed."""

    _shown = list[str]()  # an annotation would show in what is saved of a scripted layer

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self._keep(**options)

    def _keep(self, **options: Any) -> None:
        for name, value in options.items():
            setattr(self, name, value)

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={getattr(self, name)}" for name in self._shown)

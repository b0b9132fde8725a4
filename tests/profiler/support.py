"""Profiles for tests: made from a function, read as trees of names."""

from __future__ import annotations

from typing import Any

from internals import nn
from internals.core.dispatcher import tls
from internals.core.hot import hot
from internals.core.recording import recording
from internals.profiler import FunctionEvent, profile


def tree(events: list[FunctionEvent]) -> list[Any]:
    """The names, each with those of the calls within."""
    return [(e.name, tree(e.cpu_children)) if e.cpu_children else e.name for e in events]


def recorded(function: Any, **options: Any) -> Any:
    with profile(**options) as prof:
        function()
    return prof


def assert_nothing_left() -> None:
    assert hot.off == 0 and tls.around is None and recording.recorder is None
    assert not nn._global_hooks.around_calls


def mlp() -> Any:
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))

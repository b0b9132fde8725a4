"""Anomaly mode: finds the line of the forward computation that an error in backward comes from
(`torch/autograd/anomaly_mode.py`, `csrc/autograd/anomaly_mode.cpp`).

An error in backward shows a traceback of backward, without any line of the user's forward code.
While anomaly mode is on, every new node keeps the traceback of the call that made it. When backward
fails in a node, that traceback is shown; a node made during a backward pass (`create_graph`) also
shows that of the node that was running. Besides, the results of every node are searched for NaN.

How the real one differs: the nodes keep the traceback in C++ metadata; the mode is kept per process
in both.
"""

from __future__ import annotations

import warnings
from typing import Any

from internals.core.hot import hot

TRACEBACK, PARENT = "traceback_", "parent_"


class _Anomaly:
    """The state of the mode, the same for all threads."""

    __slots__ = ("enabled", "check_nan", "running")

    def __init__(self) -> None:
        self.enabled, self.check_nan = False, True
        self.running: list[Any] = []  # the nodes being evaluated, innermost last


anomaly = _Anomaly()


class set_detect_anomaly:
    """Switches anomaly mode on or off: at once when called, and back at the end of a `with` block
    if used as a context manager. With `check_nan` results are searched for NaN.
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        for name, value in (("enabled", mode), ("check_nan", check_nan)):
            if not isinstance(value, bool):
                position = 1 if name == "enabled" else 2
                raise TypeError(
                    f"set_anomaly_enabled(): argument '{name}' (position {position}) must be bool, "
                    f"not {type(value).__name__}"
                )
        self.before = anomaly.enabled, anomaly.check_nan
        _switch(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: Any) -> None:
        _switch(*self.before)


class detect_anomaly:
    """A block in which anomaly mode is on. Warns that it is slow."""

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should "
            "only be enabled for debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        self.before = anomaly.enabled, anomaly.check_nan
        _switch(True, self.check_nan)

    def __exit__(self, *exception: Any) -> None:
        _switch(*self.before)


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on."""
    return anomaly.enabled


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly mode searches for NaN."""
    return anomaly.check_nan


def _switch(enabled: bool, check_nan: bool) -> None:
    """Sets the mode. `hot.off` closes the fast lane while it is on: that lane makes nodes without
    calling `remember_traceback`.
    """
    hot.off += enabled - anomaly.enabled
    anomaly.enabled, anomaly.check_nan = enabled, check_nan


def remember_traceback(node: Any) -> None:
    """Keeps in `node.metadata` where the node was made, and which node was being evaluated then."""
    import traceback

    frames = [f for f in traceback.extract_stack() if not _is_ours(f.filename)]
    node.metadata[TRACEBACK] = traceback.format_list(frames)
    if anomaly.running:
        node.metadata[PARENT] = anomaly.running[-1]


def show_traceback(node: Any) -> None:
    """Warns with the forward traceback of a node whose evaluation failed, and of the nodes during
    whose evaluation it was made.
    """
    warnings.warn(_message(node), stacklevel=2)


def check_for_nan(node: Any, results: Any) -> None:
    """Raises RuntimeError naming the node when one of its results has a NaN."""
    for i, r in enumerate(results):
        if r is not None and bool(r.detach().isnan().any()):
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {i}th output.")


def _message(node: Any) -> str:
    """The text of the warning, from the node itself to the outermost of its parents."""
    metadata = node.metadata
    if TRACEBACK not in metadata:
        return (
            f"Error detected in {node.name()}. No forward pass information available. Enable "
            "detect anomaly during forward pass for more information."
        )
    text = (
        f"Error detected in {node.name()}. Traceback of forward call that caused the "
        f"error:\n{''.join(metadata[TRACEBACK])}"
    )
    # made while another node was evaluated: show that one too, and so on outwards
    while PARENT in metadata:
        node, metadata = metadata[PARENT], metadata[PARENT].metadata
        text += (
            f"\n\nPrevious calculation was induced by {node.name()}. Traceback of forward call "
            "that induced the previous calculation:\n"
            f"{''.join(metadata.get(TRACEBACK, ['(unknown)']))}"
        )
    return text


def _is_ours(filename: str) -> bool:
    """Whether a frame is inside this package, below the operator that the user called."""
    parts = filename.replace("\\", "/")
    return (
        "/internals/autograd/" in parts
        or "/internals/_generated/" in parts
        or "/internals/aten/" in parts
        or "/internals/core/" in parts
    )

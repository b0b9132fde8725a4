"""Passes: functions that rewrite a graph in place. One file each; `registry` holds them by name and runs them."""

from __future__ import annotations

from internals.jit.passes.registry import (
    PASSES,
    POST_PASSES,
    PRE_PASSES,
    Pass,
    PassRecord,
    clear_post_pass,
    clear_pre_pass,
    find_pass,
    graph_pass,
    load_passes,
    register_pass,
    register_post_pass,
    register_pre_pass,
    run_pass,
    verify_after_every_pass,
)

__all__ = [
    "PASSES",
    "POST_PASSES",
    "PRE_PASSES",
    "Pass",
    "PassRecord",
    "clear_post_pass",
    "clear_pre_pass",
    "find_pass",
    "graph_pass",
    "load_passes",
    "register_pass",
    "register_post_pass",
    "register_pre_pass",
    "run_pass",
    "verify_after_every_pass",
]

"""Passes: functions that rewrite a graph in place, one file each (`torch/csrc/jit/passes`).

    registry.py                               the passes by name, and how one is run
    inline, lower_tuples, canonicalize        replace calls and tuples by their parts, number the
                                              values
    dce, cse, constant_pooling, constant_propagation, peephole*, loop_unrolling
                                              leave less to compute
    shape_propagation, shape_trials, requires_grad_propagation, erase_*,
    specialize_undef
                                              find the shapes and dtypes of tensors before they
                                              exist, or erase them
    canonicalize_ops, remove_expands, remove_inplace, check_inplace
                                              bring operators to the form that later passes expect
    autodiff_subgraphs, differentiate, symbolic_gradients, sym, lower_grad_of
                                              write a backward for parts of the graph
    batch_mm, graph_fuser, fuser_*            join several operations into one
    fold_conv_bn                              folds layers that follow a convolution or a linear
                                              layer into its weights
    pack_convolutions                         runs convolutions and their neighbours in blocked
                                              layout
    aliasing, control_flow, node_equality, overloads, subgraph_utils
                                              are used by several passes

How the real one differs: it has about a hundred, many of them for exporters and other backends.
"""

from __future__ import annotations

from internals.jit.passes.registry import (
    PASSES,
    POST_PASSES,
    PRE_PASSES,
    Pass,
    PassReport,
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
    "PassReport",
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

"""Passes: functions that rewrite a graph in place, one file each (`torch/csrc/jit/passes`).

    registry.py                               the passes by name, and how one is run
    inline, lower_tuples, canonicalize        calls and tuples taken apart, values numbered
    dce, cse, constant_pooling, constant_propagation, peephole*, loop_unrolling
                                              less to compute
    shape_propagation, shape_trials, requires_grad_propagation, erase_*,
    specialize_undef
                                              what is known of tensors before they exist, and
                                              forgetting it
    canonicalize_ops, remove_expands, remove_inplace, check_inplace
                                              operators in the form that later passes expect
    autodiff_subgraphs, differentiate, symbolic_gradients, sym, lower_grad_of
                                              a backward for parts of the graph
    batch_mm, graph_fuser, fuser_*            several operations as one
    fold_conv_bn                              layers that follow a convolution or a linear layer, in
                                              its weights
    pack_convolutions                         convolutions and their neighbours in blocked layout
    aliasing, control_flow, node_equality, overloads, subgraph_utils
                                              what several of them use

How the real one differs: it has about a hundred, many of them for exporters and other backends.
"""

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

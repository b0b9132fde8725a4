"""The phases of a graph's optimisation, in the order of PyTorch 1.0.1
(`GraphExecutorImpl::compileSpec`).

Each row names passes of `internals/jit/passes`. `phases_for` selects the rows for a graph;
`optimize` runs them, and returns a report of each pass (`PassReport`): its name, whether it changed
the graph, the text before and after, the time.

How the real one differs: 1.0.1 inlined calls when it compiled a script; today's executor first runs
the graph a few times to observe sizes, and specialises to those.
"""

from __future__ import annotations

from collections.abc import Iterator

from internals.jit.ir import Graph, all_nodes
from internals.jit.passes import POST_PASSES, PRE_PASSES, Pass, PassReport, find_pass, run_pass

from .argument_spec import ArgumentSpec, requires_grad

# | phase                      | passes |
CALLS = ("inline", "lower_simple_tuples")
REQUIRED = ("specialize_undef", "lower_grad_of", "remove_expands", "canonicalize_ops", "dce")
PROPAGATION = ("constant_propagation", "propagate_input_shapes", "propagate_requires_grad")
OPTIMIZATION = (
    "dce",
    "cse",
    "constant_pooling",
    "peephole",
    "loop_unrolling",
    "cse",
    "batch_mm",
    "check_inplace",
)
WITH_GRADIENTS = (
    "create_autodiff_subgraphs",
    "differentiate_subgraphs",
    "inline_autodiff_subgraphs",
)
WITHOUT_GRADIENTS = ("graph_fuser",)
LAST = ("dce",)


def phases_for(graph: Graph, spec: ArgumentSpec | None, recording: bool) -> Iterator[Pass]:
    """The passes for a graph, in order. If `spec` is None, only those without which it cannot
    run.
    """
    yield from _named(CALLS)
    if spec is None:
        yield from _named(REQUIRED)
        return
    yield from PRE_PASSES
    yield from _named(REQUIRED)
    yield from _named(PROPAGATION)
    yield from _named(OPTIMIZATION)
    yield from _named(
        WITH_GRADIENTS if needs_gradient(graph, spec, recording) else WITHOUT_GRADIENTS
    )
    yield from POST_PASSES
    yield from _named(LAST)


def needs_gradient(graph: Graph, spec: ArgumentSpec, recording: bool) -> bool:
    """Whether autograd may record a node: an input requires a gradient, or Python code inside may
    make a tensor that does.
    """
    return recording and (requires_grad(spec) or _calls_python(graph))


def _calls_python(graph: Graph) -> bool:
    return any(node.kind().startswith("^") for node in all_nodes(graph.block()))


def optimize(
    graph: Graph, spec: ArgumentSpec | None, recording: bool, keep_text: bool = False
) -> list[PassReport]:
    """Run the phases on `graph`; returns their records. keep_text: these have the graph's text
    before and after each pass.
    """
    return list(optimizing(graph, spec, recording, keep_text))


def optimizing(
    graph: Graph, spec: ArgumentSpec | None, recording: bool, keep_text: bool = False
) -> Iterator[PassReport]:
    """Run the phases one at a time, as a generator, so that `graph` can be inspected in between."""
    for p in phases_for(graph, spec, recording):
        yield run_pass(p, graph, keep_text=keep_text)


def _named(names: tuple[str, ...]) -> Iterator[Pass]:
    yield from map(find_pass, names)

"""The engine: runs a graph of nodes backwards (`torch/csrc/autograd/engine.cpp`).

A node may run when the gradients of *all* uses of its outputs have arrived. So the engine first
counts, for each node that can be reached, how many edges lead to it. Then it runs the nodes whose
count has gone down to zero, the latest made first, and adds the gradients that arrive at a node in
its buffer. Nothing recurses: a graph may be a hundred thousand nodes deep.

`GraphTask` is one call of `backward`, and can be watched: `step()` runs a single node; `ready`,
`dependencies` and `buffers` show what is left.

Where streams of a GPU are in use, each node runs on the streams of its forward operator
(`streams.py`).

How the real one differs: it has a thread for each GPU, fed by ready queues, and locks. Backwards
nested in one another move to a thread of their own when they get too deep for one stack.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import count
from typing import Any

from internals.core.grad_mode import set_grad_mode
from internals.core.hot import hot
from internals.core.recording import Scope, recorded, recording
from internals.core.side_streams import side_streams
from internals.core.tensor_impl import Tensor

from . import streams
from .anomaly import anomaly, check_for_nan, show_traceback
from .node_hooks import run_post_hooks, run_pre_hooks, run_tensor_hooks
from .validation import validated

Capture = tuple[int, int]  # the gradient's number at the node, and its place in the result


def execute(
    roots: Sequence[Any],
    grads: Sequence[Any],
    keep_graph: bool,
    create_graph: bool,
    inputs: Sequence[Any] = (),
    accumulate: bool = True,
) -> list[Any]:
    """Run backward from the edges `roots` with the gradients `grads`.

    Without `inputs`, gradients are accumulated in all leaves. With `inputs` (edges), only what
    leads to them runs, and their gradients are returned, or accumulated in the leaves among them if
    `accumulate`.
    """
    task = GraphTask(roots, grads, keep_graph, create_graph, inputs, accumulate)
    was = set_grad_mode(create_graph)
    try:
        step = task.step if recording.recorder is None else task.recorded_step
        while step() is not None:
            pass
    finally:
        set_grad_mode(was)
        if side_streams.in_use:
            streams.become(task.caller)
            streams.wait_for_all(task.caller, task.streams_used)
    return task.captured


class GraphTask:
    """One backward call. `roots` and `inputs` are edges; see `execute`.

    - `ready`: the nodes that may run, a heap of (-sequence number, tie breaker, node).
    - `dependencies`: node → the number of edges that have yet to deliver.
    - `buffers`: node → the sums of the gradients that have arrived, one for each forward output.
    - `needed`: the nodes that have to run for `inputs`; None for all.
    - `captures`: node → which of its gradients are results; `captured`: these results.
    - `done`: the number of nodes run so far.
    - `caller`, `streams_used`: see `streams.py`.
    """

    __slots__ = (
        "ready", "dependencies", "buffers", "keep_graph", "needed", "captures", "captured", "done",
        "_ties", "caller", "streams_used",
    )  # fmt: skip

    def __init__(
        self,
        roots: Sequence[Any],
        grads: Sequence[Any],
        keep_graph: bool,
        create_graph: bool = False,
        inputs: Sequence[Any] = (),
        accumulate: bool = True,
    ) -> None:
        self.keep_graph = keep_graph
        self.ready: list[tuple[float, int, Any]] = []
        self.buffers: dict[Any, list[Any]] = {}
        self.captured: list[Any] = [None] * len(inputs)
        self.done = 0
        self.caller = streams.current() if side_streams.in_use else {}
        self.streams_used: set[tuple[int, int]] = set()
        self._ties = count()
        self.dependencies = count_dependencies([node for node, _ in roots])
        self.needed: set[Any] | None = None
        self.captures: dict[Any, list[Capture]] = {}
        if inputs:
            self._plan(inputs, accumulate)
        for (node, nr), grad in zip(roots, grads):
            if grad is not None and side_streams.in_use:
                streams.hand_over(grad, self.caller, streams.streams_of(node))
            self._deliver(node, nr, grad)
        # a root may depend on another root: only those without open edges may run at once
        for node in dict.fromkeys(node for node, _ in roots):
            if not self.dependencies.get(node):
                heappush(self.ready, (-node.sequence_nr, next(self._ties), node))

    def step(self) -> Any:
        """Runs the next node and hands its gradients to the nodes that its edges lead to. Returns
        the node, or None when none is left.
        """
        ready, buffers, needed = self.ready, self.buffers, self.needed
        if not ready:
            return None
        node = heappop(ready)[2]
        grads = buffers.pop(node, None)
        if grads is None:
            grads = [None] * len(node.input_metadata)  # nothing arrived, but the edges are done
        self.done += 1
        extras = node.extras
        if side := side_streams.in_use:
            self._go_to_streams_of(node)
        if needed is not None and not self._capture(node, grads):
            return node  # its gradients were results, and nothing further is asked for
        if extras is not None:
            grads = run_pre_hooks(node, grads)
        try:
            results = self._apply_watched(node, grads) if hot.off else node.apply(grads)
        except Exception as error:
            from internals.core.stray_errors import translate

            translate(error, node.name(), grads)
            raise
        if extras is not None:
            results = run_post_hooks(node, results, grads)
        if node.saves and not self.keep_graph:
            node.release_variables()
        grads = None  # drop the reference: `AccumulateGrad` keeps a gradient that has no other user
        dependencies = self.dependencies
        for (target, nr), grad in zip(node.next_edges, results):
            if target is None:
                continue
            # an edge counts as done even if it delivers None
            left = dependencies[target] = dependencies[target] - 1
            if needed is not None and target not in needed and target not in self.captures:
                continue
            if grad is not None:
                expected = target.input_metadata[nr]
                # the usual case is one comparison: the gradient has exactly the expected geometry
                if grad._geometry.without_grad is not expected:
                    grad = validated(grad, expected, nr, node)
                if side:
                    streams.hand_over(grad, streams.streams_of(node), streams.streams_of(target))
                    streams.become(streams.streams_of(target))
                buffer = buffers.get(target)
                if buffer is None:
                    buffer = buffers[target] = [None] * len(target.input_metadata)
                old = buffer[nr]
                buffer[nr] = grad if old is None else old + grad
            if not left:
                heappush(ready, (-target.sequence_nr, next(self._ties), target))
        return node

    def _go_to_streams_of(self, node: Any) -> None:
        """Makes the streams of the node's forward current, and notes which streams it uses: 0, the
        default stream, on a GPU where its forward used no other.
        """
        on = streams.streams_of(node)
        self.streams_used.update(on.items())
        if any(g is not None and g.device.type == "cuda" for g in node.input_metadata):
            self.streams_used.update(
                (g.device.index, on.get(g.device.index, 0))
                for g in node.input_metadata
                if g is not None
            )
        streams.become(on)

    def _capture(self, node: Any, grads: list[Any]) -> bool:
        """Keeps the gradients of `node` that are results. Returns whether the node has to run.

        If it has to, `step` runs its hooks; if not, the hooks on its tensors run here, since they
        may change a result.
        """
        runs = node in self.needed  # type: ignore[operator]
        if node.extras is not None and not runs:
            grads = run_tensor_hooks(node, grads)
        for nr, place in self.captures.get(node, ()):
            self.captured[place] = grads[nr]
        return runs

    def _deliver(self, node: Any, nr: int, grad: Tensor) -> None:
        """Adds `grad` to the gradients that have arrived for the forward output `nr` of `node`."""
        buffer = self.buffers.get(node)
        if buffer is None:
            buffer = self.buffers[node] = [None] * len(node.input_metadata)
        old = buffer[nr]
        buffer[nr] = grad if old is None or grad is None else old + grad

    def _plan(self, inputs: Sequence[Any], accumulate: bool) -> None:
        """Sets `captures`, which gradients are results, and `needed`, which nodes have to run for
        them (`GraphTask::init_to_execute`). With `accumulate` the nodes of `inputs` run themselves.
        """
        wanted: set[Any] = set()
        for place, (node, nr) in enumerate(inputs):
            if node is None:
                continue
            if accumulate:
                wanted.add(node)
            else:
                self.captures.setdefault(node, []).append((nr, place))
        before: dict[Any, list[Any]] = {}
        for node in self.dependencies:
            for after, _ in node.next_edges:
                before.setdefault(after, []).append(node)
        # A node is needed if a path leads from it to one of `inputs`: follow them backwards.
        needed, stack = set(wanted), [*wanted, *self.captures]
        while stack:
            for node in before.get(stack.pop(), ()):
                if node not in needed:
                    needed.add(node)
                    stack.append(node)
        self.needed = needed

    def recorded_step(self) -> Any:
        """`step` as a range of the profiler, with the sums and checks of gradients that it does."""
        if not self.ready:
            return None
        node = self.ready[0][2]
        name = f"autograd::engine::evaluate_function: {_profiled_name(node)}"
        with recorded(name, Scope.FUNCTION, sequence_nr=node.sequence_nr):
            return self.step()

    def _apply_watched(self, node: Any, grads: list[Any]) -> Sequence[Any]:
        """`node.apply` under the profiler, in anomaly mode, or both."""
        if recording.recorder is None:
            return (
                self._apply_in_anomaly_mode(node, grads) if anomaly.enabled else node.apply(grads)
            )
        with recorded(
            _profiled_name(node), Scope.BACKWARD_FUNCTION, node.input_metadata, node.sequence_nr
        ):
            return (
                self._apply_in_anomaly_mode(node, grads) if anomaly.enabled else node.apply(grads)
            )

    def _apply_in_anomaly_mode(self, node: Any, grads: list[Any]) -> Sequence[Any]:
        """`node.apply`; if it fails, or makes a NaN, the user is shown the line of the forward
        computation that made the node.
        """
        anomaly.running.append(node)
        try:
            results = node.apply(grads)
            if anomaly.check_nan:
                if not self.keep_graph:
                    # PyTorch looks for NaN after it has freed the node: an error leaves it freed
                    node.release_variables()
                check_for_nan(node, results)
            return results
        except Exception:
            show_traceback(node)
            raise
        finally:
            anomaly.running.pop()


def count_dependencies(roots: Sequence[Any]) -> dict[Any, int]:
    """The number of edges that lead to each node reachable from `roots`, counting only edges from
    reachable nodes: no others will deliver.
    """
    dependencies: dict[Any, int] = dict.fromkeys(roots, 0)
    stack = list(dependencies)
    while stack:
        for node, _ in stack.pop().next_edges:
            if node is not None:
                if node in dependencies:
                    dependencies[node] += 1
                else:
                    dependencies[node] = 1
                    stack.append(node)
    return dependencies


def _profiled_name(node: Any) -> str:
    name: str = node.name()
    return f"torch::autograd::{name}" if name == "AccumulateGrad" else name


def call_node(node: Any, grads: list[Any]) -> Sequence[Any]:
    """Calls a node by itself, as the user does with `grad_fn(*grads)`: its pre-hooks, `apply`, its
    post-hooks. Raises TypeError for the wrong number of gradients.
    """
    if len(grads) != len(node.input_metadata):
        raise TypeError(f"expected {len(node.input_metadata)} arguments, got {len(grads)} instead")
    if node.extras is not None:
        grads = run_pre_hooks(node, grads)
    results = node.apply(grads)
    # one result for each edge, also where `apply` gives fewer
    results = (*results, *(None,) * (len(node.next_edges) - len(results)))
    return results if node.extras is None else run_post_hooks(node, results, grads)

"""`viz.autograd_steps`: the engine at work, one node at a time.

This runs the backward pass: it makes the engine's own `GraphTask` and calls its `step()` until
nothing is left, writing down after each what is ready, what waits for how many gradients, and what
has arrived. Gradients are real, and stay in `.grad`.

How the real one differs: PyTorch's engine cannot be stopped between two nodes; its ready queue is
seen only by its threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from viz.canvas import Canvas
from viz.rooms.autograd import Autograd, GraphEdge
from viz.rooms.autograd_fold import fold
from viz.rooms.autograd_record import Walk, edge_of, is_leaf
from viz.scene import Picture
from viz.stepper import Stepper, one_style_sheet
from viz.text import corrected

NODES_AT_MOST = 12
VALUES_AT_MOST = 4  # a gradient of up to so many elements is shown by its values


@dataclass
class State:
    """The engine after one step. Nodes are numbers of the scene.

    `ran` is the node that ran last (None at the start), `ready` the nodes that may run, next first,
    `waiting` how many gradients each reached node still waits for, `arrived` the gradients in its
    buffer, `grads` what the leaves hold in `.grad`.
    """

    ran: int | None = None
    # edges along which a gradient was passed on just now
    passed: list[int] = field(default_factory=list)
    ready: list[int] = field(default_factory=list)
    waiting: dict[int, int] = field(default_factory=dict)
    arrived: dict[int, str] = field(default_factory=dict)
    done: list[int] = field(default_factory=list)
    released: list[int] = field(default_factory=list)
    grads: dict[int, str] = field(default_factory=dict)
    skipped: int = 0  # hidden nodes that ran before this one
    error: str = ""


@dataclass
class Step(Picture):
    """One frame: the graph, and the state of the engine."""

    scene: Autograd
    state: State
    steps: AutogradSteps

    def text(self) -> str:
        from viz.rooms.autograd_steps_writers import step_text

        return step_text(self.scene, self.state)

    def canvas(self) -> Canvas:
        from viz.rooms.autograd_steps_writers import step_canvas

        return step_canvas(self)

    def html(self) -> str:
        """Only the drawing: the stepper around it has the text for viewers that remove it."""
        return f'<div style="overflow-x:auto">{self.svg()}</div>'


class AutogradSteps(Stepper):
    """All frames. `states` are the records, `error` what a node raised, if one did."""

    def __init__(self, scene: Autograd, states: list[State], error: str = "") -> None:
        from viz.rooms.autograd_steps_writers import caption

        self.scene, self.states, self.error = scene, states, error
        self._sheets: Any = None
        frames = [(caption(scene, state), Step(scene, state, self)) for state in states]
        super().__init__(frames, f"backward of {scene.name}, step by step")

    def text(self) -> str:
        from viz.rooms.autograd_steps_writers import steps_text

        return steps_text(self.scene, self.states)

    def sheets(self) -> Any:
        """The drawn graph of each frame, all with one layout, so that nothing moves from frame to
        frame.
        """
        from viz.rooms.autograd_steps_writers import placed_sheets

        if self._sheets is None:
            self._sheets = placed_sheets(self.scene, self.states)
        return self._sheets

    def html(self) -> str:
        return one_style_sheet(super().html(), self.text())

    def title(self) -> str:
        return self.heading


def autograd_steps(
    *tensors: Any,
    gradient: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    params: Mapping[str, Any] | Iterable[tuple[str, Any]] | None = None,
    saved: bool = False,
    limit: int = NODES_AT_MOST,
    **names: Any,
) -> AutogradSteps:
    """Run `tensors[0].backward(gradient, retain_graph, create_graph)`, node by node, and show every
    step.

    For several tensors `gradient` is a list with one for each (None for 1). Naming and `limit` are
    as for `viz.autograd`; hidden nodes run without frames of their own. `saved=True` also draws the
    tensors that nodes keep. When a node raises, the last frame shows the error, and it is in
    `.error`; it is not raised.

    Raises RuntimeError as `backward` does when a tensor has no graph, or more than one element and
    no gradient.
    """
    walk = Walk(tensors, params, names, saved)
    starts = list(tensors) or walk.computed(names)
    edges = [edge_of(t, f"viz.autograd_steps: argument {i}") for i, t in enumerate(starts)]
    scene, place = fold(walk.scene, limit)
    keep = create_graph if retain_graph is None else retain_graph
    recorder = Recorder(walk, scene, place)
    error = recorder.run(edges, starting_gradients(starts, gradient), keep, create_graph)
    return AutogradSteps(scene, recorder.states, error)


def starting_gradients(tensors: Sequence[Any], gradient: Any) -> list[Any]:
    """One for each tensor; 1 for a single number when none is given."""
    import internals

    given = list(gradient) if isinstance(gradient, (list, tuple)) else [gradient]
    if len(given) not in (len(tensors), 1) or (given[0] is not None and len(given) != len(tensors)):
        raise RuntimeError(f"got {len(tensors)} tensors and {len(given)} gradients")
    given = given if len(given) == len(tensors) else given * len(tensors)
    for t, g in zip(tensors, given):
        if not isinstance(t, internals.Tensor):
            raise TypeError(
                corrected(
                    f"viz.autograd_steps needs tensors to start from, got {type(t).__name__}",
                    f"viz.autograd_steps({t!r:.40})",
                    "viz.autograd_steps(loss)",
                )
            )
        if g is None and t.numel() != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        if g is not None and g.shape != t.shape:
            raise RuntimeError(
                f"the gradient has the shape {tuple(g.shape)}, its tensor {tuple(t.shape)}"
            )
    return [internals.ones_like(t) if g is None else g for t, g in zip(tensors, given)]


class Recorder:
    """Drives a `GraphTask` and takes a `State` after each step of a shown node."""

    def __init__(self, walk: Walk, scene: Autograd, place: dict[int, int]) -> None:
        self.scene = scene
        self.nodes = walk.order
        self.number = {node: place[n] for node, n in walk.number.items()}
        self.states: list[State] = []
        self.done: list[int] = []
        self.skipped = 0

    def run(
        self, roots: Sequence[Any], grads: list[Any], keep_graph: bool, create_graph: bool
    ) -> str:
        """All steps; the error of a node that raised, or nothing."""
        import internals
        from internals.autograd.engine import GraphTask

        with internals.set_grad_enabled(create_graph):
            task = GraphTask(roots, grads, keep_graph, create_graph)
            grads.clear()
            self.take(task, None)
            while task.ready:
                coming = task.ready[0][2]
                try:
                    node = task.step()
                except RuntimeError as error:
                    self.take(task, coming, f"{type(error).__name__}: {error}")
                    return self.states[-1].error
                self.done.append(self.number[node])
                if self.scene.nodes[self.number[node]].kind == "hidden" and task.ready:
                    self.skipped += 1
                else:
                    self.take(task, node)
        return ""

    def take(self, task: Any, ran: Any, error: str = "") -> None:
        state = State(done=list(self.done), skipped=self.skipped, error=error)
        self.skipped = 0
        state.ready = list(dict.fromkeys(self.number[item[2]] for item in sorted(task.ready)))
        for node in self.nodes:
            n = self.number[node]
            if self.scene.nodes[n].kind == "hidden":
                continue
            if task.dependencies.get(node) and n not in state.done:
                state.waiting[n] = task.dependencies[node]
            if node in task.buffers:
                state.arrived[n] = ", ".join(gradient_text(g) for g in task.buffers[node])
            if is_leaf(node) and node.variable.grad is not None:
                state.grads[n] = gradient_text(node.variable.grad)
            if not is_leaf(node) and node.released:
                state.released.append(n)
        if ran is not None:
            state.ran = self.number[ran]
            if not error:
                state.passed = [
                    i
                    for i, e in enumerate(self.scene.edges)
                    if e.tail == state.ran and self._is_passed(e)
                ]
        self.states.append(state)

    def _is_passed(self, edge: GraphEdge) -> bool:
        return self.scene.nodes[edge.head].kind != "inner"


def gradient_text(g: Any) -> str:
    """The values of a small gradient, the shape of a large one, "-" where none has come."""
    if g is None:
        return "-"
    if g.numel() > VALUES_AT_MOST:
        return str(tuple(g.shape))
    values = ", ".join(f"{v:.4g}" for v in g.detach().flatten().tolist())
    return f"[{values}]" if g.dim() else values

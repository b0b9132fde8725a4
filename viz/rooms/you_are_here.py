"""`viz.you_are_here`: the eleven stops of one neuron's journey, each with a fact that has just been
computed, and the stop at which a notebook stands.

    viz.you_are_here("07")     # by the number of a notebook
    viz.you_are_here()         # the whole journey

The journey is told in notebooks/spine.ipynb. The picture runs it: the neuron is made, its `*` goes
through the dispatcher, its graph is walked backwards, it is scripted, optimized, saved and fused.
"""

from __future__ import annotations

import io
import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from viz.canvas import Box, Canvas
from viz.scene import Picture
from viz.text import corrected, plural, table

if TYPE_CHECKING:
    from internals import Tensor

ROW, TITLE, FACT, RIGHT = 25.0, 28.0, 178.0, 430.0  # height and columns, in canvas units


@dataclass
class Stop:
    """A stop of the journey, the notebooks that have the rest, and what was found out there."""

    title: str
    notebooks: tuple[int, ...]
    fact: str = ""

    @property
    def numbers(self) -> str:
        """ "01 04", "11-13"."""
        first, last = self.notebooks[0], self.notebooks[-1]
        if len(self.notebooks) > 2 and last - first == len(self.notebooks) - 1:
            return f"{first}-{last}"
        return " ".join(f"{n:02}" for n in self.notebooks)


@dataclass
class YouAreHere(Picture):
    stops: list[Stop]
    here: int | None  # an index into `stops`; None: the whole journey is shown, from outside

    def text(self) -> str:
        rows = [
            ["->" if n == self.here else "", f"{n + 1}", stop.title, stop.fact, stop.numbers]
            for n, stop in enumerate(self.stops)
        ]
        return "y = relu((x * w).sum() + b)\n" + table(rows)

    def canvas(self) -> Canvas:
        where = "" if self.here is None else f", at {self.stops[self.here].title}"
        canvas = Canvas(f"viz.you_are_here{where}", self.text())
        canvas.text(0, 12, "y = relu((x * w).sum() + b)", 13, font="mono", bold=True)
        canvas.text(RIGHT, 12, "notebooks", 11, "end", paint="muted")
        middle, top = 10.0, 24.0
        canvas.line(
            [(middle, top + ROW / 2), (middle, top + ROW * (len(self.stops) - 0.5))], "line", 3
        )
        for n, stop in enumerate(self.stops):
            y, here = top + n * ROW, n == self.here
            if here:
                canvas.rect(-6, y, RIGHT + 12, ROW, "shared-soft", "shared", 5)
            role = "shared" if here else "storage"
            canvas.rect(middle - 6, y + ROW / 2 - 6, 12, 12, role if here else "paper", role, 6, 2)
            base = y + ROW / 2 + 4
            canvas.text(TITLE, base, stop.title, 12, bold=here)
            canvas.label(
                Box(FACT - 3, y, 186, ROW), stop.fact, 11.5, paint="ink" if here else "muted",
                anchor="start",
            )  # fmt: skip
            canvas.text(RIGHT, base, stop.numbers, 10.5, "end", "mono", "muted")
        return canvas


def you_are_here(notebook: str | None = None) -> YouAreHere:
    """The journey, with the stop that notebook belongs to marked ("07"; None: no mark).

    Raises ValueError for a number that no stop has.
    """
    stops = [Stop(title, notebooks, fact()) for (title, notebooks), fact in _journey()]
    here = None
    if notebook is not None:
        here = next((n for n, stop in enumerate(stops) if number(notebook) in stop.notebooks), None)
        if here is None:
            raise ValueError(
                corrected(
                    f"no stop of the journey has a notebook {notebook!r}",
                    f"viz.you_are_here({notebook!r})",
                    "viz.you_are_here('07')",
                )
            )
    return YouAreHere(stops, here)


def number(notebook: str) -> int:
    """7 of "07", "7" and "07_autograd.ipynb"; -1 where there is none."""
    digits = re.match(r"\d+", notebook)
    return int(digits.group()) if digits else -1


def _journey() -> Iterator[tuple[tuple[str, tuple[int, ...]], Callable[[], str]]]:
    """The stops, in order, each with the function that finds its fact out."""
    from internals import jit, tensor

    x = tensor([1.0, 2.0, 3.0])
    w = tensor([0.5, -1.0, 1.0], requires_grad=True)
    b = tensor(0.5, requires_grad=True)
    scripted = jit.script(neuron)
    yield ("its bytes", (1, 4)), lambda: _bytes(x)
    yield ("who owns them", (2, 3, 5)), lambda: _owners(x)
    yield ("the path of its *", (6,)), lambda: _path(x, w)
    yield ("its graph, backwards", (7, 8)), lambda: _gradient(x, w, b)
    yield ("one fatal +=", (9,)), lambda: _fatal(x, w, b)
    yield ("a training step", (10,)), lambda: _step(x, w, b)
    yield ("its trace and script", (11, 12, 13)), lambda: _nodes(scripted)
    yield ("a pass, a program", (14, 15)), lambda: _instructions(scripted)
    yield ("its file", (16, 17, 18)), lambda: _file(scripted)
    yield ("one fused kernel", (19, 20, 21, 22, 23)), lambda: _fused(x, w, b)
    yield ("an answer by wire", (24, 25, 26)), lambda: _request(x)


def neuron(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return ((x * w).sum() + b).relu()


def _bytes(x: Tensor) -> str:
    from viz.device_bytes import bytes_at

    first = bytes_at(x.device, x.data_ptr(), 4).hex(" ")
    return f"{plural(x.untyped_storage().nbytes(), 'byte')}: {first} …"


def _owners(x: Tensor) -> str:
    view = x[1:]
    shared = view.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    return f"x[1:] {'shares' if shared else 'copies'} them, {view.storage_offset() * 4} bytes in"


def _path(x: Tensor, w: Tensor) -> str:
    from viz.rooms.dispatch import dispatch

    call = dispatch(operator.mul, x, w).calls[0]
    return ", then ".join(step.key for step in call.steps if step.kind == "kernel")


def _gradient(x: Tensor, w: Tensor, b: Tensor) -> str:
    y = neuron(x, w, b)
    y.backward()
    found, w.grad, b.grad = w.grad, None, None
    return f"y = {y.item():g}, ∂y/∂w = {[int(g) for g in found.tolist()]}"


def _fatal(x: Tensor, w: Tensor, b: Tensor) -> str:
    x = x.clone()
    y = neuron(x, w, b)
    x += 1
    try:
        y.backward()
    except RuntimeError:
        return f"x is at version {x._version}: refused"
    return "backward ran"


def _step(x: Tensor, w: Tensor, b: Tensor) -> str:
    """One step of gradient descent towards 1, on copies of the parameters."""
    from internals.optim import SGD

    w, b = (p.detach().clone().requires_grad_() for p in (w, b))
    losses = []
    optimizer = SGD([w, b], lr=0.02)
    for _ in range(2):
        optimizer.zero_grad()
        loss = (neuron(x, w, b) - 1) ** 2
        loss.backward()
        optimizer.step()
        losses.append(f"{loss.item():.2f}")
    return "loss " + " -> ".join(losses)


def _nodes(scripted: Any) -> str:
    kinds = [node.kind() for node in scripted.graph.nodes()]
    return ", ".join(kind.removeprefix("aten::") for kind in kinds if kind.startswith("aten::"))


def _instructions(scripted: Any) -> str:
    from viz.rooms.bytecode import bytecode

    return plural(len(bytecode(scripted).rows), "instruction")


def _file(scripted: Any) -> str:
    from zipfile import ZipFile

    from internals import jit

    jit.save(scripted, file := io.BytesIO())
    return f"a zip of {plural(len(ZipFile(file).namelist()), 'record')}"


def _fused(x: Tensor, w: Tensor, b: Tensor) -> str:
    from viz.rooms.fusion import fusion

    kernels = fusion(neuron, x, w.detach(), b.detach()).kernels
    done = sum(len(k.before) for k in kernels)
    return f"{plural(done, 'operator')} in {plural(len(kernels), 'kernel')}"


def _request(x: Tensor) -> str:
    try:
        from internals.serving.client import write_request
    except ImportError:
        return "gRPC is not installed"
    return f"{len(write_request('neuron', x.view(1, 3)))} bytes ask for it"

"""A region of a network, prepared for inputs of given sizes: buffers, an algorithm for each layer,
and one program of all steps.

    network = Network(layers, outputs, [(1, 3, 224, 224)], threads=2, name="resnet18")
    network.run([picture])

The layout of memory is decided here. Every value has a buffer in blocks, with as wide a border of
zeros as its readers need; values that are not alive at the same time share buffers. The first steps
copy inputs into blocks, the last ones copy outputs back; rows of numbers that fill whole blocks are
read and written in the caller's memory.

How the real one differs: Inductor asks oneDNN for the layout of a convolution's weights, and keeps
activations in channels-last; here all values of a region are in blocks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from math import inf, prod
from typing import Any

import numpy as np

from ..registers import LANES
from .algorithms import Depthwise, PreparedStep, Scratch, small_step
from .buffers import NOWHERE, Buffer, Place, Pool, address_of, aligned
from .choice import Choice, choose
from .layers import (
    AveragePool,
    Convolution,
    Flatten,
    Layer,
    Linear,
    MaxPool,
    Sizes,
    fuse,
    output_sizes,
)
from .plan import Plan, Progress, Row
from .problem import Problem
from .runner import Program, Step
from .small_kernels import Combine, Maximum, Pair, Reorder

Chooser = Callable[[Problem, Scratch, Callable[[], None]], tuple[Choice, PreparedStep]]


class Network:
    """Layers for inputs of `sizes`, on `threads` threads. Inputs are the values 0, 1, ...;
    `outputs` are the numbers of the values that `run` returns.

    chooser: picks the algorithm of a layer; `choice.choose` does so by trying.

    Raises Unsupported where a layer cannot be done for these sizes.
    """

    def __init__(
        self,
        layers: Sequence[Layer],
        outputs: Sequence[int],
        sizes: Sequence[Sizes],
        threads: int,
        name: str = "network",
        chooser: Chooser = choose,
    ) -> None:
        self.layers, self.outputs, self.threads, self.name = (
            fuse(layers, outputs),
            list(outputs),
            threads,
            name,
        )
        self.sizes: dict[int, Sizes] = dict(enumerate(sizes))
        for layer in self.layers:
            self.sizes[layer.output] = output_sizes(layer, [self.sizes[v] for v in layer.inputs])
        self.input_count, self.choose = len(sizes), chooser
        self.plan = Plan(name, threads)
        self._lock = threading.Lock()
        self._kept: list[Any] = []  # arrays whose addresses the steps have
        self._scratch, self._pool = Scratch(), Pool()
        self._steps: list[Step] = []
        self._buffers: dict[int, Buffer] = {}  # of each value, in blocks
        self._planes: dict[int, Buffer] = {}  # of inputs that stay (N, C, H, W)
        # (step, argument, input, offset) of each address to be set before a run
        self._packing: list[tuple[int, int, int, int]] = []
        self._unpacking: list[tuple[int, int, int, int]] = []  # the same for outputs
        # a flattened value: the value whose memory it shares
        self._same: dict[int, int] = {
            layer.output: layer.inputs[0] for layer in self.layers if isinstance(layer, Flatten)
        }
        self._build()
        self._program = Program(self._steps, threads)

    # Running

    def run(self, inputs: Sequence[Any]) -> list[Any]:
        """The outputs, as new arrays, for contiguous float32 arrays of the network's sizes. One
        thread runs it at a time; others wait.
        """
        results = [np.empty(self.sizes[v], np.float32) for v in self.outputs]
        self.run_into(inputs, [address_of(r) for r in results])
        return results

    def run_into(self, inputs: Sequence[Any], addresses: Sequence[int]) -> None:
        """Write the outputs to contiguous memory at these addresses."""
        with self._lock:
            for v, planes in self._planes.items():
                planes.inside()[..., 0] = inputs[v]
            for step, slot, v, offset in self._packing:
                self._program.set_argument(step, slot, address_of(inputs[v]) + offset)
            for step, slot, i, offset in self._unpacking:
                self._program.set_argument(step, slot, addresses[i] + offset)
            self._program.run()

    # Building

    def _build(self) -> None:
        """Give every value a buffer and every layer a step, in the order in which they run."""
        borders = self._borders()
        # the last layer that reads each value: afterwards its buffer is free
        last_use = {
            v: i for i, layer in enumerate(self.layers) for v in map(self._root, layer.inputs)
        }
        for v in self._packed_inputs(borders):  # the first steps
            self._buffers[v] = Buffer(self._spatial(v), borders.get(v, 0))
            if not self._is_in_blocks(v):
                self._packing.append((len(self._steps), 0, v, 0))
                self._steps.append(self._pack(v))
        # buffers that no other value may take: those read or written at the ends of a run
        lasting = {*range(self.input_count), *map(self._root, self.outputs)}
        total = sum(isinstance(layer, (Convolution, Linear)) for layer in self.layers)
        self._numbers = iter(range(1, total + 1))
        self.progress = Progress(self.name, total)
        for i, layer in enumerate(self.layers):
            if isinstance(layer, Flatten):
                continue
            self._buffers[layer.output] = self._pool.take(
                self._spatial(layer.output), borders.get(layer.output, 0)
            )
            self._steps.append(self._step(layer))
            # only now, as a layer must not write to the buffer that it reads
            for v in {self._root(v) for v in layer.inputs}:
                if last_use[v] == i and v in self._buffers and v not in lasting:
                    self._pool.give(self._spatial(v), self._buffers[v])
        # outputs that lie as the caller wants them are written to the caller's memory by the step
        # that computes them; the others are copied by a last step
        written = {layer.output for layer in self.layers}
        for i, v in enumerate(self.outputs):
            if self._is_in_blocks(v) and v in written and self.outputs.count(v) == 1:
                self._unpacking += [(step, slot, i, offset) for step, slot, offset in self._uses(v)]
            else:
                self._unpacking.append((len(self._steps), 0, i, 0))
                self._steps.append(self._unpack(v))
        for v in range(self.input_count):
            if v in self._buffers and self._is_in_blocks(v):
                self._packing += [(step, slot, v, offset) for step, slot, offset in self._uses(v)]
        self.progress.end(self.plan.tried)

    def _uses(self, v: int) -> list[tuple[int, int, int]]:
        """(step, argument, bytes from the beginning) of each address in the memory of a value: they
        are to be replaced by addresses in the caller's memory.
        """
        start, size = address_of(self._buffers[v].array), self._buffers[v].array.nbytes
        return [
            (i, slot, address - start)
            for i, step in enumerate(self._steps)
            for slot, (word, address) in enumerate(
                zip(step.entry.signature.split(), step.arguments)
            )
            if word.startswith("*") and start <= address < start + size
        ]

    def _root(self, v: int) -> int:
        """The value whose memory `v` shares, `v` itself if it is not flattened."""
        return self._root(self._same[v]) if v in self._same else v

    def _spatial(self, v: int) -> Sizes:
        """The sizes of a value as (N, C, H, W); rows of numbers are images of one pixel."""
        sizes = self.sizes[v]
        return sizes if len(sizes) == 4 else (prod(sizes[:-1]), sizes[-1], 1, 1)

    def _is_in_blocks(self, v: int) -> bool:
        """Whether the caller's memory has the layout of a buffer: rows that fill whole blocks."""
        sizes = self.sizes[v]
        return len(sizes) != 4 and sizes[-1] % LANES == 0 and v not in self._same

    def _borders(self) -> dict[int, int]:
        """The width of the border that each value needs, where a layer reads it with padding."""
        found: dict[int, int] = {}
        for layer in self.layers:
            if isinstance(layer, (Convolution, AveragePool)):
                v = layer.inputs[0]
                found[v] = max(found.get(v, 0), *layer.padding)
        return found

    def _packed_inputs(self, borders: dict[int, int]) -> list[int]:
        """The inputs to be copied into blocks. One with few channels that only convolutions read
        stays (N, C, H, W), with a border.
        """
        packed = []
        for v in range(self.input_count):
            readers = [layer for layer in self.layers if v in layer.inputs]
            few = len(self.sizes[v]) == 4 and self.sizes[v][1] < LANES and v not in self.outputs
            if few and all(_reads_planes(layer, v) for layer in readers):
                self._planes[v] = Buffer(self.sizes[v], borders[v], lanes=1)
            elif readers or v in self.outputs:
                packed.append(v)
        return packed

    def _buffer(self, v: int) -> Buffer:
        """The buffer that a value lies in, of blocks or planes."""
        v = self._root(v)
        return self._planes[v] if v in self._planes else self._buffers[v]

    def _step(self, layer: Layer) -> Step:
        """The step of a layer; adds its row to the plan."""
        x, out = self._buffer(layer.inputs[0]), self._buffers[layer.output]
        if isinstance(layer, Linear):
            layer = _as_convolution(layer, x)
        if isinstance(layer, Convolution):
            return self._convolution(layer, x, out)
        if isinstance(layer, AveragePool):
            return self._average(layer, x, out)
        if isinstance(layer, MaxPool):
            return self._maximum(layer, x, out)
        other = self._buffer(layer.inputs[1]).place() if len(layer.inputs) == 2 else NOWHERE
        n, _, h, w = out.sizes
        self.plan.rows.append(
            Row("sum" if other.address else "bounds", self._spatial(layer.output), "", None)
        )
        record = Combine(x.place(), other, out.place(), out.blocks, h, w, layer.low, layer.high)
        return small_step("combine", record, n * out.blocks * h, self.threads)

    def _convolution(self, layer: Convolution, x: Buffer, out: Buffer) -> Step:
        """The step of a convolution, by the algorithm of `choose`."""
        residual = self._buffer(layer.inputs[1]) if len(layer.inputs) == 2 else None
        problem = Problem(layer, x, out, residual, self.threads)
        number = next(self._numbers)
        choice, made = self.choose(
            problem, self._scratch, lambda: self.progress.show(number, _describe(layer))
        )
        self.plan.tried += choice.tried
        self._kept.append(made.kept)
        self.plan.rows.append(
            Row(_describe(layer), self._spatial(layer.output), choice.algorithm.text, choice.ratio)
        )
        return made.step

    def _average(self, layer: AveragePool, x: Buffer, out: Buffer) -> Step:
        """The step of average pooling."""
        kernel = layer.kernel or x.sizes[2:]
        # a depthwise convolution whose weights are all 1 / (number of elements)
        weights = aligned(np.full((1, *kernel, LANES), 1 / (kernel[0] * kernel[1]), np.float32))
        bias = np.zeros(out.blocks * LANES, np.float32)
        made = Depthwise(min(out.sizes[3], 4)).with_weights(
            x, out, None, weights, bias, layer, kernel, self.threads
        )
        self._kept.append(made.kept)
        self.plan.rows.append(Row(f"average of {kernel[0]}x{kernel[1]}", out.sizes, "", None))
        return made.step

    def _maximum(self, layer: MaxPool, x: Buffer, out: Buffer) -> Step:
        """The step of max pooling. It needs no border: the kernel tests for the edges."""
        n, _, height, width = out.sizes
        windows = (
            Pair(*pair) for pair in (layer.kernel, layer.stride, layer.padding, layer.dilation)
        )
        record = Maximum(
            x.place(), out.place(), out.blocks, Pair(*x.sizes[2:]), Pair(height, width), *windows
        )
        self.plan.rows.append(
            Row(f"maximum of {layer.kernel[0]}x{layer.kernel[1]}", out.sizes, "", None)
        )
        return small_step("maximum", record, n * out.blocks * height, self.threads)

    def _pack(self, v: int) -> Step:
        return self._between("pack", v, self._buffers[v])

    def _unpack(self, v: int) -> Step:
        return self._between("unpack", self._root(v), self._buffer(v))

    def _between(self, name: str, v: int, blocked: Buffer) -> Step:
        """The step that copies between the caller's memory and a buffer."""
        n, c, h, w = self._spatial(v)
        # address 0: `run_into` sets the caller's before each run
        record = Reorder(Place(0, c * h * w, h * w, w), blocked.place(), c, h, w)
        return small_step(name, record, n * blocked.blocks * h, self.threads)


def _reads_planes(layer: Layer, v: int) -> bool:
    """Whether a layer can read its input `v` as (N, C, H, W)."""
    return (
        isinstance(layer, Convolution)
        and layer.inputs == (v,)
        and layer.groups == 1
        and layer.dilation[1] == 1
    )


def _as_convolution(layer: Linear, x: Buffer) -> Convolution:
    """The linear layer as a convolution whose kernel is as large as the whole picture."""
    _, c, h, w = x.sizes
    weight = layer.weight.reshape(len(layer.weight), c, h, w)
    return Convolution(
        layer.inputs, layer.output, weight, layer.bias, low=layer.low, high=layer.high
    )


def _describe(layer: Convolution) -> str:
    """The layer in the plan, such as "3x3 64->64 /2 + residual relu"."""
    outputs, inputs, height, width = layer.weight.shape
    text = f"{height}x{width} {inputs * layer.groups}->{outputs}"
    text += f" /{layer.stride[0]}" if layer.stride != (1, 1) else ""
    text += f" dilated {layer.dilation[0]}" if layer.dilation != (1, 1) else ""
    text += f" groups {layer.groups}" if layer.groups > 1 else ""
    text += " + residual" if len(layer.inputs) == 2 else ""
    if layer.low == 0:
        text += " relu" if layer.high == inf else f" relu{layer.high:g}"
    return text

"""PyTorch in 400 lines: memory, dispatch, operators, a tape, a graph; it needs numpy only.

    python -m internals.in_400_lines    trains a network, records a function as a graph, runs that

Read it from the top: first the program of a user, then, floor by floor, the parts that it needs.
Each class is a small form of one in `internals`, and names the file that it grows into; nothing is
imported from there.

- `train` is a program for PyTorch. This page, `internals` and PyTorch run it, with the same losses.
- A `Tensor` is sizes, strides and an offset into a `Storage`, which has the numbers.
- An `Operator` has a kernel for each `Key`. A call runs the one of the highest key first, which
then
  calls the next one below.
- A kernel of the CPU broadcasts its operands (a stride of 0 repeats an element), then calls one of
  numpy's loops.
- `record`, the kernel of AUTOGRAD for all operators, keeps a tape of `Node`s. `DERIVATIVES` has a
  line for each operator, and `run_backward` calls the newest node first.
- `write_down`, the kernel of TRACER for all operators, adds each call to a `Graph`, which can be
  printed, and which an `Interpreter` runs again.

How the real one differs: it has some two thousand operators with dtypes, devices and errors;
in-place writes to views; passes that make graphs faster, fused kernels, files, a server.
"""

from __future__ import annotations

import heapq
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from itertools import count
from typing import Any, NamedTuple, Union

import numpy as np

Argument = Union["Tensor", float]


def main() -> None:
    page = sys.modules[__name__]
    for step, loss in enumerate(train(page)):
        if step % 50 == 0:
            print(f"step {step:3}   loss {loss:.4f}")
    x, w = tensor([[1.0, 2.0], [3.0, 4.0]]), tensor([0.5, -0.5], requires_grad=True)
    graph = trace(lambda x, w: (x * w).tanh(), x, w)
    print(graph)
    again = Interpreter(graph)(x, w)  # calls the operators again, which record a new tape
    again.sum().backward()
    print("run again:", again.tolist())
    print("gradient: ", w.grad.tolist() if w.grad else None)


# The program of a user


def train(torch: Any, steps: int = 200) -> list[float]:
    """Trains a network of two layers to tell which of two crescents a point lies on. Returns the
    loss of each step. `torch` is this page, `internals` or PyTorch.
    """
    angles = [math.pi * i / 31 for i in range(32)]
    points = [[math.cos(a), math.sin(a)] for a in angles]
    points += [[1 - math.cos(a), 0.5 - math.sin(a)] for a in angles]
    x, wanted = torch.tensor(points), torch.tensor([[1.0]] * 32 + [[-1.0]] * 32)  # (64, 2), (64, 1)

    def weight(rows: int, columns: int) -> Any:  # as good as random, but the same in each library
        values = [
            [math.sin(7.0 * i * i + 3.0 * j) for j in range(columns)] for i in range(1, rows + 1)
        ]
        return torch.tensor(values, requires_grad=True)

    w1, b1, w2 = weight(2, 16), torch.tensor([0.0] * 16, requires_grad=True), weight(16, 1)
    losses = []
    for _ in range(steps):
        hidden = (x @ w1 + b1).tanh()  # (64, 2) @ (2, 16) → (64, 16)
        wrong = (hidden @ w2).tanh() - wanted  # (64, 16) @ (16, 1) → (64, 1)
        loss = (wrong * wrong).sum() * (1 / 64)
        loss.backward()
        with torch.no_grad():
            for parameter in (w1, b1, w2):
                parameter -= 0.2 * parameter.grad
                parameter.grad = None
        losses.append(loss.item())
    return losses


# Memory


class Storage:
    """Memory, and the number of writes to it. Grows into `core/storage.py`."""

    def __init__(self, count: int) -> None:
        self.memory = np.zeros(count, np.float32)
        self.version = 0


class Tensor:
    """A selection of elements of a storage, and their order. Grows into `core/tensor_impl.py`.

    Element (i, j) is at `offset + i * strides[0] + j * strides[1]` of the memory. So a row of a
    tensor, its transpose, and a repetition are tensors on the same memory, with other sizes,
    strides and offset.
    """

    requires_grad = False
    grad: Tensor | None = None
    grad_fn: Node | None = None  # the recorded call that made it; None for a leaf

    def __init__(
        self, storage: Storage, sizes: Sequence[int], strides: Sequence[int], offset: int = 0
    ) -> None:
        self.storage, self.offset = storage, offset
        self.sizes, self.strides = tuple(sizes), tuple(strides)
        self.keys = {Key.CPU, Key.AUTOGRAD}

    def __add__(self, other: Argument) -> Tensor:
        return add(self, other)

    def __sub__(self, other: Argument) -> Tensor:
        return add(self, mul(other, -1.0) if isinstance(other, Tensor) else -other)

    def __mul__(self, other: Argument) -> Tensor:
        return mul(self, other)

    __rmul__ = __mul__

    def __matmul__(self, other: Tensor) -> Tensor:
        return matmul(self, other)

    def __isub__(self, other: Argument) -> Tensor:
        return sub_(self, other)

    def tanh(self) -> Tensor:
        return tanh(self)

    def sum(self) -> Tensor:
        return sum_to(self, ())

    def __getitem__(self, row: int) -> Tensor:
        return select(self, row)

    @property
    def T(self) -> Tensor:
        return transpose(self)

    def detach(self) -> Tensor:
        """A tensor on the same memory, without a history."""
        return Tensor(self.storage, self.sizes, self.strides, self.offset)

    def backward(self) -> None:
        run_backward(self)

    def tolist(self) -> Any:
        return array(self).tolist()

    def item(self) -> float:
        return float(array(self).item())


def tensor(values: Any, requires_grad: bool = False) -> Tensor:
    """A new tensor with the numbers of nested lists."""
    data = np.asarray(values, np.float32)
    result = empty(data.shape)
    result.storage.memory[:] = data.ravel()
    result.requires_grad = requires_grad
    return result


def empty(sizes: Sequence[int]) -> Tensor:
    """A tensor on new memory, without gaps: for sizes (2, 3), strides are (3, 1)."""
    strides = [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]
    return Tensor(Storage(math.prod(sizes)), sizes, strides)


def array(t: Tensor) -> np.ndarray:
    """A numpy array on the tensor's memory. Its strides are in bytes, of which a float32 has 4."""
    memory = t.storage.memory[t.offset :]
    return np.lib.stride_tricks.as_strided(memory, t.sizes, [4 * s for s in t.strides])


# Dispatch


class Key(IntEnum):
    """A layer that a call may go through, the highest first. Grows into `core/dispatch_key.py`."""

    CPU = 0
    AUTOGRAD = 1
    TRACER = 2


class Modes(NamedTuple):
    """The state of a block, which all calls in it depend on. Grows into `core/dispatch_key.py`."""

    included: frozenset[Key] = frozenset()
    excluded: frozenset[Key] = frozenset()  # layers above the kernel that is running
    gradients: bool = True


MODES = [Modes()]  # a stack; the last one counts


@contextmanager
def modes(**changed: Any) -> Iterator[None]:
    """A block in which some modes are changed."""
    MODES.append(MODES[-1]._replace(**changed))
    try:
        yield
    finally:
        MODES.pop()


def no_grad() -> Any:
    """A block in which nothing is recorded on the tape."""
    return modes(gradients=False)


class Operator:
    """A name, and a kernel for each key. Grows into `core/dispatcher.py`."""

    def __init__(self, name: str, kernel: Callable[..., Tensor]) -> None:
        self.name = name
        self.kernels: dict[Key, Callable[..., Tensor]] = {
            Key.CPU: kernel,
            Key.AUTOGRAD: lambda *arguments: record(self, *arguments),
            Key.TRACER: lambda *arguments: write_down(self, *arguments),
        }

    def __call__(self, *arguments: Any) -> Tensor:
        # the keys of all arguments and of the modes: the highest one that is not excluded runs
        asked = MODES[-1].included.union(*(a.keys for a in arguments if isinstance(a, Tensor)))
        return self.kernels[max(asked - MODES[-1].excluded)](*arguments)

    def below(self, key: Key, *arguments: Any) -> Tensor:
        """Runs the kernel of the next lower key. It, and all that it calls, skip `key`."""
        with modes(excluded=MODES[-1].excluded | {key}):
            return self(*arguments)


# Operators: kernels of the CPU


def loop(function: np.ufunc) -> Callable[..., Tensor]:
    """A kernel that applies `function` to each element. Grows into `aten/tensor_iterator.py`."""

    def kernel(*operands: Argument) -> Tensor:
        tensors = [x if isinstance(x, Tensor) else tensor(x) for x in operands]
        result = empty(np.broadcast_shapes(*(t.sizes for t in tensors)))
        function(*(array(repeated(t, result.sizes)) for t in tensors), out=array(result))
        return result

    return kernel


def repeated(t: Tensor, sizes: Sequence[int]) -> Tensor:
    """`t` broadcast to `sizes`: a dimension of size 1, or a missing one, gets a stride of 0."""
    missing = len(sizes) - len(t.sizes)
    if missing < 0 or any(old not in (1, new) for old, new in zip(t.sizes, sizes[missing:])):
        raise RuntimeError(f"a tensor of sizes {t.sizes} cannot be repeated to {tuple(sizes)}")
    strides = [0] * missing + [0 if old == 1 else s for old, s in zip(t.sizes, t.strides)]
    return Tensor(t.storage, sizes, strides, t.offset)


def summed(a: Tensor, sizes: Sequence[int]) -> Tensor:
    """The sum over each dimension that `sizes` lacks or has as 1: the derivative of `repeated`."""
    kept = (1,) * (len(a.sizes) - len(sizes)) + tuple(sizes)
    result = empty(sizes)
    dims = tuple(d for d, size in enumerate(a.sizes) if kept[d] != size)
    array(result)[...] = array(a).sum(dims, keepdims=True).reshape(sizes)
    return result


def product(a: Tensor, b: Tensor) -> Tensor:
    """The matrix product: (rows, k) @ (k, columns)."""
    result = empty((a.sizes[0], b.sizes[1]))
    np.matmul(array(a), array(b), out=array(result))
    return result


def placed(g: Tensor, sizes: Sequence[int], index: int) -> Tensor:
    """Zeros of these sizes, with `g` as the row `index`: the derivative of `select`."""
    result = empty(sizes)
    array(result)[index] = array(g)
    return result


def subtract_in_place(a: Tensor, b: Tensor) -> Tensor:
    """`a -= b`, which counts as a write to the memory of `a`."""
    np.subtract(array(a), array(repeated(b, a.sizes)), out=array(a))
    a.storage.version += 1
    return a


def row(a: Tensor, index: int) -> Tensor:
    """A view: another offset into the same memory."""
    if not 0 <= index < a.sizes[0]:
        raise IndexError(f"index {index} is out of bounds for dimension 0 with size {a.sizes[0]}")
    return Tensor(a.storage, a.sizes[1:], a.strides[1:], a.offset + index * a.strides[0])


def transposed(a: Tensor) -> Tensor:
    """A view: the same memory with sizes and strides in the opposite order."""
    return Tensor(a.storage, a.sizes[::-1], a.strides[::-1], a.offset)


# fmt: off
add       = Operator("add",       loop(np.add))
mul       = Operator("mul",       loop(np.multiply))
tanh      = Operator("tanh",      loop(np.tanh))
sub_      = Operator("sub_",      subtract_in_place)
matmul    = Operator("matmul",    product)
sum_to    = Operator("sum_to",    summed)
place     = Operator("place",     placed)
expand    = Operator("expand",    repeated)
transpose = Operator("transpose", transposed)
select    = Operator("select",    row)
# fmt: on

# For each operator, the values to keep of a call (arguments `a`, `b`, `c`; the `sizes` of the
# first; the result `out`), and the gradients of its tensors, computed from these and `g`, the
# gradient of its result. Example: for `a * b` they are `g * b` and `g * a`.
# fmt: off
DERIVATIVES: dict[str, tuple[str, Callable[..., Sequence[Tensor]]]] = {
    "add":       ("",        lambda g:        (g, g)),
    "sub_":      ("",        lambda g:        (g, g * -1.0)),
    "mul":       ("a b",     lambda g, a, b:  (g * b, g * a)),
    "tanh":      ("out",     lambda g, out:   (g + g * out * out * -1.0,)),
    "matmul":    ("a b",     lambda g, a, b:  (g @ b.T, a.T @ g)),
    "sum_to":    ("sizes",   lambda g, sizes: (expand(g, sizes),)),
    "expand":    ("",        lambda g:        (g,)),
    "select":    ("sizes b", lambda g, s, i:  (place(g, s, i),)),
    "place":     ("c",       lambda g, i:     (g[i],)),
    "transpose": ("",        lambda g:        (g.T,)),
}
# fmt: on


# The tape

CALLS = count()


class Node:
    """A recorded call, with the nodes that its gradients go to. Grows into `autograd/node.py`.

    The kept tensors have no history: a node that kept its own result would never be freed. Beside
    each is the number of writes to its memory: after another write the gradients would be wrong.
    """

    def __init__(
        self, name: str, next_nodes: list[Node | None], arguments: Sequence[Any], result: Tensor
    ) -> None:
        self.name, self.next, self.number = name, next_nodes, next(CALLS)
        self.sizes = [a.sizes if isinstance(a, Tensor) else () for a in arguments]
        names = dict(zip("abc", arguments)) | {"sizes": self.sizes[0], "out": result}
        kept = [names[name] for name in DERIVATIVES[name][0].split()]
        self.kept = [k.detach() if isinstance(k, Tensor) else k for k in kept]
        self.versions = [k.storage.version if isinstance(k, Tensor) else 0 for k in kept]

    def __call__(self, gradient: Tensor) -> list[Tensor]:
        """The gradients of the operands, from that of the result. An operand that was broadcast
        gets the sum over its repetitions.
        """
        for kept, version in zip(self.kept, self.versions):
            if isinstance(kept, Tensor) and kept.storage.version != version:
                raise RuntimeError(
                    "one of the variables needed for gradient computation has been modified by an "
                    f"inplace operation: {self.name} kept version {version}, "
                    f"now it is {kept.storage.version}"
                )
        gradients = DERIVATIVES[self.name][1](gradient, *self.kept)
        return [
            sum_to(g, sizes) if g.sizes != sizes else g for g, sizes in zip(gradients, self.sizes)
        ]


class Leaf(Node):
    """The end of a path: adds to `leaf.grad`. Grows into `autograd/accumulate_grad.py`."""

    def __init__(self, leaf: Tensor) -> None:
        self.leaf, self.next, self.number = leaf, [], next(CALLS)

    def __call__(self, gradient: Tensor) -> list[Tensor]:
        before = self.leaf.grad
        # a sum is on new memory: the same `gradient` may go to other leaves, too
        self.leaf.grad = gradient + (0.0 if before is None else before)
        return []


def node_of(argument: object) -> Node | None:
    """The node that the gradient of this argument goes to; None if it needs no gradient."""
    if not isinstance(argument, Tensor):
        return None
    return argument.grad_fn or (Leaf(argument) if argument.requires_grad else None)


def record(operator: Operator, *arguments: Any) -> Tensor:
    """The kernel of `Key.AUTOGRAD`, for all operators. Grows into `autograd/kernel.py`."""
    next_nodes = [node_of(a) for a in arguments] if MODES[-1].gradients else []
    recorded = any(next_nodes)
    if recorded and operator.name.endswith("_") and isinstance(next_nodes[0], Leaf):
        raise RuntimeError(
            "a leaf Variable that requires grad is being used in an in-place operation"
        )
    result = operator.below(Key.AUTOGRAD, *arguments)
    if recorded:
        result.grad_fn = Node(operator.name, next_nodes, arguments, result)
    return result


def run_backward(root: Tensor) -> None:
    """Adds the gradients of `root`, one number, to all leaves. Grows into `autograd/engine.py`.

    The newest node comes first. All calls that used its result are newer, so when it is called, its
    gradient is complete.
    """
    if root.grad_fn is None or root.sizes != ():
        raise RuntimeError("backward() starts at one number, made of something that requires grad")
    gradients: dict[Node, Tensor] = {root.grad_fn: tensor(1.0)}
    newest = [(-root.grad_fn.number, root.grad_fn)]  # a heap: the smallest is popped first
    with no_grad():
        while newest:
            _, node = heapq.heappop(newest)
            for next_node, gradient in zip(node.next, node(gradients.pop(node))):
                if next_node in gradients:
                    gradients[next_node] = gradients[next_node] + gradient
                elif next_node is not None:
                    gradients[next_node] = gradient
                    heapq.heappush(newest, (-next_node.number, next_node))


# Graphs


class Graph:
    """A program: calls of operators on named values. Grows into `jit/ir/graph.py`."""

    def __init__(self, inputs: Sequence[Tensor]) -> None:
        self.values: dict[str, Tensor] = {}  # by name; all but inputs and results are constants
        # a call: the name of its result, the operator, the arguments (tensors by name)
        self.nodes: list[tuple[str, Operator, list[Any]]] = []
        self.inputs = [self.name_of(x) for x in inputs]
        self.output = ""

    def name_of(self, x: float | Tensor) -> Any:
        """The name of a tensor, a new one if it has none; a number itself."""
        if not isinstance(x, Tensor):
            return x
        known = [name for name, value in self.values.items() if value is x]
        name = known[0] if known else f"%{len(self.values)}"
        self.values[name] = x
        return name

    def __str__(self) -> str:
        lines = [f"  {name} = {op.name}({', '.join(map(str, of))})" for name, op, of in self.nodes]
        return "\n".join([f"graph({', '.join(self.inputs)}):", *lines, f"  return {self.output}"])


GRAPHS: list[Graph] = []  # those being recorded, the innermost last


def trace(function: Callable[..., Tensor], *examples: Tensor) -> Graph:
    """The graph of the operators that `function` calls. Grows into `jit/tracing/run.py`."""
    graph = Graph(examples)
    GRAPHS.append(graph)
    try:
        with modes(included=MODES[-1].included | {Key.TRACER}):
            graph.output = graph.name_of(function(*examples))
    finally:
        GRAPHS.pop()
    return graph


def write_down(operator: Operator, *arguments: Any) -> Tensor:
    """The kernel of `Key.TRACER`, for all operators. Grows into `jit/tracing/recorder.py`."""
    names = [GRAPHS[-1].name_of(a) for a in arguments]
    result = operator.below(Key.TRACER, *arguments)
    GRAPHS[-1].nodes.append((GRAPHS[-1].name_of(result), operator, names))
    return result


class Interpreter:
    """Runs a graph, one operator after the other. Grows into `jit/runtime/interpreter.py`."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def __call__(self, *inputs: Tensor) -> Tensor:
        registers = self.graph.values | dict(zip(self.graph.inputs, inputs))
        for name, operator, of in self.graph.nodes:
            registers[name] = operator(*(registers[x] if isinstance(x, str) else x for x in of))
        return registers[self.graph.output]


if __name__ == "__main__":
    main()

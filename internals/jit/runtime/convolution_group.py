"""The function of a `prim::ConvolutionGroup`: packed kernels for inputs that they support, else the
operators one by one.

For the first inputs of some sizes a `Network` is built (`internals/aten/compiled/convolution`):
weights are packed, buffers laid out, and the fastest algorithm for each layer is found by
measuring, which is shown on stderr and stored on disk. Inputs of those sizes run it from then on.

The operators run where the kernels must not or cannot: a gradient is required; a dtype is not
float32, or a device not the CPU; sizes do not fit together, so that an error must be raised;
compiled kernels are switched off; the dispatcher is observed.

How the real one differs: `prim::mkldnn_convolution` nodes call oneDNN one after the other, with
blocked tensors between them.
"""

from __future__ import annotations

import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from internals.core.corrected import corrected
from internals.core.device import CPU
from internals.core.dtype import float32
from internals.core.geometry import default_keys
from internals.core.hot import hot
from internals.core.recording import Scope, recorded
from internals.core.tensor_impl import Tensor, TensorImpl, array, backed_ptr, empty_contiguous
from internals.jit.ir import Graph, Node, all_nodes, constant_of
from internals.jit.passes.overloads import overload_of
from internals.machine_code.parallel import get_num_threads
from internals.machine_code.settings import settings

from .node_functions import node_function, run_subgraph

if TYPE_CHECKING:
    from internals.jit.script_module import ScriptModule

MOST_NETWORKS = 4  # combinations of input sizes whose network a group keeps


@node_function("prim::ConvolutionGroup")
def convolution_group(node: Node) -> Callable[..., Any]:
    return group_of(node)


def convolution_plan(module: ScriptModule) -> str:
    """The algorithms chosen for the convolutions of a module from `optimize_for_inference`, as text
    to be printed.

    There is a table for each size of inputs that the module has been called with: layers, sizes,
    algorithms, and how their time compares with that of the best direct convolution; before the
    first call, a line that says so. Raises RuntimeError for a module without such groups.
    """
    methods = getattr(getattr(module, "_jit_type", None), "methods", {})
    nodes = [
        n
        for m in methods.values()
        for n in all_nodes(m.graph.block())
        if n.kind() == "prim::ConvolutionGroup"
    ]
    if not nodes:
        raise RuntimeError(
            corrected(
                "convolution_plan: there are no packed convolutions in this "
                f"{type(module).__name__}",
                "convolution_plan(model)",
                "convolution_plan(torch.jit.optimize_for_inference(torch.jit.script(model.eval())))",
            )
        )
    return "\n\n".join(group_of(n).plan() for n in nodes)


class ConvolutionGroup:
    """The function of one group. Copies of a graph share it."""

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph, self.name = graph, name
        self.operators = run_subgraph(graph, "prim::ConvolutionGroup")
        # (threads, geometries of the inputs) → network, None if the kernels do not support them
        self.networks: OrderedDict[Any, Any] = OrderedDict()
        self.lock = threading.Lock()

    def __call__(self, *inputs: Any) -> Any:
        if settings.never:
            return self.operators(*inputs)
        network = self.network(inputs)
        if network is None:
            return self.operators(*inputs)
        if hot.off:
            with recorded("prim::ConvolutionGroup", Scope.TORCHSCRIPT_FUNCTION):
                return self.run(network, inputs)
        return self.run(network, inputs)

    def run(self, network: Any, inputs: Sequence[Tensor]) -> Any:
        outputs = [empty_contiguous(network.sizes[v], float32) for v in network.outputs]
        held = [t if t._geometry.is_contiguous else t.contiguous() for t in inputs]
        network.run_into([array(t) for t in held], [backed_ptr(t) for t in outputs])
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def plan(self) -> str:
        """The tables of the networks built so far, or a line that says there are none."""
        found = [str(n.plan) for n in list(self.networks.values()) if n is not None]
        return "\n\n".join(found) or f"{self.name}: nothing is decided before the first call"

    def network(self, inputs: Sequence[Tensor]) -> Any:
        """The network for inputs like these, built if need be; None if there is none."""
        key = (get_num_threads(), *[t._geometry for t in inputs])
        found = self.networks.get(key, self)  # `self`: not tried yet, as None is an answer
        if found is self:
            with self.lock:
                if key not in self.networks:
                    self.networks[key] = self.build(inputs) if all(map(_is_plain, inputs)) else None
                    while len(self.networks) > MOST_NETWORKS:
                        self.networks.popitem(last=False)
                found = self.networks[key]
        return found

    def build(self, inputs: Sequence[Tensor]) -> Any:
        from internals.aten.compiled.convolution.layers import Unsupported
        from internals.aten.compiled.convolution.network import Network

        try:
            layers, outputs = layers_of(self.graph)
            return Network(
                layers, outputs, [tuple(t.size()) for t in inputs], get_num_threads(), self.name
            )
        except Unsupported:
            return None
        except (ImportError, RuntimeError, OSError) as error:
            # no LLVM, or one that cannot compile them: the operators do the work
            warnings.warn(
                f"convolutions run as ordinary operators, kernels cannot be compiled: {error}",
                stacklevel=2,
            )
            return None


def group_of(node: Node) -> ConvolutionGroup:
    """The function of a group. Groups with the same weights share it, since executors work on
    copies of a graph.
    """
    graph = node.g("Subgraph")
    key = _key(graph)
    with _lock:
        found = _groups.get(key)
        if found is None:
            found = _groups[key] = ConvolutionGroup(
                graph, node.s("name") if node.hasAttribute("name") else "network"
            )
        return found


_groups: WeakValueDictionary[Any, ConvolutionGroup] = WeakValueDictionary()
_lock = threading.Lock()


def _key(graph: Graph) -> Any:
    """A key that is equal for graphs that compute the same with the same weights, which must be the
    same tensor objects.
    """
    # value → the number of an input or node, or for a constant its identity or text
    numbers: dict[Any, Any] = {v: i for i, v in enumerate(graph.inputs())}
    nodes = []
    for node in graph.nodes():
        if node.kind() == "prim::Constant":
            value = constant_of(node.output())
            numbers[node.output()] = (
                ("tensor", id(value)) if isinstance(value, TensorImpl) else repr(value)
            )
            continue
        nodes.append((node.kind(), *[numbers[v] for v in node.inputs()]))
        numbers[node.output()] = len(numbers)
    return tuple(nodes), tuple(numbers[v] for v in graph.outputs())


def _is_plain(t: Tensor) -> bool:
    """Whether a kernel may read the memory of `t` directly: a float32 tensor on the CPU with the
    default dispatch keys.
    """
    g = t._geometry
    return g.dtype is float32 and g.device is CPU and g.keys == default_keys(CPU) and g.numel > 0


# From nodes to layers


def layers_of(graph: Graph) -> tuple[list[Any], list[int]]:
    """The layers of a group's graph, and the numbers of its outputs. Values are numbered: first the
    inputs, then the result of each layer.

    Raises Unsupported for weights that are not float32.
    """
    numbers = {v: i for i, v in enumerate(graph.inputs())}
    layers = []
    for node in graph.nodes():
        if node.kind() == "prim::Constant":
            continue
        numbers[node.output()] = len(numbers)
        # `add_.Tensor` and `relu_` are the layers `add.Tensor` and `relu`
        make = LAYERS[overload_of(node).replace("_.", ".").removesuffix("_")]
        tensors = tuple(numbers[v] for v in node.inputs() if v in numbers)
        layers.append(make(_Arguments(node), tensors, numbers[node.output()]))
    return layers, [numbers[v] for v in graph.outputs()]


class _Arguments:
    """The constant arguments of a node by name."""

    def __init__(self, node: Node) -> None:
        self.node = node

    def __getitem__(self, name: str) -> Any:
        return constant_of(self.node.namedInput(name))

    def pair(self, name: str, empty: Any = None) -> tuple[int, int]:
        """An argument for height and width, where one int may stand for both; `empty` for an empty
        list.
        """
        value = self[name]
        if isinstance(value, (list, tuple)) and not value and empty is not None:
            found: tuple[int, int] = empty
            return found
        numbers = [value] if isinstance(value, int) else list(value)
        return numbers[0], numbers[-1]

    def weights(self) -> tuple[Any, Any]:
        """Weight and bias as arrays; the bias may be None. Raises Unsupported unless float32."""
        from internals.aten.compiled.convolution.layers import Unsupported

        weight, bias = self["weight"], self["bias"]
        if any(t is not None and (t.dtype is not float32 or not t.is_cpu) for t in (weight, bias)):
            raise Unsupported("weights that are not float32")
        return np.ascontiguousarray(array(weight.detach())), None if bias is None else array(
            bias.detach()
        )


def _convolution(a: _Arguments, inputs: Any, output: int) -> Any:
    from internals.aten.compiled.convolution.layers import Convolution

    stride, padding, dilation = (a.pair(name) for name in ("stride", "padding", "dilation"))
    return Convolution(inputs, output, *a.weights(), stride, padding, dilation, a["groups"])


def _linear(a: _Arguments, inputs: Any, output: int) -> Any:
    from internals.aten.compiled.convolution.layers import Linear

    return Linear(inputs, output, *a.weights())


def _sum(a: _Arguments, inputs: Any, output: int) -> Any:
    from internals.aten.compiled.convolution.layers import Sum

    return Sum(inputs, output)


def _bounds(a: _Arguments, inputs: Any, output: int) -> Any:
    """relu, relu6, hardtanh and clamp: a sum of one input, cut at its bounds."""
    from internals.aten.compiled.convolution.layers import Sum

    kind = a.node.kind().removesuffix("_")
    if kind == "aten::relu":
        return Sum(inputs, output, low=0.0)
    if kind == "aten::relu6":
        return Sum(inputs, output, low=0.0, high=6.0)
    low, high = ("min_val", "max_val") if kind == "aten::hardtanh" else ("min", "max")
    low, high = a[low], a[high]
    return Sum(
        inputs,
        output,
        low=float("-inf") if low is None else low,
        high=float("inf") if high is None else high,
    )


def _max_pool(a: _Arguments, inputs: Any, output: int) -> Any:
    from internals.aten.compiled.convolution.layers import MaxPool

    kernel = a.pair("kernel_size")
    rest = a.pair("stride", kernel), a.pair("padding"), a.pair("dilation"), a["ceil_mode"]
    return MaxPool(inputs, output, kernel, *rest)


def _average_pool(a: _Arguments, inputs: Any, output: int) -> Any:
    from internals.aten.compiled.convolution.layers import AveragePool

    kernel = a.pair("kernel_size")
    return AveragePool(inputs, output, kernel, a.pair("stride", kernel), a.pair("padding"))


def _whole_average(a: _Arguments, inputs: Any, output: int) -> Any:
    from internals.aten.compiled.convolution.layers import AveragePool

    return AveragePool(inputs, output, None)


def _flatten(a: _Arguments, inputs: Any, output: int) -> Any:
    from internals.aten.compiled.convolution.layers import Flatten

    return Flatten(inputs, output)


LAYERS: dict[str, Callable[[_Arguments, Any, int], Any]] = {
    "aten::conv2d": _convolution,
    "aten::_convolution": _convolution,
    "aten::linear": _linear,
    "aten::add.Tensor": _sum,
    "aten::relu": _bounds,
    "aten::relu6": _bounds,
    "aten::hardtanh": _bounds,
    "aten::clamp": _bounds,
    "aten::max_pool2d": _max_pool,
    "aten::avg_pool2d": _average_pool,
    "aten::adaptive_avg_pool2d": _whole_average,
    "aten::flatten.using_ints": _flatten,
}

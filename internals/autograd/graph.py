"""The parts of the graph that users may handle: edges, and hooks on saved tensors
(`torch/autograd/graph.py`).

With `saved_tensors_hooks` you decide what nodes keep for backward. `pack(tensor)` is called when a
tensor is saved, and its result is kept; `unpack(packed)` is called when backward needs the tensor.
Saving to disk, compressing and counting are a few lines each; `save_on_cpu` is an example.

How the real one differs: it also has `register_multi_grad_hook`, `disable_saved_tensors_hooks` and
`allow_mutation_on_saved_tensors`, and `grad` takes gradient edges.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from internals.core.tensor_impl import Tensor

from .history import gradient_edge
from .node import Node
from .saved_variable import pop_hooks, push_hooks

__all__ = ["GradientEdge", "Node", "get_gradient_edge", "save_on_cpu", "saved_tensors_hooks"]


class GradientEdge(NamedTuple):
    """A node, and the number of one of its forward outputs: the place where a gradient arrives."""

    node: Node
    output_nr: int


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge that the gradient of `tensor` goes along. Raises RuntimeError if it has none."""
    if not tensor.requires_grad:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require "
            "gradients"
        )
    return GradientEdge(*gradient_edge(tensor))


class saved_tensors_hooks:
    """A block in which tensors saved for backward are packed by `pack_hook` and unpacked by
    `unpack_hook`.
    """

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        push_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *exception: Any) -> None:
        pop_hooks()


class save_on_cpu(saved_tensors_hooks):
    """A block in which saved tensors are kept in CPU memory, and copied back to their device for
    backward.

    With `pin_memory` that memory is page-locked, and the copy back does not block.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor: Tensor) -> tuple[Any, Any]:
            if not (pin_memory and tensor.is_cuda):
                return tensor.device, tensor.cpu()
            packed = tensor.new_empty(tensor.shape, device="cpu", pin_memory=True)
            return tensor.device, packed.copy_(tensor)

        def unpack(packed: tuple[Any, Any]) -> Any:
            device, tensor = packed
            return tensor.to(device, non_blocking=pin_memory)

        super().__init__(pack, unpack)

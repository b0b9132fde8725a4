"""Equality of nodes: two nodes with equal keys compute the same
(`torch/csrc/jit/ir/node_hashing.cpp`).

The key of a node is made of its kind, its inputs (the same values, not equal ones), the types of
its outputs, and its attributes. It ignores side effects, random numbers and memory: a pass that
merges two nodes must check those as well.

How the real one differs: it hashes and compares the nodes themselves. It compares floats as
numbers, so that 0.0 and -0.0 are the same constant to it (and `1 / x` may change its sign); here
their bits are compared.
"""

from __future__ import annotations

import struct
from collections.abc import Hashable

import numpy as np

from internals.core.tensor_impl import TensorImpl, host_array
from internals.jit.ir import Node

LARGEST = 1 << 24  # bytes of a tensor that is compared by its contents


def node_key(node: Node) -> Hashable | None:
    """The key of a node; None for a node that does not equal any other: one with blocks, a
    subgraph, or a Python function.
    """
    if node.blocks() or node.pyobj is not None:
        return None
    attributes = []
    for name in sorted(node.attributeNames()):
        kind = node.kindOf(name)
        if kind in ("g", "gs"):
            return None
        attributes.append((name, kind, value_key(node.attribute(name))))
    types = tuple(v.type() for v in node.outputs())
    return node.kind(), types, tuple(v.unique() for v in node.inputs()), tuple(attributes)


def value_key(value: object) -> Hashable:
    """A key that is equal for values that a program cannot tell apart: 1, 1.0 and True have
    different keys, as have 0.0 and -0.0. An unhashable object equals itself only.
    """
    if isinstance(value, TensorImpl):
        return _TensorKey(value)
    if isinstance(value, float):
        return float, struct.pack("<d", value)
    if isinstance(value, complex):
        return complex, struct.pack("<dd", value.real, value.imag)
    if isinstance(value, (list, tuple)):
        return type(value), tuple(value_key(v) for v in value)
    if isinstance(value, dict):
        return dict, tuple((value_key(k), value_key(v)) for k, v in value.items())
    try:
        hash(value)
    except TypeError:
        return object, id(value)
    return type(value), value


class _TensorKey:
    """The key of a tensor: equal if dtype, sizes, strides, device and every bit agree.

    A tensor of more than `LARGEST` bytes equals itself only: it may be one number, expanded, and to
    compare it would write it out. The hash reads the first eight elements only.
    """

    def __init__(self, tensor: TensorImpl) -> None:
        self.tensor = tensor
        self.form = tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.device

    def __hash__(self) -> int:
        return hash((self.form, host_array(self.tensor).flat[:8].tobytes()))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _TensorKey) or self.form != other.form:
            return False
        if self.tensor is other.tensor or self.tensor.numel() * self.tensor.itemsize > LARGEST:
            return self.tensor is other.tensor
        a, b = host_array(self.tensor), host_array(other.tensor)
        return np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes()

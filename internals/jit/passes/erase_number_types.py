"""Erasure of number types: numbers become tensors
(`torch/csrc/jit/passes/erase_number_types.cpp`).

Exchange formats such as ONNX have no numbers, only tensors without dimensions. This pass is for
their exporters:

| node                                                   | becomes                                 |
|--------------------------------------------------------|-----------------------------------------|
| a constant that is an int, a float or a bool           | a constant tensor: int64, float64, bool |
| `aten::Int(t)`, `aten::Float(t)`, `aten::Bool(t)`,     | its input                               |
| `prim::NumToTensor(n)`, ...                            |                                         |
| any value of type int, float or bool                   | the same value of type `Long()`,        |
|                                                        | `Double()`, `Bool()`                    |

After it the graph is only for reading and exporting. It no longer runs, since an operator does not
accept a tensor for a number such as `alpha`.

How the real one differs: it leaves the type `bool` on a bool constant that has become a tensor.
"""

from __future__ import annotations

from internals.construction.tensor_new import tensor
from internals.core import dtype as dt
from internals.core.device import device
from internals.jit.ir import (
    Block,
    BoolType,
    ComplexType,
    FloatType,
    Graph,
    IntType,
    NumberType,
    TensorType,
    Value,
    constant_of,
)
from internals.jit.passes.registry import graph_pass

CONVERSIONS = (
    "aten::Int", "aten::Float", "aten::Bool", "aten::IntImplicit", "aten::FloatImplicit",
    "aten::ScalarImplicit", "prim::NumToTensor",
)  # fmt: skip
DTYPES: dict[type, dt.dtype] = {
    IntType: dt.int64,
    FloatType: dt.float64,
    BoolType: dt.bool_,
    ComplexType: dt.complex128,
}


@graph_pass("numbers become tensors", verifiable=False)
def erase_number_types(graph: Graph) -> bool:
    """Give every number of the graph a tensor type. The result can be exported, but not run."""
    return _erase(graph.block())


def _erase(block: Block) -> bool:
    """Retype the values of a block and of the blocks inside. True if there were any."""
    changed = False
    for v in block.inputs():
        changed |= _retype(v)
    for node in block.nodes():
        for b in node.blocks():
            changed |= _erase(b)
        if node.kind() in CONVERSIONS and node.inputsSize() == 1:
            _retype(node.input())
            node.output().replaceAllUsesWith(node.input())
            node.destroy()
            changed = True
            continue
        for v in node.outputs():
            changed |= _constant_to_tensor(v) if node.kind() == "prim::Constant" else _retype(v)
    return changed


def _retype(value: Value) -> bool:
    """Make the type of a number that of a 0-d tensor; of a `Scalar` the dtype is not known."""
    type = value.type()
    if isinstance(type, NumberType):
        value.setType(TensorType.get())
        return True
    dtype = DTYPES.get(type.__class__)
    if dtype is None:
        return False
    value.setType(TensorType(dtype, device("cpu"), ()))
    return True


def _constant_to_tensor(value: Value) -> bool:
    """Replace the value of a constant number by a 0-d tensor."""
    dtype = DTYPES.get(value.type().__class__)
    if dtype is None:
        return False
    number = constant_of(value)  # before its type changes, by which a bool is told from an int
    _retype(value)
    value.node().t_("value", tensor(number, dtype=dtype))
    return True

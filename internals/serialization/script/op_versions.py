"""Chooses the version number of an archive: the lowest that its operators allow
(`torch/csrc/jit/operator_upgraders/version_map.h`).

An operator may change its meaning: up to version 3, `div` of two integer tensors rounded to zero.
The reader of an archive of version 3 therefore replaces `torch.div` by a function that still does
(an *upgrader*). So the number must be right: if it is too low, the operators of a new program
silently get their old meaning. A program without any such operator has version 3, which old
versions of PyTorch can read.

How the real one differs: the same table also has the names of the upgraders, and an entry for every
change.
"""

from __future__ import annotations

from internals.jit.ir import Node

LOWEST, HIGHEST = 3, 10
MOVED_IN = 6  # from this version on, the number is in the folder `.data`, with other internal ones

# operator and overload -> the first version in which it has today's meaning
CHANGED_IN = {
    **dict.fromkeys(
        (
            "aten::div.Tensor", "aten::div.Tensor_mode", "aten::div.Scalar",
            "aten::div.Scalar_mode", "aten::div.out", "aten::div.out_mode", "aten::div_.Tensor",
            "aten::div_.Tensor_mode", "aten::div_.Scalar", "aten::div_.Scalar_mode",
        ),
        4,
    ),
    **dict.fromkeys(("aten::full", "aten::full.out"), 5),
    **dict.fromkeys(("aten::linspace", "aten::linspace.out"), 8),
    **dict.fromkeys(("aten::logspace", "aten::logspace.out"), 9),
    **dict.fromkeys(("aten::gelu", "aten::gelu.out"), 10),
}  # fmt: skip
_KINDS = {name.partition(".")[0] for name in CHANGED_IN}


def version_of(node: Node) -> int:
    """The lowest version of archives that may contain this node."""
    if node.kind() not in _KINDS:
        return LOWEST
    schema = node.schema()
    if schema is None:
        return LOWEST
    name = f"{schema.name}.{schema.overload_name}" if schema.overload_name else schema.name
    return CHANGED_IN.get(name, LOWEST)


def version_record(version: int) -> str:
    """The name of the record with the version."""
    return "version" if version < MOVED_IN else ".data/version"

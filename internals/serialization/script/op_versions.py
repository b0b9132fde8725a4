"""The version number of an archive: as low as its operators allow
(`torch/csrc/jit/operator_upgraders/version_map.h`).

An operator sometimes changes its meaning: up to version 3 `div` of two integer tensors rounded
down. Whoever reads an archive of version 3 therefore replaces `torch.div` by something that still
rounds down (an *upgrader*). So the number must be right: with one too low today's programs would
silently be given yesterday's operators. A program without any such operator says 3, which programs
of long ago can read.

How the real one differs: the same table has the upgraders' names, and for every change ever made an
entry.
"""

from __future__ import annotations

from internals.jit.ir import Node

LOWEST, HIGHEST = 3, 10
MOVED_IN = 6  # from here on the number is kept with what else is not for users

# The first version in which the operator means what it means today.
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
    """The record that says the version."""
    return "version" if version < MOVED_IN else ".data/version"

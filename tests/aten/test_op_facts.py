"""What entries of native_functions say of operators besides how they are called: PyTorch's tags,
and what follows from them.
"""

from __future__ import annotations

from typing import Any

import pytest

from codegen.model import TAGS, load
from internals._generated import op_facts
from internals.jit.ir.parser import parse_ir
from internals.jit.passes import run_pass
from tests.answers import answer

# One element at a time, too, though PyTorch's file does not say so.
MORE = {
    "pointwise": {
        "floor_divide", "floor_divide.Scalar", "hardshrink_backward", "hardsigmoid_backward",
        "hardswish", "hardswish_backward", "hardtanh_backward", "elu_backward",
        "leaky_relu_backward", "log_sigmoid_backward", "log_sigmoid_forward", "masked_fill.Tensor",
        "mish_backward", "rsub.Tensor", "softplus_backward", "softshrink_backward", "where.Scalar",
        "where.ScalarOther", "where.ScalarSelf",
    },
}  # fmt: skip


def tags_of(torch: Any, name: str) -> list[str]:
    operator, _, overload = name.partition(".")
    tags = getattr(getattr(torch.ops.aten, operator), overload or "default").tags
    return sorted(str(tag).removeprefix("Tag.") for tag in tags)


def test_tags_are_pytorchs() -> None:
    """Of what is declared; twins have those of what they were derived from."""
    ours = {
        f.schema.full_name.removeprefix("aten::"): f.tags
        for f in load()
        if f.base is None and not f.same_as
    }
    theirs = answer(
        lambda torch: {name: tags_of(torch, name) for name in sorted(ours)}, about=sorted(ours)
    )
    for tag in TAGS:
        mine = {name for name, tags in ours.items() if tag in tags}
        assert mine - {name for name in ours if tag in theirs[name]} == MORE.get(tag, set()), tag
        assert {name for name in ours if tag in theirs[name]} <= mine, tag
        assert mine, tag


def test_what_changes_a_view_in_place_is_pytorchs() -> None:
    """This tag is derived for twins, from the operator's being a view."""
    names = sorted(
        f.schema.full_name.removeprefix("aten::")
        for f in load()
        if f.schema.is_inplace and not f.same_as
    )
    theirs = answer(
        lambda torch: [n for n in names if "inplace_view" in tags_of(torch, n)], about=names
    )
    assert sorted(op_facts.INPLACE_VIEW & set(names)) == theirs


@pytest.mark.parametrize(
    "second, first", [("arccos", "acos"), ("multiply.Tensor", "mul.Tensor"), ("clip", "clamp")]
)
def test_a_second_name_has_the_tags_of_the_first(second: str, first: str) -> None:
    assert op_facts.SAME_AS[second] == first
    assert second in op_facts.POINTWISE and first in op_facts.POINTWISE


def test_the_shape_of_a_pointwise_operator_needs_no_rule() -> None:
    """Its sizes are broadcast; its dtype the operator tells, of one that no pass has heard of
    too.
    """
    graph = parse_ir("""graph(%x : Float(3, *, device=cpu), %y : Double(4, device=cpu), %z :
    Tensor):
  %a : Tensor = aten::logaddexp(%x, %x)
  %b : Tensor = aten::hypot(%a, %y)
  %c : Tensor = aten::special_entr(%z)
  %d : Tensor = aten::gt(%c, %z)
  return (%a, %b, %c, %d)
""")
    run_pass("propagate_input_shapes", graph, verify=True)
    types = [v.type().repr_str() for v in graph.outputs()]
    assert types == ["Float(3, *, device=cpu)", "Double(3, 4, device=cpu)", "Tensor", "BoolTensor"]

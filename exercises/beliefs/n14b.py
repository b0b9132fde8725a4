"""What people believe about the backward of a script."""

from __future__ import annotations

from exercises.beliefs import Beliefs

BELIEFS: Beliefs = {
    "kept": [
        (
            {"x": True, "w": True, "x * w": True, "y": True},
            "the formula of sigmoid is written with its result: what went in is not needed",
        ),
        (
            {"x": True, "w": True, "x * w": True, "y": False},
            "the formula of sigmoid is written with its result, not with what went in",
        ),
        (
            {"x": False, "w": False, "x * w": True, "y": True},
            "the derivative of a product by one factor is the other, so both are needed",
        ),
    ],
    "undefined": [
        (
            {"both gradients arrive": 3, "only the first": 3},
            "the formula of exp is linear in a gradient that is zero, and is left out",
        ),
        (
            {"both gradients arrive": 3, "only the first": 1},
            "the formula of sigmoid has two of the products, and its gradient arrives",
        ),
    ],
    "groups": [
        (
            {
                "one_sigmoid": True,
                "two_pointwise": True,
                "two_products": True,
                "written_in_place": True,
            },
            "a group costs something, so the small ones are put back; and a write ends a group",
        ),
        (
            {
                "one_sigmoid": False,
                "two_pointwise": True,
                "two_products": True,
                "written_in_place": False,
            },
            "two products are fewer than five nodes and nothing in them can be fused",
        ),
        (
            {
                "one_sigmoid": False,
                "two_pointwise": True,
                "two_products": False,
                "written_in_place": True,
            },
            "no formula knows of writes: autograd records them one by one",
        ),
        (
            {
                "one_sigmoid": False,
                "two_pointwise": False,
                "two_products": False,
                "written_in_place": False,
            },
            "two operators are enough where they can be fused",
        ),
    ],
}

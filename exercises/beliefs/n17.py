"""What people believe about running saved models without Python."""

from __future__ import annotations

from exercises.beliefs import Beliefs

CALLS = "operators are spelled as calls, torch.remainder(n0, 2): the types are known already"

BELIEFS: Beliefs = {
    "methods": [
        (
            {"a tensor": "deflated", "the pickle": "deflated", "code": "deflated"},
            "what is compressed cannot be used where it lies, and weights hardly compress",
        ),
        (
            {"a tensor": "stored", "the pickle": "deflated", "code": "deflated"},
            "only text is compressed; the pickle is stored like the tensors",
        ),
        (
            {"a tensor": "deflated", "the pickle": "stored", "code": "stored"},
            "it is the other way round: weights hardly compress, and text does",
        ),
        (
            {"a tensor": "stored", "the pickle": "stored", "code": "stored"},
            "nothing is mapped to code, so it may be compressed, and text compresses well",
        ),
    ],
    "kinds": [
        (dict.fromkeys(("BinOp", "Compare", "AugAssign", "While", "If"), True), CALLS),
        (
            {"BinOp": True, "Compare": True, "AugAssign": False, "While": True, "If": True},
            CALLS,
        ),
        (
            dict.fromkeys(("BinOp", "Compare", "AugAssign", "While", "If"), False),
            "a trace has no control flow, but this model was scripted",
        ),
    ],
    "operators": [
        (5, "writing into a tensor, pooling and flattening are operators of their own"),
        (20, "that is how often convolutions are called; they are one operator"),
        (62, "that is the number of layers; many of them call the same operator"),
    ],
    "doubles": [
        (
            {"as ints": 7, "as doubles": 7},
            "the product is larger than 2**53, where doubles go in steps of two",
        ),
    ],
}

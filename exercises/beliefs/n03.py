"""What people believe about shared memory."""

from __future__ import annotations

from exercises.beliefs import Beliefs

ARRAY = ("as_tensor(a)", "as_tensor(a, dtype=float64)", "from_dlpack(a)", "from_numpy(a)[0]")
TENSOR = (
    "np.asarray(t)",
    "np.array(t)",
    "t.detach()",
    "t.to(float32)",
    "t.contiguous()",
    "t.t()",
    "t.t().contiguous()",
    "t.reshape(6)",
)


def of_array(*copied: str) -> dict[str, str]:
    names = (*ARRAY, "from_numpy(a) + 0")
    return {name: "copied" if name in copied else "shared" for name in names}


def of_tensor(*copied: str) -> dict[str, str]:
    return {name: "copied" if name in copied else "shared" for name in TENSOR}


BELIEFS: Beliefs = {
    "two additions": [
        ({"a = a + 1": 2, "a += 1": 2}, "a + 1 is a new array, and the tensor has the old one"),
        ({"a = a + 1": 1, "a += 1": 1}, "+= writes into the memory that the tensor looks at"),
        ({"a = a + 1": 2, "a += 1": 1}, "it is the other way round: only += writes to old memory"),
    ],
    "blocks": [
        (
            {"from_numpy(batch)": 0, "half of it, permuted": 1, "tensor(batch)": 1},
            "a slice and a permutation are other numbers over the same bytes",
        ),
        (
            {"from_numpy(batch)": 1, "half of it, permuted": 0, "tensor(batch)": 1},
            "from_numpy takes the array's pointer, and no block",
        ),
        (
            {"from_numpy(batch)": 1, "half of it, permuted": 1, "tensor(batch)": 1},
            "a new tensor need not have new memory",
        ),
    ],
    "counts": [
        ([1, 2, 1], "getrefcount counts its own argument, too"),
        ([2, 2, 2], "the DataPtr holds the array as its context: one reference more"),
        ([2, 3, 3], "the reference goes with the last tensor on the memory"),
    ],
    "from an array": [
        (of_array("from_numpy(a) + 0"), "float32 numbers do not become float64 in place"),
        (
            of_array("as_tensor(a)", "as_tensor(a, dtype=float64)", "from_numpy(a) + 0"),
            "as_tensor shares if it can",
        ),
        (of_array("as_tensor(a, dtype=float64)"), "adding 0 is an addition, with a new result"),
    ],
    "from a tensor": [
        (of_tensor("t.t().contiguous()"), "np.array copies; np.asarray does not"),
        (
            of_tensor("np.array(t)", "t.contiguous()", "t.t().contiguous()"),
            "t is contiguous already, so contiguous() returns t itself",
        ),
        (
            of_tensor("np.array(t)", "t.to(float32)", "t.t().contiguous()"),
            "t has this dtype already, so to() returns t itself",
        ),
        (
            of_tensor("np.array(t)", "t.detach()", "t.t().contiguous()"),
            "detach() leaves the history behind, not the storage",
        ),
    ],
    "called": [
        (
            {"images": 1, "augmented": 3, "together": "copied"},
            "a call passes a reference, and *= writes through it",
        ),
        (
            {"images": 3, "augmented": 3, "together": "shared"},
            "batch + 1 is a new tensor, and the assignment only moves the name",
        ),
    ],
}

"""What people believe about dtypes, sizes and strides."""

from __future__ import annotations

from exercises.beliefs import Beliefs

BELIEFS: Beliefs = {
    "mixed numbers": [
        (
            {
                "[1, 2]": "int64",
                "[1, 2.5]": "float64",
                "[True, 2]": "int64",
                "[1, 2.5, 3j]": "complex128",
            },
            "a Python float has 64 bits, but a tensor made from it has the default dtype, float32",
        ),
        (
            {
                "[1, 2]": "int32",
                "[1, 2.5]": "float32",
                "[True, 2]": "int32",
                "[1, 2.5, 3j]": "complex64",
            },
            "the default of 32 bits is for decimal numbers; integers become int64",
        ),
        (
            {
                "[1, 2]": "int64",
                "[1, 2.5]": "float32",
                "[True, 2]": "bool",
                "[1, 2.5, 3j]": "complex64",
            },
            "it is not the first element that decides: bool gives way to an integer",
        ),
    ],
    "in place": [
        (
            {"x * 2": "int64", "x * 1.5": "int64", "x.mul_(1.5)": "int64"},
            "that was so before 1.3: today a product of integers and a float is a float tensor",
        ),
        (
            {"x * 2": "int64", "x * 1.5": "float32", "x.mul_(1.5)": "float32"},
            "in place there are 8 bytes for each element, and they are those of integers",
        ),
        (
            {"x * 2": "int64", "x * 1.5": "float32", "x.mul_(1.5)": "int64"},
            "that would lose the decimals without a word, and is refused",
        ),
    ],
    "a thousand floats": [
        (
            {"list": 8000, "tensor": 4000},
            "those are the list's pointers; where are the floats that they point to",
        ),
        (
            {"list": 8000, "tensor": 8000},
            "a list holds pointers to objects, and a tensor made from floats is float32",
        ),
        (
            {"list": 24000, "tensor": 4000},
            "those are the objects; the list has a pointer to each, of 8 bytes more",
        ),
    ],
    "transpose": [
        (
            {"strides": (1, 3), "moved": 6},
            "with the strides exchanged, the same place is found for the same element",
        ),
        (
            {"strides": (2, 1), "moved": 4},
            "that would be a transposed copy; `t()` only describes the bytes in another way",
        ),
        (
            {"strides": (3, 1), "moved": 0},
            "with unchanged strides the elements would be in the old order",
        ),
    ],
    "how many": [
        (
            {
                "torch.empty(2, 0, 3)": 6,
                "torch.empty(())": 0,
                "torch.tensor(3)": 1,
                "torch.Tensor(3)": 1,
            },
            "it is the product of the sizes: one size of 0 makes it 0, and no sizes at all make 1",
        ),
        (
            {
                "torch.empty(2, 0, 3)": 0,
                "torch.empty(())": 0,
                "torch.tensor(3)": 1,
                "torch.Tensor(3)": 3,
            },
            "a product without factors is 1: without dimensions there is one element",
        ),
        (
            {
                "torch.empty(2, 0, 3)": 0,
                "torch.empty(())": 1,
                "torch.tensor(3)": 1,
                "torch.Tensor(3)": 1,
            },
            "the capital T is the old constructor, and takes an integer for a size",
        ),
    ],
}

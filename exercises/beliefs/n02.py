"""What people believe about Python's objects, their counts, and the object of a tensor."""

from __future__ import annotations

from exercises.beliefs import Beliefs

BELIEFS: Beliefs = {
    "size of a complex number": [
        (16, "those are the two doubles; the head, a count and a type, comes before them"),
        (24, "that is a float; a complex number has one double more"),
        (48, "two numbers, but one head: they are fields of one struct, not objects"),
    ],
    "ids": [
        (
            {"id(object()) == id(object())": False, "object() is object()": False},
            "the first object is freed before the second is made, and the second gets its place",
        ),
        (
            {"id(object()) == id(object())": True, "object() is object()": True},
            "`is` holds both objects while it compares them, so they cannot be in one place",
        ),
        (
            {"id(object()) == id(object())": False, "object() is object()": True},
            "it is the other way round: `is` holds both objects, id() lets go of each at once",
        ),
    ],
    "two dels": [
        (
            {"del big": 4, "del row": 0},
            "the row refers to the storage of the matrix, which is therefore still needed",
        ),
        (
            {"del big": 0, "del row": 0},
            "with the last reference to the storage its bytes go, and nothing has to be collected",
        ),
        (
            {"del big": 3, "del row": 1},
            "a storage is freed as a whole or not at all",
        ),
    ],
    "is": [
        (
            {"prompt, 200": True, "prompt, 300": False, "function, 300": False},
            "a function has one table of constants, and 300 stands in it once",
        ),
        (
            {"prompt, 200": False, "prompt, 300": False, "function, 300": False},
            "the integers from -5 to 256 are made once, when Python starts",
        ),
        (
            {"prompt, 200": True, "prompt, 300": True, "function, 300": True},
            "at the prompt each line is compiled alone, and makes a 300 of its own",
        ),
    ],
    "in common": [
        (
            {
                "view, _storage": True,
                "view, _geometry": True,
                "other, _storage": False,
                "other, _geometry": False,
            },
            "a transpose has other strides than its base; two matrices of 2 × 2 have the same",
        ),
        (
            {
                "view, _storage": True,
                "view, _geometry": False,
                "other, _storage": False,
                "other, _geometry": False,
            },
            "the description of a contiguous 2 × 2 float tensor is made once, and shared",
        ),
        (
            {
                "view, _storage": False,
                "view, _geometry": False,
                "other, _storage": False,
                "other, _geometry": True,
            },
            "a transpose copies nothing: it looks at the storage of its base",
        ),
    ],
    "label": [
        (
            "AttributeError",
            "the node refers to the Python object, which lives on with everything set on it",
        ),
    ],
}

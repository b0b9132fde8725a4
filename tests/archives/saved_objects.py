"""Objects to save, made with either library: `OBJECTS["views"](torch)`. The numbers in them are the
same in both.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

DTYPES = (
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
    "bool",
)


def values(T: Any) -> Any:
    """Everything a file may hold besides tensors."""
    shared = ["twice"]
    cycle: list[Any] = [1]
    cycle.append(cycle)
    return {
        "ints": [0, 255, 256, 65535, 65536, -1, 2**31 - 1, -(2**31), 2**31, 2**63, -(2**100)],
        "floats": [0.0, -0.0, 1.5, float("inf"), -1e-310],
        "complex": 1 - 2j,
        "constants": (None, True, False),
        "text": ["", "é", "\U0001f600", "a\nb\0"],
        "bytes": [b"\x00\xff", bytearray(b"abc"), bytearray()],
        "tuples": ((), (1,), (1, 2), (1, 2, 3), (1, 2, 3, (4,))),
        "dicts": [
            {},
            {1: 2},
            {None: 0, 1.5: 1, (1, "a"): 2, b"k": 3},
            OrderedDict(a=1, b=2),
            Counter("abca"),
        ],
        "set": {7},
        "types": [
            T.float32,
            T.bool,
            T.Size([2, 3]),
            T.device("cpu"),
            T.device("cuda", 1),
            T.strided,
        ],
        "shared": (shared, shared),
        "cycle": cycle,
    }


def dtypes(T: Any) -> Any:
    return {name: T.tensor([[0, 1, 2], [3, 4, 5]]).to(getattr(T, name)) for name in DTYPES}


def views(T: Any) -> Any:
    """Tensors that look at one storage, and odd ones."""
    base = T.arange(24.0)
    gap = base.reshape(4, 6)[1:3, ::2]
    return {
        "gap": gap,
        "transposed": base.reshape(4, 6).t(),
        "whole": base,
        "same": gap,
        "expanded": T.ones(1).expand(1000),
        "scalar": T.tensor(3),
        "empty": T.empty(0, 3),
        "requires_grad": T.ones(2).requires_grad_(),
        "parameter": T.nn.Parameter(T.arange(3.0)),
        "frozen": T.nn.Parameter(T.arange(3), requires_grad=False),
        "channels_last": T.arange(24).reshape(1, 2, 3, 4).contiguous(memory_format=T.channels_last),
        "meta": T.empty(2, 3, device="meta"),
    }


def attributes(T: Any) -> Any:
    """A tensor and a parameter that somebody hung something on."""
    t, p = T.arange(3.0), T.nn.Parameter(T.arange(2.0))
    t.note, p.history = "hung on", [1, T.ones(1)]
    return [t, p]


def model(T: Any) -> Any:
    layers = T.nn.Sequential(
        T.nn.Conv2d(2, 3, 3), T.nn.BatchNorm2d(3), T.nn.ReLU(), T.nn.Flatten(), T.nn.Linear(12, 2)
    )
    with T.no_grad():
        for i, p in enumerate(layers.parameters()):
            p.copy_((T.arange(p.numel()).reshape(p.shape) + i).float() / 10)
    return layers


def state_dict(T: Any) -> Any:
    return model(T).state_dict()


def optimizer(T: Any, kind: str = "Adam") -> Any:
    """The state of an optimizer after a step."""
    p = T.nn.Parameter(T.arange(4.0))
    made = getattr(T.optim, kind)([p], lr=0.1)
    (p * T.arange(4.0)).sum().backward()
    made.step()
    return made.state_dict()


OBJECTS: dict[str, Callable[[Any], Any]] = {
    "values": values, "dtypes": dtypes, "views": views, "attributes": attributes,
    "state_dict": state_dict, "optimizer": optimizer,
}  # fmt: skip

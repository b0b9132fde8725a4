"""What the tests of the layout of PyTorch 1.0.1 share: archives made by the real one, archives
built by hand, values compared.
"""

from __future__ import annotations

import io
import json
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

import internals
from internals.core.tensor_impl import TensorImpl

FOLDER = Path(__file__).parents[1] / "archives" / "v101"
EXPECTED: dict[str, list[dict[str, Any]]] = json.loads((FOLDER / "expected.json").read_text())


def value(stored: Any) -> Any:
    """A value of `expected.json`."""
    if isinstance(stored, dict) and "dtype" in stored:
        kind = getattr(internals, stored["dtype"])
        return internals.tensor(stored["values"], dtype=kind).reshape(stored["sizes"])
    if isinstance(stored, dict):
        return (
            tuple(map(value, stored["tuple"]))
            if "tuple" in stored
            else list(map(value, stored["list"]))
        )
    return stored


def assert_equal(ours: Any, expected: Any) -> None:
    """Up to rounding; masks were bytes in 1.0.1."""
    if isinstance(expected, TensorImpl):
        assert isinstance(ours, TensorImpl) and ours.shape == expected.shape
        assert ours.dtype is expected.dtype or {ours.dtype, expected.dtype} == {
            internals.bool,
            internals.uint8,
        }
        a, b = (np.asarray(t.detach().double().tolist()) for t in (ours, expected))
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    elif isinstance(expected, (list, tuple)):
        assert type(ours) is type(expected) and len(ours) == len(expected)
        for a, b in zip(ours, expected):
            assert_equal(a, b)
    elif isinstance(expected, float):
        assert ours == expected or abs(ours - expected) <= 1e-5 * max(1.0, abs(expected))
    else:
        assert type(ours) is type(expected) and ours == expected


def records(archive: bytes | Path) -> dict[str, bytes]:
    """The records of an archive in the order of the file, without the top folder."""
    with zipfile.ZipFile(io.BytesIO(archive) if isinstance(archive, bytes) else archive) as z:
        return {name.partition("/")[2]: z.read(name) for name in z.namelist()}


def archive(
    parts: dict[str, bytes | str | Any], top: str = "net", compression: int = zipfile.ZIP_STORED
) -> bytes:
    """An archive as Python's own zipfile writes it: nothing is aligned. What is neither bytes nor
    text becomes JSON.
    """
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as z:
        for name, data in parts.items():
            z.writestr(
                f"{top}/{name}", data if isinstance(data, (bytes, str)) else json.dumps(data)
            )
    return out.getvalue()


def floats(*numbers: float) -> bytes:
    return struct.pack(f"<{len(numbers)}f", *numbers)


def tensor_def(
    record: str, *sizes: int, strides: tuple[int, ...] | None = None, **rest: Any
) -> dict[str, Any]:
    """A TensorDef of floats."""
    if strides is None:
        strides = tuple(int(np.prod(sizes[i + 1 :])) for i in range(len(sizes)))
    made = {
        "dims": list(map(str, sizes)),
        "strides": list(map(str, strides)),
        "dataType": "FLOAT",
        "data": {"key": record},
    }
    return {**made, "device": "cpu", **rest}


def one_function(code: str, **rest: Any) -> dict[str, Any]:
    """The records of a module without tensors that has this code."""
    model = {"mainModule": {"torchscriptArena": {"key": "code/net.py"}, "name": "net"}, **rest}
    return {"version": "1\n", "code/net.py": f"op_version_set = 0\n{code}", "model.json": model}

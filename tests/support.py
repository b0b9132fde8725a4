"""What the tests share: turning our tensors into torch's and back, comparing the two, how many
examples to try.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

import hypothesis
import numpy as np

import internals
from internals.core.dtype import ALL
from internals.core.stray_errors import StrayError
from internals.core.tensor_impl import TensorImpl, array
from tests.answers import answer, oracle as oracle

DTYPES = ALL
FLOATS = tuple(d for d in ALL if d.is_floating_point)
COMPLEXES = tuple(d for d in ALL if d.is_complex)
INTEGERS = tuple(d for d in ALL if d.category == 1)
TOLERANCE = {
    "float16": 1e-2,
    "float32": 1e-5,
    "complex64": 1e-5,
    "float64": 1e-10,
    "complex128": 1e-10,
}


def full() -> bool:
    """Whether the long version of the tests was asked for (`make test-full`)."""
    return os.environ.get("INTERNALS_TEST_FULL") == "1"


def examples(n: int, full_n: int | None = None) -> hypothesis.settings:
    """Decorator for a property: `n` examples, `full_n` (20 times as many) in the long version."""
    return hypothesis.settings(max_examples=(full_n or 20 * n) if full() else n, deadline=None)


def to_numpy(t: Any) -> Any:
    """The values of one of our tensors as a numpy array of its own."""
    return np.array(array(t))


def to_torch(x: Any) -> Any:
    """One of our tensors as a real one with the same values and strides; containers and dtypes
    alike, the rest unchanged.
    """
    import torch

    if isinstance(x, TensorImpl):
        size = 1 + sum((n - 1) * s for n, s in zip(x.shape, x.stride())) if x.numel() else 0
        memory = torch.empty(size, dtype=to_torch(x.dtype))
        result = memory.as_strided(tuple(x.shape), x.stride())
        if x.numel():
            target = np.lib.stride_tricks.as_strided(
                memory.numpy(), x.shape, [s * x.itemsize for s in x.stride()]
            )
            target[...] = array(x)
        return result.requires_grad_(x.requires_grad)
    if isinstance(x, (internals.dtype, internals.memory_format, internals.layout)):
        return getattr(torch, repr(x).removeprefix("internals."))
    if isinstance(x, internals.device):
        return torch.device(str(x))
    if type(x) in (list, tuple):
        return type(x)(to_torch(v) for v in x)
    return {k: to_torch(v) for k, v in x.items()} if isinstance(x, dict) else x


def from_torch(x: Any) -> Any:
    """A real tensor as one of ours with the same values and strides; containers and dtypes alike,
    the rest unchanged.

    It may be a `RealTensor`, which an answer holds.
    """
    if hasattr(x, "storage_offset"):
        ours = internals.empty_strided(tuple(x.shape), x.stride(), dtype=dtype_named(x.dtype))
        if x.numel():
            array(ours)[...] = x.detach().numpy()
        return ours
    if type(x).__name__ == "dtype":
        return dtype_named(x)
    if type(x) in (list, tuple):
        return type(x)(from_torch(v) for v in x)
    return x


def dtype_named(dtype: Any) -> Any:
    """Ours of the same name as this one of PyTorch's, or as its text."""
    return getattr(internals, str(dtype).removeprefix("torch."))


def assert_same(
    ours: Any,
    theirs: Any,
    rtol: float | None = None,
    atol: float | None = None,
    strides: bool = False,
) -> None:
    """Shape, dtype and values agree (strides too when asked). `theirs` is a real tensor, a numpy
    array, a number, or a sequence.

    The default tolerances are those of the dtype; integers and bools must be equal. NaN equals NaN.
    """
    if isinstance(theirs, (list, tuple)):
        assert len(ours) == len(theirs), f"{len(ours)} results against {len(theirs)}"
        for a, b in zip(ours, theirs):
            assert_same(a, b, rtol, atol, strides)
        return
    if not isinstance(ours, TensorImpl):
        assert ours == theirs or (ours != ours and theirs != theirs), f"{ours!r} against {theirs!r}"
        return
    assert tuple(ours.shape) == tuple(theirs.shape), (
        f"shape {tuple(ours.shape)} against {tuple(theirs.shape)}"
    )
    assert ours.dtype.name == str(theirs.dtype).removeprefix("torch."), (
        f"dtype {ours.dtype.name} against {theirs.dtype}"
    )
    if strides:
        assert ours.stride() == tuple(theirs.stride()), (
            f"strides {ours.stride()} against {tuple(theirs.stride())}"
        )
    expected = theirs if isinstance(theirs, (np.ndarray, np.generic)) else theirs.numpy(force=True)
    tolerance = TOLERANCE.get(ours.dtype.name)
    if tolerance is None:
        np.testing.assert_array_equal(array(ours), expected)
        return
    np.testing.assert_allclose(
        array(ours),
        expected,
        rtol=tolerance if rtol is None else rtol,
        atol=tolerance if atol is None else atol,
    )


def outcome(call: Callable[[], Any]) -> tuple[Any, Exception | None]:
    """What a call returned, or the exception it raised; numpy's and PyTorch's warnings are
    silenced.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call(), None
        except StrayError as error:
            return None, error.__cause__  # a check is missing: no error of PyTorch's is like that
        except Exception as error:
            return None, error


def assert_same_outcome(
    ours: Callable[[], Any],
    theirs: Callable[[Any], Any],
    message: bool = True,
    about: Any = None,
    family: str = "calls",
    **options: Any,
) -> None:
    """Both calls return the same (`assert_same`), or both raise the same type of error, with the
    same first line if `message`.

    `theirs` takes real PyTorch: it is a question (tests/answers).
    """
    b, error_b = outcome(lambda: answer(theirs, about, family))
    a, error_a = outcome(ours)
    if error_b is None:
        if error_a is not None:
            raise AssertionError(f"we raised {error_a!r}, torch returned {b!r}") from error_a
        assert_same(a, b, **options)
        return
    assert error_a is not None, f"torch raised {error_b!r}, we returned {a!r}"
    assert is_of_type(error_a, error_b), f"{error_a!r} against {error_b!r}"
    if message:
        assert first_line(error_a) == first_line(error_b)


def is_of_type(ours: Exception, theirs: Exception) -> bool:
    """Whether our error would be caught where PyTorch's is."""
    wanted = (
        internals.linalg.LinAlgError if type(theirs).__name__ == "_LinAlgError" else type(theirs)
    )
    return isinstance(ours, wanted)


def first_line(error: Exception) -> str:
    """The part of an error message that is the same in both: one line, with one spelling of the
    package's name.
    """
    line = (str(error).strip().splitlines() or [""])[0].replace("torch.", "internals.")
    return line.partition("(Could this error message be improved?")[0].rstrip()

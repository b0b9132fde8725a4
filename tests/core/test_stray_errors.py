"""An error that no check foresaw reaches the caller as one of ours, with the operator's name; all
others are left alone.
"""

from __future__ import annotations

import ctypes
import struct
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import internals as T
from internals.core import stray_errors
from internals.core.stray_errors import StrayError
from internals.library import Library

STUMBLES: dict[str, Callable[[Any], Any]] = {
    "sizes": lambda x: np.ones(3) + np.ones(2),
    "axis": lambda x: np.ones(3).sum(axis=4),
    "linalg": lambda x: np.linalg.inv(np.zeros((2, 2))),
    "reshape": lambda x: np.ones(3).reshape(2, 2),
    "struct": lambda x: struct.pack("i", "x"),
    "ctypes": lambda x: ctypes.c_int("x"),
    "division": lambda x: 1 // 0,
    "overflow": lambda x: np.zeros(1, np.int64) + 2**70,
    "none": lambda x: x.grad.shape,
    "key": lambda x: {}[1],
}


def defined_here(kernel: Callable[[Any], Any]) -> Any:
    """A call of an operator with this kernel."""

    def call() -> Any:
        with Library("t_stray", "DEF") as lib:
            lib.define("f(Tensor x, int n=2) -> Tensor")
            lib.impl("f", lambda x, n: kernel(x), "CPU")
            return T.ops.t_stray.f(T.ones(2, 3), n=4)

    return call


@pytest.fixture
def as_if_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """This file counts as one of the package."""
    monkeypatch.setattr(stray_errors, "_OURS", (*stray_errors._OURS, __file__))


@pytest.mark.parametrize("name", STUMBLES)
def test_what_a_kernel_stumbles_over_names_the_operator(name: str, as_if_ours: None) -> None:
    with pytest.raises(
        StrayError, match=r"t_stray::f\(\) cannot be computed .*: Tensor of float32 \[2, 3\], n=4\."
    ) as error:
        defined_here(STUMBLES[name])()
    assert type(error.value.__cause__) is not StrayError and isinstance(error.value, RuntimeError)


@pytest.mark.parametrize("name", STUMBLES)
def test_what_a_callers_own_kernel_raises_is_the_callers(name: str) -> None:
    with pytest.raises(Exception) as error:
        defined_here(STUMBLES[name])()
    assert not isinstance(error.value, StrayError)


def refuse(x: Any) -> Any:
    raise ValueError("too small")


def warn(x: Any) -> Any:
    warnings.warn("careful", UserWarning, stacklevel=2)


@pytest.mark.parametrize(("kernel", "kind"), [(refuse, ValueError), (warn, UserWarning)])
def test_what_is_meant_stays(kernel: Any, kind: type[Exception], as_if_ours: None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(kind) as error:
            defined_here(kernel)()
    assert type(error.value) is kind


def test_a_method_and_a_function_come_back_to_python_alike(
    monkeypatch: pytest.MonkeyPatch, as_if_ours: None
) -> None:
    with Library("aten", "IMPL") as lib, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lib.impl("tril", lambda x, diagonal: np.ones(2) + np.ones(3), "CPU")
        for call in (lambda: T.tril(T.ones(2, 2), 1), lambda: T.ones(2, 2).tril(1)):
            with pytest.raises(StrayError, match=r"^tril\(\) cannot be computed"):
                call()


class Stumbles(T.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return np.ones(2) + np.ones(3)


def test_backward_comes_back_to_python_too(as_if_ours: None) -> None:
    with pytest.raises(
        StrayError, match=r"^StumblesBackward\(\) cannot be computed .*: Tensor of float32 \[4\]\."
    ):
        Stumbles.apply(T.ones(4, requires_grad=True)).sum().backward()


def test_an_error_in_a_callers_own_backward_is_the_callers() -> None:
    with pytest.raises(ValueError, match="broadcast"):
        Stumbles.apply(T.ones(4, requires_grad=True)).sum().backward()

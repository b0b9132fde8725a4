"""`nn.Parameter` and `nn.Buffer`: tensors with a mark. The same code runs in PyTorch."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import internals
from internals import nn
from tests.nn.support import error_of, text


def test_parameter_is_a_tensor_on_the_same_memory(T: Any) -> None:
    t = T.arange(3.0)
    p = T.nn.Parameter(t)
    assert (
        isinstance(p, T.Tensor)
        and isinstance(p, T.nn.Parameter)
        and not isinstance(t, T.nn.Parameter)
    )
    assert p.requires_grad and p.is_leaf and not t.requires_grad and p.data_ptr() == t.data_ptr()
    with T.no_grad():
        p.add_(1)
    assert t.tolist() == [1, 2, 3] and t._version == p._version == 1 and p._base is None
    assert type(p.data) is T.Tensor and type(p.detach()) is T.Tensor
    assert (
        T.nn.Parameter().shape == (0,) and not T.nn.Parameter(t, requires_grad=False).requires_grad
    )
    assert T.nn.Parameter(p).data_ptr() == p.data_ptr()
    with T.no_grad():
        assert T.nn.Parameter(t).requires_grad


def test_parameter_repr_and_copies(T: Any) -> None:
    p = T.nn.Parameter(T.tensor([[1.0, 2.5]], dtype=T.float64))
    assert text(p) == (
        "Parameter containing:\ntensor([[1.0000, 2.5000]], dtype=internals.float64, "
        "requires_grad=True)"
    )
    p.grad, p.note = T.ones(1, 2, dtype=T.float64), "x"
    for q in (copy.deepcopy(p), pickle.loads(pickle.dumps(p))):
        assert (
            type(q) is T.nn.Parameter
            and q.requires_grad
            and q.grad is None
            and q.tolist() == p.tolist()
        )
        assert q.data_ptr() != p.data_ptr()
    assert pickle.loads(pickle.dumps(p)).note == "x"
    memo: dict[int, Any] = {}
    assert copy.deepcopy(p, memo) is copy.deepcopy(p, memo)


def test_parameter_errors(T: Any) -> None:
    assert (
        error_of(lambda: T.nn.Parameter([1.0]))
        == "AttributeError: 'list' object has no attribute 'detach'"
    )
    assert error_of(lambda: T.nn.Parameter(T.tensor([1]))) == (
        "RuntimeError: Only Tensors of floating point and complex dtype can require gradients"
    )
    assert T.nn.Parameter(T.tensor([1]), requires_grad=False).dtype is T.int64


def test_buffer_is_a_marked_tensor(T: Any) -> None:
    t = T.ones(2)
    b = T.nn.Buffer(t, persistent=False)
    assert type(b) is T.Tensor and isinstance(b, T.nn.Buffer) and not isinstance(t, T.nn.Buffer)
    assert not b.persistent and b.data_ptr() == t.data_ptr() and repr(b) == "tensor([1., 1.])"
    m = T.nn.Module()
    m.b, m.c = b, T.nn.Buffer(t)
    assert list(m._buffers) == ["b", "c"] and list(m.state_dict()) == ["c"]


def test_parameters_of_a_result_are_refused() -> None:
    """The message; what makes a result is autograd's business."""
    p = nn.Parameter(internals.zeros(1))
    p.__class__ = type(
        "Odd", (nn.Parameter,), {"__slots__": (), "grad_fn": property(lambda self: "something")}
    )
    assert error_of(lambda: nn.Module().register_parameter("p", p)).startswith(
        "ValueError: Cannot assign non-leaf Tensor to parameter 'p'."
    )

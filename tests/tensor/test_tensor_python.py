"""`Tensor` as a Python object: protocols, copying, pickling, legacy constructors.

The error messages are in `golden/python_side.txt` and `golden/legacy.txt`.
"""

from __future__ import annotations

import copy
import math
import pickle
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import internals as torch
from tests.answers import answer
from tests.support import DTYPES, assert_same, examples, to_numpy


@given(st.integers(-(2**31), 2**31) | st.booleans() | st.floats(allow_nan=False, width=32))
@examples(50)
def test_a_single_element_is_a_number(x: Any) -> None:
    t = torch.tensor(x)
    assert (
        t.item() == x
        and type(t.item()) is type(x)
        and complex(t) == x
        and bool(t) is bool(x)
        and float(t) == x
    )
    if math.isfinite(x):
        assert int(t) == int(x)
    if not isinstance(x, float):
        assert range(1000)[t % 1000] == x % 1000
    assert f"{t}" == f"{x}" and (t in torch.tensor([x, 1])) and x in torch.tensor([1, x])


def test_a_tensor_is_a_sequence_of_tensors() -> None:
    t = torch.arange(6).view(3, 2).clone()
    assert len(t) == 3 and [r.tolist() for r in t] == t.tolist()
    assert [r.tolist() for r in reversed(t)] == t.tolist()[::-1]
    a, b, c = t
    assert b.untyped_storage() is t.untyped_storage() and (a._base is t) and c.tolist() == [4, 5]


def test_a_tensor_is_its_own_key() -> None:
    t, u = torch.ones(2), torch.ones(2)
    assert {t: 1, u: 2}[t] == 1 and hash(t) != hash(u)


# Copying and pickling


@pytest.mark.parametrize("kind", DTYPES, ids=lambda d: d.name)
@pytest.mark.parametrize("protocol", [2, pickle.HIGHEST_PROTOCOL])
def test_pickling_keeps_everything(kind: Any, protocol: int) -> None:
    t = (torch.arange(24).view(2, 3, 4) % 2).to(kind).permute(2, 0, 1)[1:]
    back = pickle.loads(pickle.dumps(t, protocol))
    assert_same(back, to_numpy(t))
    assert (back.stride(), back.storage_offset()) == (t.stride(), t.storage_offset())
    assert (
        back.untyped_storage() is not t.untyped_storage()
        and back.untyped_storage().nbytes() == t.untyped_storage().nbytes()
    )


def test_pickling_keeps_requires_grad_and_empty_and_borrowed_tensors() -> None:
    assert pickle.loads(pickle.dumps(torch.ones(2, requires_grad=True))).requires_grad
    assert pickle.loads(pickle.dumps(torch.empty(0, 3))).shape == (0, 3)
    borrowed = pickle.loads(pickle.dumps(torch.from_numpy(np.arange(3))))
    assert borrowed.tolist() == [0, 1, 2] and borrowed.untyped_storage().resizable()


@pytest.mark.parametrize(
    "how", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy], ids=["pickle", "deepcopy"]
)
def test_storages_shared_before_are_shared_after(how: Any) -> None:
    base = torch.arange(6)
    first = {"all": base, "row": base[2:], "same": base, "other": torch.arange(6)}
    second = how(first)
    assert (
        second["all"] is second["same"]
        and second["all"].untyped_storage() is second["row"].untyped_storage()
    )
    assert second["other"].untyped_storage() is not second["all"].untyped_storage()
    second["all"][3] = 99
    assert second["row"].tolist() == [2, 99, 4, 5] and base.tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    "how", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy], ids=["pickle", "deepcopy"]
)
def test_attributes_go_with_the_tensor(how: Any) -> None:
    t = torch.ones(2)
    t.note = ["mine", t]
    u = how(t)
    assert u.note == ["mine", u] and u.note is not t.note


def test_a_shallow_copy_shares_memory() -> None:
    t = torch.ones(2)
    u = copy.copy(t)
    assert u is not t and u.untyped_storage() is t.untyped_storage()


def test_dtypes_sizes_and_devices_survive_pickling() -> None:
    for x in (*DTYPES, torch.Size([2, 3]), torch.device("cpu"), torch.channels_last, torch.strided):
        assert pickle.loads(pickle.dumps(x)) == x and copy.deepcopy(x) == x
    assert pickle.loads(pickle.dumps(torch.float32)) is torch.float32


# Legacy constructors


def test_sizes_are_sizes_and_sequences_are_data() -> None:
    assert torch.Tensor(5, 5, 5).shape == (5, 5, 5) and torch.Tensor(torch.Size([2, 3])).shape == (
        2,
        3,
    )
    assert torch.Tensor([5, 5, 5]).tolist() == torch.Tensor((5, 5, 5)).tolist() == [5.0, 5.0, 5.0]
    assert torch.Tensor().shape == (0,)
    t = torch.ones(2)
    assert torch.Tensor(t).untyped_storage() is t.untyped_storage()
    assert torch.Tensor(t.untyped_storage()).tolist() == [1, 1]
    a = np.ones(2, np.float32)
    assert (
        torch.Tensor(a).data_ptr() == a.ctypes.data
        and torch.Tensor(np.ones(2)).dtype is torch.float32
    )


@pytest.mark.parametrize("kind", [d for d in DTYPES if not d.is_complex], ids=lambda d: d.name)
def test_typed_constructors(kind: Any) -> None:
    name = torch.zeros(0, dtype=kind).type().removeprefix("internals.")
    cls = getattr(torch, name)
    assert cls(2, 3).dtype is kind and cls(2, 3).shape == (2, 3)
    assert cls([[1, 0]]).tolist() == [[1, 0]]
    assert isinstance(cls(1), cls) and isinstance(cls(1), torch.Tensor)
    assert not isinstance(torch.zeros(1, dtype=torch.complex64), cls)
    assert torch.ones(1).type(cls).dtype is kind and cls.__name__ == name


def test_new_takes_dtype_and_device_of_the_tensor() -> None:
    t = torch.ones(1, dtype=torch.int16)
    assert t.new([1, 2]).dtype is t.new_tensor([1.5]).dtype is t.new(3).dtype is torch.int16
    with pytest.warns(UserWarning, match=r"rather than tensor.new_tensor\(sourceTensor\)"):
        t.new_tensor(t)


# Small questions


def test_questions_about_a_tensor() -> None:
    t = torch.ones(2, 3)
    assert (
        t.is_cpu
        and not (t.is_cuda or t.is_meta or t.is_sparse or t.is_quantized)
        and t.layout is torch.strided
    )
    assert (
        t.is_leaf
        and t.grad is None
        and t.grad_fn is None
        and t.output_nr == 0
        and not t.retains_grad
    )
    t.grad = torch.zeros(2, 3)
    assert t.grad.tolist() == [[0] * 3] * 2
    with pytest.raises(
        TypeError, match="assigned grad expected to be a Tensor or None but got grad of type int"
    ):
        t.grad = 3
    with torch.inference_mode():
        made = torch.ones(1)
    assert torch.is_inference(made) and not torch.is_inference(t)
    assert t.is_same_size(torch.zeros(2, 3)) and torch.is_same_size(t, t) and t.get_device() == -1


def test_complex_parts_are_views() -> None:
    t = torch.tensor([[1 + 2j, 3 - 4j]])
    assert t.real.tolist() == [[1, 3]] and t.imag.tolist() == [[2, -4]]
    assert t.real.untyped_storage() is t.imag.untyped_storage() is t.untyped_storage()
    t.imag.zero_()
    t.real = torch.tensor([[5.0, 6.0]])
    assert t.tolist() == [[5, 6]] and t._version == 2
    assert (
        torch.view_as_real(t).shape == (1, 2, 2)
        and torch.view_as_complex(torch.view_as_real(t)).tolist() == t.tolist()
    )
    assert torch.tensor([[1j, 2]]).H.tolist() == [[-1j], [2]] and torch.tensor(
        [1 + 1j]
    ).conj().tolist() == [1 - 1j]
    assert torch.ones(2, 3).H.shape == (3, 2) and torch.ones(4, 2, 3).mH.shape == (4, 3, 2)


def test_promotion_functions_like_pytorch() -> None:
    def promoted(T: Any) -> list[Any]:
        found = []
        for a, b in product((getattr(T, d.name) for d in DTYPES), repeat=2):
            x, y = T.ones(1, dtype=a), T.tensor(1, dtype=b)
            types = [T.promote_types(a, b), T.result_type(x, y), T.result_type(x, 2.5)]
            found.append((a, b, *types, T.can_cast(a, b)))
        return found

    theirs = answer(promoted)
    for row, expected in zip(promoted(torch), theirs, strict=True):  # we have no complex32
        assert [str(v).replace("internals.", "torch.") for v in row] == [
            str(v).replace("complex32", "complex64") for v in expected
        ]

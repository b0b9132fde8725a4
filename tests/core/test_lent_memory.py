"""Memory that others were given stays theirs, whatever the tensor does: every way to lend it, every
way to let it go.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import internals as torch
from internals import nn
from internals.construction.tensor_numpy import ArrayInterface
from internals.core.cpu_allocator import caching_allocator
from internals.core.tensor_impl import TensorImpl
from internals.storage import TypedStorage
from internals.utils import dlpack
from tests.answers import answer
from tests.support import assert_same_outcome

N = 16
CONTENT = [float(i) for i in range(N)]


class Keeping(io.RawIOBase):
    """A file that keeps what it is given to write."""

    def __init__(self) -> None:
        self.parts: list[memoryview] = []
        self.size = 0

    def write(self, part: Any) -> int:
        self.parts.append(memoryview(part)[:])
        self.size += len(part)
        return len(part)

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.size


def as_array(storage: Any) -> Any:
    return torch.empty(0).set_(storage).numpy()


def saved(t: Any) -> Any:
    file = Keeping()
    torch.save(t, file)
    (part,) = [p for p in file.parts if bytes(p) == np.float32(CONTENT).tobytes()]
    return np.frombuffer(part, np.float32)


LENDERS: dict[str, Callable[[Any], Any]] = {
    "numpy": lambda t: t.numpy(),
    "numpy(force)": lambda t: t.numpy(force=True),
    "numpy of a view": lambda t: t.view(4, 4).numpy().reshape(-1),
    "np.asarray": np.asarray,
    "__array__": lambda t: t.__array__(copy=False),
    "base": lambda t: t.numpy().base,
    "memoryview": lambda t: memoryview(t.numpy()),
    "from_numpy": lambda t: torch.from_numpy(t.numpy()),
    "as_tensor": lambda t: torch.as_tensor(t.numpy()),
    "asarray": lambda t: torch.asarray(t.numpy()),
    "frombuffer": lambda t: torch.frombuffer(t.numpy(), dtype=torch.float32),
    "np.from_dlpack": np.from_dlpack,
    "from_dlpack": lambda t: torch.from_dlpack(t),
    "capsule": lambda t: dlpack.to_dlpack(t),
    "versioned capsule": lambda t: t.__dlpack__(max_version=(1, 0)),
    "slice of the storage": lambda t: t.untyped_storage()[:],
    "slice of a slice": lambda t: t.untyped_storage()[:][:],
    "a file's memoryview": saved,
}


def other() -> Any:
    return torch.full((N,), 5.0)


def module_of(t: Any) -> Any:
    module = nn.Module()
    module.register_buffer("t", t)
    return module


CHANGES: dict[str, Callable[[Any], Any]] = {
    "data =": lambda t: setattr(t, "data", other()),
    "set_()": lambda t: t.set_(),
    "set_(tensor)": lambda t: t.set_(other()),
    "set_(storage)": lambda t: t.set_(other().untyped_storage()),
    "set_(storage, ...)": lambda t: t.set_(other().untyped_storage(), 2, (3,), (1,)),
    "set_(its storage, ...)": lambda t: t.set_(t.untyped_storage(), 0, (1000,), (1,)),
    "resize_": lambda t: t.resize_(1000),
    "resize_ and less": lambda t: t.resize_(2).resize_(1000),
    "resize_as_": lambda t: t.resize_as_(torch.empty(1000)),
    "out=": lambda t: torch.zeros(1000, out=t),
    "storage.resize_": lambda t: t.untyped_storage().resize_(4000),
    "storage.resize_(0)": lambda t: t.untyped_storage().resize_(0),
    "typed storage.resize_": lambda t: t.storage().resize_(1000),
    "load_state_dict(assign=True)": lambda t: module_of(t).load_state_dict(
        {"t": other()}, assign=True,
    ),
    "module.double()": lambda t: module_of(t).double(),
    "parameter.double()": lambda t: nn.ParameterList([nn.Parameter(t)]).double(),
    "geometry": lambda t: t.unsqueeze_(0).transpose_(0, 1).as_strided_((2,), (1,), 1),
    "nothing": lambda t: None,
}  # fmt: skip


def opened(lent: Any) -> Any:
    """What was lent, as an array."""
    if type(lent).__name__ == "PyCapsule":
        lent = torch.from_dlpack(lent)
    if isinstance(lent, TensorImpl):
        return lent.numpy()  # type: ignore[attr-defined]
    if hasattr(lent, "resizable"):
        return as_array(lent)
    return np.asarray(lent)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("lender", LENDERS)
def test_memory_stays_with_whom_it_was_lent_to(lender: str, change: str) -> None:
    for is_dropped in (False, True):
        for is_opened_at_once in (False, True):
            lend_and_change(lender, change, is_dropped, is_opened_at_once)


def lend_and_change(lender: str, change: str, is_dropped: bool, is_opened_at_once: bool) -> None:
    t = torch.tensor(CONTENT)
    lent = LENDERS[lender](t)
    array = opened(lent) if is_opened_at_once else None
    try:
        CHANGES[change](t)
    except RuntimeError as error:  # a tensor whose memory was lent may not be resized
        assert str(error) == "Trying to resize storage that is not resizable"
    if is_dropped:
        del t
    if is_opened_at_once:
        del lent
    # whoever's memory was given back, it is one of these's now
    neighbours = [torch.full((N,), 7.0) for _ in range(50)]
    array = opened(lent) if array is None else array
    assert array.tolist() == CONTENT
    if array.flags.writeable:
        array[...] = -1.0
    assert all(n.tolist() == [7.0] * N for n in neighbours)
    if not is_dropped and change in ("data =", "set_(tensor)", "set_(storage)"):
        assert t.tolist() == [5.0] * N


@pytest.mark.parametrize("lender", LENDERS)
def test_what_is_lent_can_be_resized_only_where_the_borrower_keeps_the_old_memory(
    lender: str,
) -> None:
    t = torch.tensor(CONTENT)
    keeps = lender in ("slice of the storage", "slice of a slice", "a file's memoryview")
    lent = LENDERS[lender](t)
    assert t.untyped_storage().resizable() == keeps
    if keeps:
        t.resize_(1000)
        assert t[:N].tolist() == CONTENT
    del lent


def test_memory_that_was_lent_goes_back_when_the_last_borrower_goes() -> None:
    before = caching_allocator.stats.bytes
    t = torch.tensor(CONTENT)
    part = t.untyped_storage()[8:16]
    again = t.untyped_storage()[:4]
    t.untyped_storage()[0] = 1
    t.untyped_storage().resize_(1000)
    assert caching_allocator.stats.bytes == before + 64 + 1024
    del t
    assert caching_allocator.stats.bytes == before + 64
    del part, again
    assert caching_allocator.stats.bytes == before


def test_a_tensor_beyond_its_storage_is_not_lent() -> None:
    t = torch.tensor(CONTENT)
    t.untyped_storage().resize_(8)
    for lend in (t.numpy, lambda: np.asarray(t), t.__dlpack__):
        with pytest.raises(RuntimeError, match="out of bounds for storage of size 8"):
            lend()
    assert t[:2].numpy().tolist() == [0.0, 1.0]


def test_the_owner_of_an_array_cannot_be_moved() -> None:
    t = torch.tensor(CONTENT)
    base = t.numpy().base
    assert isinstance(base, ArrayInterface) and base._storage is t.untyped_storage()
    t.unsqueeze_(0)
    assert base.__array_interface__["shape"] == (N,)


@pytest.mark.parametrize("method", ["apply_", "map_", "map2_"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_function_may_take_the_memory_away_that_its_loop_goes_over(
    method: str, change: str
) -> None:
    t, beside = torch.tensor(CONTENT), torch.tensor(CONTENT)
    neighbours: list[Any] = []

    def once(x: float, *others: float) -> float:
        assert not others or set(others) == {x}
        if not neighbours:
            for victim in (t, beside):
                CHANGES[change](victim)
            neighbours.extend(torch.full((N,), 7.0) for _ in range(50))
        return -1.0

    getattr(t, method)(*[beside] * {"apply_": 0, "map_": 1, "map2_": 2}[method], once)
    assert all(n.tolist() == [7.0] * N for n in neighbours)


# What an array says of itself


class Liar(np.ndarray):
    """It has three elements, and says that it has a million, elsewhere."""

    shape = (1_000_000,)  # type: ignore[assignment]
    strides = (8,)  # type: ignore[assignment]
    dtype = np.dtype("complex128")  # type: ignore[assignment]
    size = 1_000_000  # type: ignore[assignment]
    __array_interface__ = {
        "version": 3,
        "shape": (1_000_000,),
        "typestr": "<f8",
        "data": (1 << 20, False),
    }  # type: ignore[assignment]

    def view(self, *_: Any) -> Any:
        return np.zeros(1_000_000)


@pytest.mark.parametrize(
    "take",
    [
        lambda m, a: m.from_numpy(a), lambda m, a: m.as_tensor(a), lambda m, a: m.asarray(a),
        lambda m, a: m.tensor(a),
    ],
    ids=["from_numpy", "as_tensor", "asarray", "tensor"],
)  # fmt: skip
def test_an_array_is_not_believed(take: Any) -> None:
    a = np.arange(3.0).view(Liar)
    t = take(torch, a)
    assert (
        t.tolist() == [0.0, 1.0, 2.0]
        and t.dtype is torch.float64
        and t.untyped_storage().nbytes() == 24
    )
    assert answer(lambda real: take(real, a)).tolist() == [0.0, 1.0, 2.0]


def test_what_only_calls_itself_an_array_is_refused() -> None:
    class Claims:
        __class__ = np.ndarray  # type: ignore[assignment]

    with pytest.raises(TypeError, match=r"expected np.ndarray \(got Claims\)"):
        torch.from_numpy(Claims())
    assert_same_outcome(lambda: torch.from_numpy(Claims()), lambda real: real.from_numpy(Claims()))


def test_a_slice_of_a_typed_storages_memory() -> None:
    t = torch.tensor(CONTENT)
    part = TypedStorage(t.storage().untyped()[4:12], torch.float32)
    t.storage().resize_(1000)
    assert part.tolist() == [1.0, 2.0]
    part[0] = 9.0
    assert t[1].item() == 1.0


def test_a_script_does_not_write_its_sums_over_memory_that_a_slice_looks_at() -> None:
    slices: list[Any] = []

    class Adds(nn.Module):
        @torch.jit.ignore
        def seen(self, t: torch.Tensor) -> torch.Tensor:
            slices.append(t.untyped_storage()[:])
            return t

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = self.seen(x + x)
            y = y + x
            return y

    script, x = torch.jit.script(Adds()), torch.ones(N)
    for _ in range(3):
        assert script(x).tolist() == [3.0] * N
    assert [as_array(part).tolist() for part in slices] == [[2.0] * N] * 3

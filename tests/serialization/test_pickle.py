"""The pickle itself: what is written, that Python's tools take it; any nested object there and
back, through PyTorch, too.
"""

from __future__ import annotations

import io
import pickletools
from collections import Counter, OrderedDict
from typing import Any

import pytest
from hypothesis import given, strategies as st

import internals
from internals.serialization.pickles.pickler import Pickler
from internals.serialization.pickles.storages import StorageTable
from tests.answers import answer, oracle
from tests.archives.saved_objects import OBJECTS
from tests.serialization.pickle_support import assert_alike, described, pickle_of, saved
from tests.support import DTYPES, examples

MODELS = ("resnet18", "mobilenet_v2", "vit_b_16")


def pickled(obj: Any) -> bytes:
    return Pickler(StorageTable()).dump(obj)


@pytest.mark.parametrize(
    "obj, body",
    [
        (None, b"N"),
        (True, b"\x88"),
        (5, b"K\5"),
        (256, b"M\0\1"),
        (-1, b"J\xff\xff\xff\xff"),
        (1 << 31, b"\x8a\5\0\0\0\x80\0"),
        (-(1 << 31), b"J\0\0\0\x80"),
        (1.5, b"G\x3f\xf8\0\0\0\0\0\0"),
        ("a", b"X\1\0\0\0aq\0"),
        ((), b")"),
        ((1,), b"K\1\x85q\0"),
        ([1], b"]q\0K\1a"),
        ([1, 2], b"]q\0(K\1K\2e"),
        ({1: 2}, b"}q\0K\1K\2s"),
        (["x", "x"], b"]q\0(X\1\0\0\0xq\1h\1e"),
        (internals.float32, b"ctorch\nfloat32\nq\0"),
    ],
)
def test_the_bytes(obj: Any, body: bytes) -> None:
    assert pickled(obj) == b"\x80\2" + body + b"."


@pytest.mark.parametrize("kind", OBJECTS)
def test_pickletools_takes_it(kind: str) -> None:
    listing = io.StringIO()
    pickletools.dis(pickled(OBJECTS[kind](internals)), listing)
    assert listing.getvalue().endswith("highest protocol among opcodes = 2\n")


def test_long_containers_are_written_in_batches() -> None:
    for n in (999, 1000, 1001, 2500):
        obj = [
            list(range(n)),
            dict.fromkeys(range(n)),
            OrderedDict.fromkeys(range(n)),
            tuple(range(n)),
        ]
        assert_alike(internals.load(saved(obj)), obj)


# Any object

scalars = (
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats()
    | st.complex_numbers(allow_nan=False)
    | st.text(st.characters(), max_size=5) | st.binary(min_size=1, max_size=5)
    | st.sampled_from([internals.float16, internals.bool, internals.Size([1, 2]), internals.Size(),
                       internals.strided])
)  # fmt: skip
keys = (
    st.text(max_size=3)
    | st.integers()
    | st.booleans()
    | st.tuples(st.integers(), st.text(max_size=2))
)


@st.composite
def tensors(draw: Any) -> Any:
    """A view, with gaps and permuted, of a storage that others may look at too."""
    kind = draw(st.sampled_from(DTYPES))
    n = draw(st.integers(0, 12))
    base = (internals.arange(n) % 2).to(kind)
    base = base.reshape(draw(st.sampled_from([(n,), (1, n), (n, 1, 1)]))) if n else base
    views = [
        base,
        base.t() if base.dim() <= 2 else base.permute(2, 0, 1),
        base[:1],
        base[..., 1:],
        base.flatten()[::2],
    ]
    if n:
        views.append(base.flatten()[0].expand(3, 2))
    chosen = draw(st.lists(st.sampled_from(views), min_size=1, max_size=3))
    if kind.is_floating_point and draw(st.booleans()):
        chosen.append(
            internals.nn.Parameter(base.detach().clone(), requires_grad=draw(st.booleans()))
        )
        chosen.append(base.detach().clone().requires_grad_())
    return chosen


objects = st.recursive(
    scalars | tensors() | st.sets(st.integers() | st.text(max_size=2), max_size=3),
    lambda inner: (
        st.lists(inner, max_size=4) | st.lists(inner, max_size=5).map(tuple)
        | st.dictionaries(keys, inner, max_size=4)
        | st.dictionaries(keys, inner, max_size=3).map(OrderedDict) | inner.map(lambda x: [x, x])
        | st.dictionaries(keys, st.integers(), max_size=3).map(Counter)
    ),
    max_leaves=12,
)  # fmt: skip


@given(objects)
@examples(150, 3000)
def test_any_object_there_and_back(obj: Any) -> None:
    file = saved(obj)
    assert_alike(internals.load(file), obj)
    pickletools.dis(pickle_of(file.getvalue()), io.StringIO())


@given(objects)
@examples(100, 2000)
def test_any_object_through_real_pytorch(obj: Any) -> None:
    """PyTorch reads what we write, writes the same object as the same bytes, and we read that."""
    torch = oracle()
    ours = saved(obj)
    there = torch.load(ours)
    assert_alike(there, obj)
    theirs = io.BytesIO()
    torch.save(ToTorch(torch).convert(obj), theirs)
    theirs.seek(0)
    assert_alike(internals.load(theirs), obj)
    assert pickle_of(theirs.getvalue()) == pickle_of(ours.getvalue())


def test_no_bytes() -> None:
    """PyTorch writes `bytes()`, which it then refuses to read."""
    ours = saved([b""])
    assert internals.load(ours) == [b""]
    ours.seek(0)
    assert answer(lambda torch: torch.load(ours), about=ours.getvalue(), family="archives") == [b""]

    def written(torch: Any) -> bytes:
        theirs = io.BytesIO()
        torch.save([b""], theirs)
        return theirs.getvalue()

    assert internals.load(io.BytesIO(answer(written, family="archives"))) == [b""]


class ToTorch:
    """One of our objects as PyTorch's, sharing what is shared."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.memo: dict[int, Any] = {}

    def convert(self, x: Any) -> Any:
        if id(x) not in self.memo:
            self.memo[id(x)] = self.fresh(x)
        return self.memo[id(x)]

    def fresh(self, x: Any) -> Any:
        torch = self.torch
        if isinstance(x, internals.Tensor):
            t = torch.empty(0, dtype=self.convert(x.dtype))
            t.set_(
                self.convert(x.untyped_storage()), x.storage_offset(), tuple(x.shape), x.stride()
            )
            return (
                torch.nn.Parameter(t, x.requires_grad)
                if type(x) is internals.nn.Parameter
                else t.requires_grad_(x.requires_grad)
            )
        if isinstance(x, internals.UntypedStorage):
            return (
                torch.frombuffer(bytearray(bytes(x)), dtype=torch.uint8).untyped_storage()
                if len(x)
                else torch.UntypedStorage(0)
            )
        if isinstance(x, internals.Size):
            return torch.Size(x)
        if type(x) in (internals.dtype, internals.layout):
            return getattr(torch, described(x)[1].removeprefix("internals."))
        if type(x) in (dict, OrderedDict):
            return type(x)((key, self.convert(value)) for key, value in x.items())
        return type(x)(map(self.convert, x)) if type(x) in (list, tuple) else x


# State dicts


@pytest.mark.sampled(1 / 4)
@pytest.mark.parametrize("name", MODELS[:2])
def test_state_dicts_of_models_with_real_pytorch(name: str) -> None:
    torch = oracle()
    model = getattr(internals.models, name)()
    ours = saved(model.state_dict())
    there = torch.load(ours)
    assert_alike(there, model.state_dict())
    theirs = io.BytesIO()
    torch.save(there, theirs)
    theirs.seek(0)
    again = internals.load(theirs)
    assert pickle_of(theirs.getvalue()) == pickle_of(ours.getvalue())
    fresh = getattr(internals.models, name)()
    fresh.load_state_dict(again)
    assert all(internals.equal(a, b) for a, b in zip(fresh.parameters(), model.parameters()))


@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad"])
def test_optimizers_of_both_go_on_with_each_others_state(kind: str) -> None:
    options: dict[str, Any] = {"momentum": 0.9} if kind == "SGD" else {}

    def start(T: Any) -> Any:
        p = T.nn.Parameter(T.arange(4.0))
        return p, getattr(T.optim, kind)([p], lr=0.1, **options)

    def step(p: Any, optimizer: Any) -> None:
        optimizer.zero_grad()
        (p * p).sum().backward()
        optimizer.step()

    def first_half(T: Any) -> tuple[bytes, list[float]]:
        """A checkpoint after one step, and where a second one leads."""
        p, optimizer = start(T)
        step(p, optimizer)
        file = io.BytesIO()
        T.save({"p": p, "optimizer": optimizer.state_dict()}, file)
        step(p, optimizer)
        return file.getvalue(), p.tolist()

    def second_half(T: Any, file: bytes) -> list[float]:
        checkpoint = T.load(io.BytesIO(file))
        q = checkpoint["p"]
        other = getattr(T.optim, kind)([q], lr=0.5)
        other.load_state_dict(checkpoint["optimizer"])
        step(q, other)
        return q.tolist()

    file, end = first_half(internals)
    there = answer(lambda torch: second_half(torch, file), about=pickle_of(file), family="archives")
    assert there == pytest.approx(end, rel=1e-6)
    file, end = answer(first_half, family="archives")
    assert second_half(internals, file) == pytest.approx(end, rel=1e-6)


@pytest.mark.parametrize("kind", OBJECTS)
def test_real_pytorch_reads_ours(kind: str) -> None:
    ours = saved(OBJECTS[kind](internals)).getvalue()

    def read(torch: Any) -> str:
        for weights_only in (True, False):
            assert_alike(
                torch.load(io.BytesIO(ours), weights_only=weights_only), OBJECTS[kind](internals)
            )
        return "alike"

    assert answer(read, about=ours, family="archives") == "alike"


def test_a_real_map_location_and_mmap(tmp_path: Any) -> None:
    path = tmp_path / "t.pt"
    internals.save({"t": internals.arange(1000)}, path)

    def read(torch: Any) -> tuple[int, bool]:
        return torch.load(path, mmap=True)["t"].sum().item(), torch.load(path, map_location="meta")[
            "t"
        ].is_meta

    assert answer(read, about=path.read_bytes(), family="archives") == (499500, True)

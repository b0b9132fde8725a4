"""What is said about copies is what happened: the witnesses see a copy where one is made, and none
where none is.
"""

from __future__ import annotations

import ctypes
import platform
from typing import Any

import numpy as np
import pytest

pytest.importorskip("grpc_tools", reason="the extra `serving` is not installed")

import internals as torch
from apparatus.payloads import copies
from apparatus.payloads.copies import Followed, follow
from apparatus.payloads.lengths import base64, base64_mime
from apparatus.payloads.paths import PATHS, Step, message, raw_bytes, tensor_from

IMAGE = np.random.default_rng(0).random((3, 128, 128), dtype=np.float32)


def watched(name: str) -> Followed:
    return follow(PATHS[name], IMAGE)


@pytest.mark.parametrize("name", PATHS)
def test_every_path_arrives(name: str) -> None:
    followed = watched(name)
    assert isinstance(followed.tensor, torch.Tensor)
    np.testing.assert_array_equal(followed.tensor.numpy().reshape(IMAGE.shape), IMAGE)


@pytest.mark.parametrize(
    "name, client, server",
    [
        ("JSON list", 3, 2), ("JSON, base64 in lines", 5, 2), ("JSON, base64", 5, 2),
        ("protobuf", 3, 2), ("protobuf, ours", 1, 0), ("raw", 0, 0),
    ],
)  # fmt: skip
def test_how_often_the_image_is_written_anew(name: str, client: int, server: int) -> None:
    followed = watched(name)
    assert (followed.copies("client"), followed.copies("server")) == (client, server)
    for step in followed.steps:
        # a copy takes the memory of at least one image, no copy takes next to none
        assert step.taken >= IMAGE.nbytes if step.copied else step.taken < IMAGE.nbytes / 8, step


def test_lengths_of_the_bodies() -> None:
    around = len('{"b64": ""}')
    assert watched("JSON, base64").length == base64(IMAGE.nbytes) + around
    lines = base64_mime(IMAGE.nbytes, 1)
    assert watched("JSON, base64 in lines").length == lines + around + lines // 77 + (
        lines % 77 > 0
    )  # \n is two letters in JSON
    assert 0 < watched("protobuf").length - IMAGE.nbytes < 40
    assert watched("raw").length == IMAGE.nbytes
    assert watched("JSON list").length > 4 * IMAGE.nbytes


def test_a_list_takes_many_times_the_memory() -> None:
    # 19 of them, 40 before Python 3.13
    assert watched("JSON list").taken("client") > 12 * IMAGE.nbytes
    assert watched("protobuf").taken("client") < 4 * IMAGE.nbytes
    assert watched("protobuf, ours").taken("server") < IMAGE.nbytes / 4


def test_the_tensor_lies_in_the_body() -> None:
    for name in ("protobuf, ours", "raw"):
        followed = watched(name)
        start, size = copies.extent_of(followed.body) or (0, 0)
        assert followed.tensor.data_ptr() == start + size - IMAGE.nbytes  # at its end
        assert followed.tensor.data_ptr() % 16 == 0


def test_a_changed_byte_is_seen_and_put_back() -> None:
    memory = bytearray(b"abc")
    shared, own = memoryview(memory), bytes(memory)
    address = (copies.extent_of(memory) or (0, 0))[0]
    assert copies.changes(address, lambda: shared[0])
    assert not copies.changes(address, lambda: own[0])
    assert memory == b"abc"


def test_protobuf_copies_on_the_way_in_and_out() -> None:
    """A second witness for what addresses cannot tell: a byte that changes in the one and not in
    the other.
    """
    content = bytes(5000)
    request = message(content)
    first = copies.extent_of(content) or (0, 0)
    assert not copies.changes(first[0], lambda: request.raw_input_contents[0][:1])
    one, two = request.raw_input_contents[0], request.raw_input_contents[0]
    assert one == two and one is not two  # every look is a copy


class Mallinfo(ctypes.Structure):
    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in names.split()]


@pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="glibc's mallinfo2 is a third witness"
)
def test_the_c_library_says_the_same() -> None:
    """glibc counts every byte that is in use, protobuf's as well."""
    library = ctypes.CDLL(None)
    if not hasattr(library, "mallinfo2"):
        pytest.skip("this glibc has no mallinfo2")
    library.mallinfo2.restype = Mallinfo

    def in_use() -> int:
        info = library.mallinfo2()
        return int(info.uordblks + info.hblkhd)

    value: Any = np.zeros(5_000_000, np.float32)
    nbytes, look, kept = value.nbytes, None, []
    for step in (*PATHS["protobuf"].client, *PATHS["protobuf"].server):
        before = in_use()
        result = step.run(value)
        taken = round((in_use() - before) / nbytes)
        assert taken == (not copies.shares(value, look, result, step.look)), step.what
        kept.append(value)  # or freeing it would be counted
        value, look = result, step.look


def test_our_allocators_memory_is_counted() -> None:
    def clone(array: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(array).clone()

    seen, _ = copies.watch("server", Step("clone", clone), IMAGE, None, IMAGE.nbytes)
    assert seen.copied and IMAGE.nbytes <= seen.taken < 2 * IMAGE.nbytes
    seen, _ = copies.watch(
        "server", Step("from_numpy", torch.from_numpy), IMAGE, None, IMAGE.nbytes
    )
    assert not seen.copied and seen.taken < IMAGE.nbytes / 8


def test_looking_at_the_allocators_is_not_counted() -> None:
    # statistics of so many blocks take memory themselves
    kept = [torch.ones(1024) for _ in range(6000)]
    before = copies.tensor_bytes()
    seen, _ = copies.watch(
        "server", Step("from_numpy", torch.from_numpy), IMAGE, None, IMAGE.nbytes
    )
    assert seen.taken < IMAGE.nbytes / 8 and copies.tensor_bytes() == before and len(kept) == 6000


def test_what_cannot_be_followed() -> None:
    with pytest.raises(
        ValueError, match="contiguous array of at least 4096 bytes, got 196608 bytes, strides"
    ):
        follow(PATHS["raw"], IMAGE.T)
    with pytest.raises(ValueError, match="at least 4096 bytes, got 16 bytes"):
        follow(PATHS["raw"], np.zeros(4, np.float32))
    with pytest.raises(TypeError, match="neither a list nor a dict has an address"):
        copies.shares([], None, {}, None)


def test_texts_and_views_have_addresses() -> None:
    text = "abc" * 100
    address, size = copies.extent_of(text) or (0, 0)
    assert ctypes.string_at(address, size) == text.encode()
    assert copies.extent_of(raw_bytes(IMAGE)) == (IMAGE.ctypes.data, IMAGE.nbytes)
    assert copies.extent_of(tensor_from(IMAGE)) == (IMAGE.ctypes.data, IMAGE.nbytes)
    assert copies.extent_of(IMAGE.transpose(1, 2, 0)) == (IMAGE.ctypes.data, IMAGE.nbytes)
    assert copies.extent_of("ä") is None and copies.extent_of([1.0]) is None

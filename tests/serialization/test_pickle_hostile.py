"""Pickles made to harm: each is refused with an `ArchiveError` that says where, without a crash, a
hang or much memory.
"""

from __future__ import annotations

import struct
import tracemalloc
from typing import Any

import pytest
from hypothesis import given, strategies as st

import internals as torch
from internals.serialization import ArchiveError
from internals.serialization.pickles.unpickler import OPCODE_NAMES, unpickle
from tests.archives.saved_objects import OBJECTS
from tests.serialization.pickle_support import (  # fmt: skip
    EMPTY_TUPLE,
    FALSE,
    FOUR,
    MARK,
    NONE,
    PERSID,
    PROTO,
    REDUCE,
    STOP,
    TUPLE,
    archive_with,
    call,
    integer,
    name,
    pickle_of,
    saved,
    sizes,
    storage,
    tensor,
    text,
    tup,
)
from tests.support import examples

ORDERED = name("collections", "OrderedDict")
PARAMETER = name("torch._utils", "_rebuild_parameter")
META = name("torch._utils", "_rebuild_meta_tensor_no_storage")
LATIN = name("_codecs", "encode")


def load(program: bytes, **records: bytes) -> Any:
    """What the pickle PROTO `program` STOP builds; `data/0` holds four float32."""
    return torch.load(archive_with(PROTO + program + STOP, **({"s0": FOUR} | records)))


HOSTILE = {
    # the machine itself
    "nothing": (b"", "STOP with 0 objects"),
    "two results": (NONE + NONE, "STOP with 2 objects on the stack"),
    "open mark": (NONE + MARK + NONE, "1 open marks"),
    "no mark": (NONE + b"t", "opcode TUPLE without a MARK before it"),
    "append without mark": (b"]" + b"e", "APPENDS without a MARK"),
    "below the mark": (
        NONE + NONE + MARK + b"\x86" + TUPLE,
        "TUPLE2 needs more than is on the stack",
    ),
    "tuple of nothing": (b"\x85", "TUPLE1 needs more than is on the stack"),
    "reduce nothing": (b"R", "REDUCE needs more"),
    "build nothing": (b"b", "BUILD needs more"),
    "setitem nothing": (b"}s", "SETITEM needs more"),
    "put nothing": (b"q\x00", "BINPUT needs more"),
    "persistent nothing": (PERSID, "BINPERSID needs more"),
    "memo never stored": (
        NONE + b"h\x05",
        "BINGET fetches number 5 of the memo, which was never stored",
    ),
    "memo far away": (b"j\xff\xff\xff\xff", "LONG_BINGET fetches number 4294967295"),
    "string beyond the end": (
        b"X\xff\xff\xff\xffabc",
        "BINUNICODE is followed by 4294967295 bytes, but only 4 are there",
    ),
    "int beyond the end": (b"\x8a\xff\x01", "LONG1 is followed by 255 bytes"),
    "no end of a name": (b"cos", "GLOBAL is followed by a name, but that has no end"),
    "broken utf-8": (
        b"X\x02\x00\x00\x00\xff\xfe",
        "BINUNICODE cannot be carried out: UnicodeDecodeError",
    ),
    "broken name": (b"c\xff\n\xfe\n", "GLOBAL cannot be carried out: UnicodeDecodeError"),
    "unknown opcode": (b"\xfe", "opcode 0xfe is no instruction that a file may contain"),
    "append to a tuple": (
        EMPTY_TUPLE + NONE + b"a",
        "APPEND puts items into a list, but found a tuple",
    ),
    "set item of a list": (b"]NNs", "SETITEM puts items into a dict, but found a list"),
    "odd items": (b"}" + MARK + NONE + b"u", "the number of objects is odd"),
    # what it may call
    "os.system": (
        call(name("os", "system"), text("false")),
        "GLOBAL os.system was not an allowed global",
    ),
    "posix.system": (name("posix", "system"), "GLOBAL posix.system was not an allowed"),
    "eval": (name("__builtin__", "eval"), "GLOBAL builtins.eval was not an allowed"),
    "getattr": (name("builtins", "getattr"), "not an allowed global"),
    "dotted": (name("torch._utils", "_rebuild_tensor_v2.__globals__"), "not an allowed global"),
    "call a str": (text("f") + EMPTY_TUPLE + REDUCE, "REDUCE calls a str, which is no constructor"),
    "call a dtype": (name("torch", "float32") + EMPTY_TUPLE + REDUCE, "REDUCE calls a dtype"),
    "new of a str": (text("f") + EMPTY_TUPLE + b"\x81", "NEWOBJ calls a str"),
    "new of an OrderedDict": (
        ORDERED + EMPTY_TUPLE + b"\x81",
        "no object of collections.OrderedDict can be made this way",
    ),
    "arguments no tuple": (
        ORDERED + b"]" + REDUCE,
        "REDUCE with arguments that are no tuple but a list",
    ),
    "too many arguments": (
        call(name("torch", "Size"), NONE, NONE, NONE),
        "REDUCE cannot be carried out: TypeError",
    ),
    "call a storage class": (
        call(name("torch", "FloatStorage"), integer(1 << 40)),
        "torch.FloatStorage cannot be called",
    ),
    "build a dict": (b"}}b", "BUILD of a dict, which has no state"),
    "replace a method": (
        ORDERED + EMPTY_TUPLE + REDUCE + b"}" + text("items") + NONE + b"sb",
        "a file may not replace the attribute 'items'"
    ),
    "state no dict": (
        ORDERED + EMPTY_TUPLE + REDUCE + b"]b",
        "the attributes of a OrderedDict are in a dict, not in a list",
    ),
    "bytes of a list": (call(LATIN, b"]", text("latin1")), "bytes are made of a str in latin1"),
    "another codec": (call(LATIN, text("a"), text("zip")), "bytes are made of a str in latin1"),
    "huge bytearray": (
        call(name("builtins", "bytearray"), integer(1 << 40)),
        "bytes are made of a str",
    ),
    "size of strings": (call(name("torch", "Size"), tup(text("a"))), "a Size is made of integers"),
    "unknown device": (
        call(name("torch", "device"), text("moon")),
        "Expected one of cpu, cuda, meta device type",
    ),
    # keys
    "list as key": (b"}]Ns", "a list cannot be a key here"),
    "dict in a set": (call(name("builtins", "set"), b"]}a"), "a dict cannot be a key here"),
    "tuple of a list as key": (b"}]\x85Ns", "a tuple cannot be a key here"),
    "deep tuple as key": (
        b"}" + EMPTY_TUPLE + b"\x85" * 50_000 + b"Ns",
        "a tuple cannot be a key here",
    ),
    "shared tuple as key": (
        b"}" + NONE + b"q\x00h\x00\x86" * 60 + b"Ns",
        "a tuple cannot be a key here",
    ),
    "keys of one hash": (
        b"}" + b"".join(integer(7 + i * ((1 << 61) - 1)) + NONE + b"s" for i in range(16, 100)),
        "keys of the same hash"
    ),
    # more objects than the pickle can have been made of
    "lists only": (MARK + b"]" * 200_000 + TUPLE, "more objects than a pickle"),
    "tuples only": (NONE + b"\x85" * 200_000, "more objects than"),
    "marks only": (MARK * 200_000, "more objects than"),
    "one string in many bytes": (
        text("x" * 50_000) + b"q\x00" + LATIN + b"q\x01" + MARK
        + b"h\x01h\x00" + text("latin1") + b"\x86R" * 1
        + b"".join(b"h\x01h\x00" + text("latin1") + b"\x86R" for _ in range(50)) + TUPLE,
        "the arguments of the constructors are longer than the pickle",
    ),
    # storages
    "id no tuple": (text("storage") + PERSID, "a persistent id must be the tuple"),
    "id too short": (tup(text("storage")) + PERSID, "a persistent id must be the tuple"),
    "id of a module": (
        tup(text("module"), NONE, NONE, NONE, NONE) + PERSID,
        "a persistent id must be the tuple",
    ),
    "id without a class": (
        tup(text("storage"), NONE, text("0"), text("cpu"), integer(4)) + PERSID,
        "no class of storages",
    ),
    "key no string": (
        tup(text("storage"), name("torch", "FloatStorage"), NONE, text("cpu"), integer(4)) + PERSID,
        "impossible key"
    ),
    "negative elements": (storage(numel=-1), "impossible key, location or number of elements"),
    "more than the record": (storage(numel=5), "20 bytes is said to be in it, but it has 16"),
    "exabytes": (storage(numel=1 << 59), "bytes is said to be in it, but it has 16"),
    "beyond all": (storage(numel=1 << 62), "impossible key, location or number"),
    "missing record": (storage(key="1"), "failed locating file data/1"),
    "another record": (storage(key="../data.pkl"), "failed locating file data/../data.pkl"),
    "two dtypes": (tup(storage(), storage(numel=2, kind="LongStorage")), "to be different"),
    "unknown dtype": (storage(kind="BFloat16Storage"), "there are no tensors of this dtype here"),
    # tensors
    "beyond the storage": (
        tensor(storage(), 0, sizes(5), sizes(1)),
        "reaches up to element 5 of a storage that has 4",
    ),
    "offset beyond": (
        tensor(storage(), 4, sizes(1), sizes(1)),
        "at offset 4 reaches up to element 5",
    ),
    "stride beyond": (tensor(storage(), 0, sizes(2, 2), sizes(4, 1)), "reaches up to element 6"),
    "negative size": (tensor(storage(), 0, sizes(-1), sizes(1)), "are not negative"),
    "negative stride": (tensor(storage(), 3, sizes(4), sizes(-1)), "are not negative"),
    "negative offset": (tensor(storage(), -1, sizes(1), sizes(1)), "cannot begin at element -1"),
    "overflow": (
        tensor(storage(), 0, sizes(1 << 32, 1 << 32), sizes(0, 0)),
        "more elements than can be counted",
    ),
    "overflow around zero": (
        tensor(storage(), 0, sizes(0, 1 << 61), sizes(1, 1)),
        "more elements than can be counted",
    ),
    "large stride": (
        tensor(storage(), 0, sizes(0), sizes(1 << 61)),
        "more elements than can be counted",
    ),
    "beyond 64 bits": (tensor(storage(), 0, sizes(1 << 70), sizes(1)), "nor beyond all memory"),
    "fewer strides": (tensor(storage(), 0, sizes(1, 1), sizes(1)), "2 sizes and 1 strides"),
    "hundred dimensions": (
        tensor(storage(), 0, sizes(*[1] * 100), sizes(*[1] * 100)),
        "at most 64 integers",
    ),
    "size no int": (
        tensor(storage(), 0, tup(text("a")), sizes(1)),
        "at most 64 integers in a tuple",
    ),
    "size a bool": (tensor(storage(), 0, tup(b"\x88"), sizes(1)), "at most 64 integers in a tuple"),
    "size a list": (tensor(storage(), 0, b"]", b"]"), "at most 64 integers in a tuple"),
    "no storage": (
        tensor(NONE, 0, sizes(1), sizes(1)),
        "a tensor is made of a storage, not of a NoneType",
    ),
    "gradient of what": (
        tensor(storage(), 0, sizes(1), sizes(1), text("yes")),
        "requires_grad is neither True nor False",
    ),
    "gradient of integers": (
        tensor(storage(kind="IntStorage"), 0, sizes(1), sizes(1), b"\x88"),
        "only Tensors of floating point dtype can require"
    ),
    "parameter of nothing": (call(PARAMETER, NONE, FALSE, NONE), "a parameter is made of a tensor"),
    "meta of no dtype": (
        call(META, NONE, sizes(1), sizes(1), FALSE), "has a dtype"
    ),
    "attributes of a function": (
        call(name("torch._tensor", "_rebuild_from_type_v2"), LATIN, name("torch", "Tensor"),
             EMPTY_TUPLE, b"}"),
        "only tensors and parameters can be made with attributes",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_pickle(kind: str) -> None:
    program, message = HOSTILE[kind]
    with pytest.raises(ArchiveError) as caught:
        load(program)
    assert message in str(caught.value)
    assert str(caught.value).startswith("archive: record 'data") and len(str(caught.value)) < 700


@pytest.mark.parametrize(
    "pickle, message",
    [
        (b"", "Expected PROTO opcode at the start of pickle archive, found the end of the data"),
        (b"N.", "Expected PROTO opcode at the start of pickle archive, found 78"),
        (b"\x80\x09N.", "Only Pickle protocol 2 is supported, found protocol = 9"),
        (b"\x80", "PROTO is followed by 1 bytes, but only 0 are there"),
        (b"\x80\x02N", "the data ends before its STOP"),
        (b"\x80\x02X\x05\x00", "BINUNICODE is followed by 4 bytes, but only 2 are there"),
    ],
)
def test_broken_ends(pickle: bytes, message: str) -> None:
    with pytest.raises(
        ArchiveError, match=f"^archive: record 'data.pkl': at byte \\d+: .*{message}"
    ):
        torch.load(archive_with(pickle))


def test_the_offset_is_that_of_the_opcode() -> None:
    with pytest.raises(ArchiveError, match="at byte 5: opcode REDUCE"):
        load(NONE + NONE + EMPTY_TUPLE + REDUCE)


def test_what_is_odd_but_harmless() -> None:
    loop = load(b"]q\x00h\x00a")
    assert loop[0] is loop
    deep = load(b"]" * 3000 + b"a" * 2999)
    for _ in range(2999):
        (deep,) = deep
    assert deep == []
    shared = load(NONE + b"q\x00" + b"h\x00\x86q\x00" * 100)
    assert len(shared) == 2 and shared[0] is shared[1]  # stands for 2**100 objects
    expanded = load(tensor(storage(), 0, sizes(1 << 20, 1 << 20), sizes(0, 0)))
    assert expanded.shape == (1 << 20, 1 << 20) and expanded.untyped_storage().nbytes() == 16
    assert load(text("é") + b"q\xff") == "é" and load(b"U\x02ab") == "ab"
    assert load(b"}" + MARK + b"u") == {} and load(b"]" + MARK + b"e") == []
    assert load(integer(1 << 500)) == 1 << 500


@pytest.mark.sampled(1 / 4)
def test_memory_stays_near_the_size_of_the_file() -> None:
    bomb = tup(*[tensor(storage(key="0"), 0, sizes(4), sizes(1)) for _ in range(2000)])
    hungry = {
        "tensors": bomb,
        "meta": call(META, name("torch", "float32"), sizes(1 << 50), sizes(1), FALSE),
        "lists": MARK + b"]" * 500_000 + TUPLE,
    }  # fmt: skip
    for program in hungry.values():
        file = archive_with(PROTO + program + STOP, s0=FOUR)
        tracemalloc.start()
        try:
            torch.load(file)
        except ArchiveError:
            pass
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 10 * len(file.getvalue()) + (6 << 20)


PICKLES = {kind: pickle_of(saved(make(torch)).getvalue()) for kind, make in OBJECTS.items()}
STORAGE = bytes(1 << 12)


@given(st.sampled_from(sorted(PICKLES)), st.randoms(use_true_random=False), st.integers(1, 5))
@examples(300, 20_000)
def test_a_mutated_pickle_loads_or_is_refused(kind: str, random: Any, changes: int) -> None:
    data = bytearray(PICKLES[kind])
    for _ in range(changes):
        at = random.randrange(len(data))
        what = random.randrange(5)
        if what == 0:
            data[at] = random.randrange(256)
        elif what == 1:
            del data[at : at + random.randrange(1, 20)]
        elif what == 2:
            start = random.randrange(len(data))
            data[at:at] = data[start : start + random.randrange(1, 40)]
        elif what == 3:
            data[at : at + 4] = struct.pack("<i", random.choice((-1, 0, 1 << 16, (1 << 31) - 1)))
        else:
            data[at] = random.choice(list(OPCODE_NAMES))
        data = data or bytearray(b"\x80")
    try:
        obj = torch.load(archive_with(bytes(data), **{f"s{i}": STORAGE for i in range(12)}))
    except ArchiveError as error:
        assert str(error).startswith("archive: ")
    else:
        for t in tensors_in(obj):
            end = t.storage_offset() + 1 + sum((n - 1) * s for n, s in zip(t.shape, t.stride()))
            assert t.numel() == 0 or end * t.element_size() <= t.untyped_storage().nbytes()


def tensors_in(obj: Any) -> list[Any]:
    found, seen, pending = [], set(), [obj]
    while pending:
        x = pending.pop()
        if id(x) in seen:
            continue
        seen.add(id(x))
        if isinstance(x, torch.Tensor):
            found.append(x)
        elif isinstance(x, dict):
            pending += x.values()
        elif isinstance(x, (list, tuple)):
            pending += x
    return found


def test_a_find_global_that_fails_is_an_archive_error() -> None:
    def find(module: str, attribute: str) -> Any:
        raise KeyError(attribute)

    with pytest.raises(
        ArchiveError,
        match="a.pt: record 'x.pkl': at byte 2: opcode GLOBAL cannot be carried out: KeyError",
    ):
        unpickle(
            PROTO + ORDERED + STOP,
            find_global=find,
            persistent_load=find,
            archive="a.pt",
            record="x.pkl",
        )

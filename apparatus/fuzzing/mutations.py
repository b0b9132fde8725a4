"""Ways to damage an archive: blindly, and knowing what its bytes mean.

Flipped bits are caught by the first checksum. What comes further is a zip that is right and holds a
pickle that is wrong, or code that is: so an archive is also taken apart into records, records into
instructions, words or JSON values, some of these are changed, and everything is put together again
with sizes and checksums that fit.

How the real one differs: PyTorch is fuzzed by OSS-Fuzz with byte mutations guided by coverage.
"""

from __future__ import annotations

import io
import json
import pickletools
import re
import struct
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

from internals.serialization.container.zip_reader import ArchiveReader
from internals.serialization.container.zip_records import (
    CENTRAL_HEADER,
    DESCRIPTOR,
    END,
    END64,
    LOCAL_HEADER,
    LOCATOR64,
    Layout,
)
from internals.serialization.container.zip_writer import ArchiveWriter
from internals.serialization.errors import ArchiveError

from .programs import program

NUMBERS = [0, 1, 2, 3, 7, 63, 64, 255, 256, 65535, 65536]
NUMBERS += [2**k + d for k in (31, 32, 40, 62, 63, 64, 200) for d in (-1, 0, 1)] + [10**9]
NUMBERS += [-n for n in NUMBERS]
NAMES = [
    "", "..", "../x", "data", "data/0", "data/1", "data.pkl", "constants.pkl", "version",
    "byteorder", "big", "little", "cpu", "cuda:0", "storage", "0", "99", "model.json", "os",
    "system", "builtins", "eval", "torch", "__torch__", "forward", "weight", "\0", "\ud800x",
    "x" * 300, "List[int]", "Tensor", "Optional[Tensor]", "collections", "OrderedDict", "__class__",
    "self", "training",
]  # fmt: skip
GLOBALS = [
    "os system", "builtins eval", "builtins getattr", "builtins set", "torch FloatStorage",
    "torch ByteStorage", "torch float32", "torch._utils _rebuild_tensor_v2",
    "torch._utils _rebuild_parameter", "collections OrderedDict", "collections Counter",
    "torch Size", "torch device", "torch.jit._pickle build_intlist",
    "torch.jit._pickle build_tensorlist", "torch.jit._pickle restore_type_tag", "__torch__ M",
    "__torch__ Absent", "torch.storage UntypedStorage", "torch Tensor",
]  # fmt: skip
WORDS = [
    "def", "return", "if", "else", "for", "while", "in", "class", "self", "None", "True", "(", ")",
    "[", "]", ",", ":", "=", ".", "\n", "  ", "lambda", "torch.add", "torch.conv2d", "ops.aten.add",
    "CONSTANTS.c0", "CONSTANTS.c9", "annotate(List[int], [])", "inf", "nan", "__torch__.M",
    "getattr", "uninitialized(Tensor)", "unchecked_cast(Tensor, x)", "fork", "1e999", "-1",
    "10" * 30, "'a'", '"\\377"', "prim.print", "raise AssertionError", "import os",
    "from os import system", "*", "**", "pass", "not", "isinstance", "Tensor", "int",
]  # fmt: skip
SIMPLE = [
    b"(", b")", b"]", b"}", b"t", b"\x85", b"\x86", b"\x87", b"R", b"b", b"Q", b"\x81", b"u", b"s",
    b"e", b"a", b"0", b"2", b"N", b"\x88", b"\x89", b".", b"q\0", b"h\0", b"h\1", b"h\5", b"\x80\2",
    b"\x8f", b"\x90",
]  # fmt: skip
CODES = [op.code.encode("latin-1") for op in pickletools.opcodes]
BOMB = 40 << 20


class Start(NamedTuple):
    """An archive to damage: its bytes, how it is loaded ("load" or "jit"; "run": and run), and its
    records when it is a zip.
    """

    name: str
    how: str
    data: bytes
    records: dict[str, bytes]


def start(name: str, how: str, data: bytes) -> Start:
    """Takes an archive apart. What is no zip has no records."""
    try:
        with ArchiveReader(data, name=name) as reader:
            return Start(
                name, how, data, {record: reader.read(record) for record in reader.records}
            )
    except ArchiveError:
        return Start(name, how, data, {})


def mutate(random: Random, chosen: Start, others: list[Start]) -> bytes:
    """A damaged copy. The same state of `random` gives the same bytes. Of a program, another one,
    which is right in itself.
    """
    if chosen.how == "run":
        return rebuild(random, {**chosen.records, "code/__torch__.py": program(random).encode()})
    data = chosen.data
    kind = random.random()
    if chosen.records and kind < 0.7:
        data = rebuild(random, mutate_records(random, dict(chosen.records), others))
        if kind < 0.6:
            return data
    elif not chosen.records and kind < 0.6:
        return mutate_stream(random, data)
    for _ in range(random.choice((1, 1, 1, 2, 5))):
        change = random.choice(
            BYTE_CHANGES if not chosen.records else BYTE_CHANGES + [change_field] * 6
        )
        data = change(random, data, random.choice(others).data)
    return data


# Records


def mutate_records(
    random: Random, records: dict[str, bytes], others: list[Start]
) -> dict[str, bytes]:
    names = list(records)
    if random.random() < 0.15:
        a, b = random.choice(names), random.choice(names)
        other = random.choice(others).records or records
        change = random.randrange(6)
        if change == 0:
            del records[a]
        elif change == 1:
            records[a], records[b] = records[b], records[a]
        elif change == 2:
            records[b] = records[random.choice(NAMES[3:13])] = records[a]
        elif change == 3:
            records[a] = random.choice(list(other.values()))
        elif change == 4:
            records[random.choice(list(other))] = records[a]
        else:
            records = dict(random.sample(list(records.items()), len(records)))
        return records
    meaning = [
        name
        for name in names
        if not re.match(r"(data|constants|tensors)/", name) and not name.endswith("debug_pkl")
    ]
    for _ in range(random.choice((1, 1, 2))):
        name = random.choice(meaning or names)
        records[name] = mutate_record(random, name, records[name])
    return records


def mutate_record(random: Random, name: str, data: bytes) -> bytes:
    if random.random() < 0.05:
        return random.choice(
            (b"", b"\0", b"\n", b"9" * 5000, b"\xff\xfe", b"[" * 100_000, data * 3)
        )
    if random.random() < 0.1:
        return random.choice(BYTE_CHANGES)(random, data, data)
    if name.endswith(".pkl"):
        return mutate_pickle(random, data)
    if name.endswith(".json"):
        return mutate_json(random, data)
    return mutate_text(random, data)


def rebuild(random: Random, records: dict[str, bytes]) -> bytes:
    """An archive of these records that is right in itself; sometimes one of them is a compression
    bomb.
    """
    buffer = io.BytesIO()
    bomb = random.choice(list(records)) if records and random.random() < 0.01 else None
    with ArchiveWriter(buffer) as writer:
        for name, data in records.items():
            if name == bomb:
                data = random.choice((b"\0", b"x = 1\n", b"(", b"[")) * random.choice(
                    (1 << 18, 1 << 20, BOMB // 4)
                )
            try:
                writer.write(name, data, compress=name.startswith("code/") or name == bomb)
            except ValueError:  # a name that we do not write
                writer.write(f"renamed{len(writer.records)}", data)
    return buffer.getvalue()


# Pickles


def instructions(data: bytes) -> list[bytes]:
    """The instructions of a pickle, each with its argument; one piece for what cannot be read."""
    starts = []
    try:
        starts = [at for _, _, at in pickletools.genops(data) if at is not None]
    except (ValueError, IndexError, KeyError, UnicodeDecodeError, OverflowError, struct.error):
        return [data]
    return [data[a:b] for a, b in zip(starts, starts[1:] + [len(data)])]


def mutate_pickle(random: Random, data: bytes) -> bytes:
    code = instructions(data)
    for _ in range(random.choice((1, 1, 2, 4))):
        at = random.randrange(len(code))
        change = random.randrange(8)
        if change == 0:
            del code[at]
        elif change == 1:
            code.insert(at, random.choice(code) if code else b".")
        elif change == 2:
            other = random.randrange(len(code))
            code[at], code[other] = code[other], code[at]
        elif change == 3:
            code.insert(at, new_instruction(random))
        elif change == 4:
            stop = at + random.randrange(1, 30)
            code[at:stop] = code[at:stop] * random.choice((2, 2, 3, 500))
        elif change == 5:
            code[at] = random.choice(CODES) + code[at][1:]
        else:
            code[at] = changed_argument(random, code[at])
        if not code:
            break
    return b"".join(code)


def changed_argument(random: Random, instruction: bytes) -> bytes:
    """Another number, string or name in place of the one that is there."""
    code = instruction[:1]
    if code in b"KMJ\x8a\x88\x89NG":
        return new_number(random)
    if code == b"X":
        return new_string(random)
    if code == b"c":
        return b"c" + random.choice(GLOBALS).replace(" ", "\n").encode() + b"\n"
    if code in b"qh":
        return random.choice(b"qh").to_bytes(1, "little") + bytes([random.randrange(40)])
    return new_instruction(random)


def new_instruction(random: Random) -> bytes:
    makers: list[Callable[[Random], bytes]] = [
        new_number,
        new_string,
        new_simple,
        new_simple,
        new_global,
    ]
    return random.choice(makers)(random)


def new_number(random: Random) -> bytes:
    value = random.choice(NUMBERS) if random.random() < 0.8 else random.randrange(-(2**63), 2**63)
    if 0 <= value < 256:
        return b"K" + bytes([value])
    if -(2**31) <= value < 2**31:
        return b"J" + struct.pack("<i", value)
    if random.random() < 0.2:
        return b"G" + struct.pack(
            ">d", random.choice((0.0, -0.0, 1e308, float("inf"), float("nan"), 5e-324))
        )
    raw = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(raw)]) + raw


def new_string(random: Random) -> bytes:
    raw = random.choice(NAMES).encode("utf-8", "surrogatepass")
    length = len(raw) if random.random() < 0.95 else random.choice((2**31, 2**32 - 1, len(raw) + 5))
    return b"X" + struct.pack("<I", length) + raw


def new_simple(random: Random) -> bytes:
    return random.choice(SIMPLE)


def new_global(random: Random) -> bytes:
    return b"c" + random.choice(GLOBALS).replace(" ", "\n").encode() + b"\n"


# Text and JSON


def mutate_text(random: Random, data: bytes) -> bytes:
    """Code, or a line like `version`: its words are dropped, doubled, swapped, replaced."""
    words = re.findall(r"\w+|[ \t]+|[^\w \t]", data.decode("utf-8", "surrogateescape")) or [""]
    for _ in range(random.choice((1, 1, 2, 4))):
        at, other = random.randrange(len(words)), random.randrange(len(words))
        change = random.randrange(6)
        if change == 0:
            words[at] = ""
        elif change == 1:
            words[at], words[other] = words[other], words[at]
        elif change == 2:
            words.insert(at, random.choice(WORDS))
        elif change == 3:
            words[at] = words[other]
        elif change == 4:
            words[at] = str(random.choice(NUMBERS)) if words[at].isdigit() else random.choice(WORDS)
        else:
            stop = at + random.randrange(1, 30)
            words[at:stop] = words[at:stop] * random.choice((0, 2, 3, 300))
            words = words or [""]
    return "".join(words).encode("utf-8", "surrogateescape")


def mutate_json(random: Random, data: bytes) -> bytes:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return mutate_text(random, data)
    for _ in range(random.choice((1, 1, 2, 4))):
        value = change_json(random, value, value)
    text = json.dumps(value)
    return text.replace('"@deep"', "[" * 50_000 + "]" * 50_000).encode("utf-8", "surrogatepass")


def change_json(random: Random, value: Any, whole: Any) -> Any:
    """A copy in which one value, somewhere, is another one."""
    if isinstance(value, (dict, list)) and value and random.random() < 0.85:
        keys = list(value) if isinstance(value, dict) else range(len(value))
        key = random.choice(keys)
        changed = value.copy()
        choice = random.random()
        if choice < 0.08:
            del changed[key]
        elif choice < 0.14 and isinstance(changed, dict):
            changed[random.choice(NAMES)] = changed.pop(key)
        elif choice < 0.2 and isinstance(changed, list):
            changed.append(changed[key])
        else:
            changed[key] = change_json(random, value[key], whole)
        return changed
    new = [
        random.choice(NUMBERS),
        str(random.choice(NUMBERS)),
        random.choice(NAMES),
        None,
        True,
        [],
        {},
        0.5,
        "@deep",
    ]
    part = whole[random.choice(list(whole))] if isinstance(whole, dict) and whole else whole
    return random.choice([*new, [value] * 3, {"key": value}, part])


# A stream of pickles and raw storages


def mutate_stream(random: Random, data: bytes) -> bytes:
    """The old format of torch.save: one of its pickles is changed."""
    pieces, at = [], 0
    while at < len(data) and data[at] == 0x80:
        try:
            length = (
                next(
                    i for _, _, i in reversed(list(pickletools.genops(data[at:]))) if i is not None
                )
                + 1
            )
        except (ValueError, IndexError, KeyError, UnicodeDecodeError, OverflowError, struct.error):
            break
        pieces.append(data[at : at + length])
        at += length
    if not pieces:
        return random.choice(BYTE_CHANGES)(random, data, data)
    index = random.randrange(len(pieces))
    pieces[index] = mutate_pickle(random, pieces[index])
    return b"".join(pieces) + data[at:]


# Bytes


def flip_bits(random: Random, data: bytes, other: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 8)) if data else 0):
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def put_number(random: Random, data: bytes, other: bytes) -> bytes:
    n = random.choice((1, 2, 4, 8))
    at = random.randrange(len(data) + 1)
    raw = (random.choice(NUMBERS) % (1 << 8 * n)).to_bytes(n, random.choice(("little", "big")))
    return data[:at] + raw + data[at + n :]


def truncate(random: Random, data: bytes, other: bytes) -> bytes:
    at = random.randrange(len(data) + 1)
    return random.choice((data[:at], data[at:]))


def cut_out(random: Random, data: bytes, other: bytes) -> bytes:
    a, b = sorted((random.randrange(len(data) + 1), random.randrange(len(data) + 1)))
    return data[:a] + data[min(b, a + random.choice((1, 4, 64, 1 << 30))) :]


def splice(random: Random, data: bytes, other: bytes) -> bytes:
    a, b = random.randrange(len(data) + 1), random.randrange(len(other) + 1)
    return data[:a] + other[b:]


def copy_within(random: Random, data: bytes, other: bytes) -> bytes:
    n = random.choice((1, 4, 16, 64, 256))
    a, b = random.randrange(len(data) + 1), random.randrange(len(data) + 1)
    return data[:a] + data[b : b + n] + data[a + n * random.randrange(2) :]


Change = Callable[[Random, bytes, bytes], bytes]
BYTE_CHANGES: list[Change] = [
    flip_bits,
    flip_bits,
    put_number,
    truncate,
    cut_out,
    splice,
    copy_within,
]
LAYOUTS: list[Layout] = [LOCAL_HEADER, CENTRAL_HEADER, DESCRIPTOR, END64, LOCATOR64, END]


def change_field(random: Random, data: bytes, other: bytes) -> bytes:
    """One field of one of the zip's structures; of a record's, sometimes in both headers alike."""
    layout = random.choice(LAYOUTS)
    places = [
        m.start()
        for m in re.finditer(re.escape(layout.signature), data)
        if m.start() + layout.size <= len(data)
    ]
    if not places:
        return data
    index = random.randrange(len(places))
    field = random.choice(layout.fields[1:])
    value = (
        random.choice(NUMBERS)
        if random.random() < 0.7
        else random.choice(places) + random.randrange(-64, 64)
    )
    raw = (value % (1 << 8 * field.size)).to_bytes(field.size, "little")
    at = places[index] + field.offset
    data = data[:at] + raw + data[at + field.size :]
    if layout is LOCAL_HEADER and random.random() < 0.5:
        entries = [m.start() for m in re.finditer(re.escape(CENTRAL_HEADER.signature), data)]
        same = next(f for f in CENTRAL_HEADER.fields if f.name == field.name)
        if index < len(entries):
            at = entries[index] + same.offset
            data = data[:at] + raw + data[at + same.size :]
    return data

"""Exercises of notebook 24: what a tensor costs on its way to a server, and how to receive it
without a copy.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import numpy as np

import internals as torch
from exercises.exercise import Mistake, Wrong, exercise


@exercise(
    level=1,
    title="How long is the body?",
    ask="""
        One hundred measurements of float32 go to a server. How many bytes are they

        - as they lie in memory,
        - in base64,
        - as the hexadecimal text of their bytes,
        - in base64, if each was made a `uint8` first?""",
    given=(
        "measurements = np.linspace(0, 1, 100, dtype=np.float32)\npixels = (measurements * "
        "255).astype(np.uint8)"
    ),
    start="""
        answer = {
            "raw": ...,
            "base64": ...,
            "hex": ...,
            "base64 of the pixels": ...,
        }""",
    hints=(
        "base64 makes four letters of three bytes. What does it do with a last group of one byte?",
        "`4 * ceil(nbytes / 3)`; a hexadecimal digit says four bits.",
    ),
    solution="""
        answer = {
            "raw": 400,
            "base64": 536,
            "hex": 800,
            "base64 of the pixels": 136,
        }""",
    why=(
        "The type decides more than the encoding: the pixels in base64 are a third of the raw "
        "floats."
    ),
    mistakes=[
        Mistake(
            "A third more is 4/3, whatever the length.",
            'answer = {"raw": 400, "base64": 533, "hex": 800, "base64 of the pixels": 133}',
            "filled up",
        ),
        Mistake(
            "A float is a float: eight bytes, as in Python.",
            'answer = {"raw": 800, "base64": 1068, "hex": 1600, "base64 of the pixels": 136}',
            "float32 has four bytes",
        ),
        Mistake(
            "base64 packs six bits into a byte, so it is shorter.",
            'answer = {"raw": 400, "base64": 300, "hex": 800, "base64 of the pixels": 75}',
            "carries only 6",
        ),
        Mistake(
            "A hexadecimal digit is a byte.",
            'answer = {"raw": 400, "base64": 536, "hex": 400, "base64 of the pixels": 136}',
            "two digits",
        ),
        Mistake(
            "The type of the numbers does not matter for base64.",
            'answer = {"raw": 400, "base64": 536, "hex": 800, "base64 of the pixels": 536}',
            "one byte each",
        ),
    ],
)
def payloads_1(answer: dict[str, int]) -> str:
    measurements = np.linspace(0, 1, 100, dtype=np.float32)
    raw, pixels = measurements.tobytes(), (measurements * 255).astype(np.uint8).tobytes()
    truth = {
        "raw": len(raw),
        "base64": len(base64.b64encode(raw)),
        "hex": len(raw.hex()),
        "base64 of the pixels": len(base64.b64encode(pixels)),
    }
    if not isinstance(answer, dict) or answer.keys() != truth.keys():
        raise Wrong("the answer is the dict above, with a number for each of its four keys")
    wrong = {key: answer[key] for key in truth if answer[key] != truth[key]}
    if "raw" in wrong:
        raise Wrong(
            f"a hundred numbers are not {wrong['raw']!r} bytes: a float32 has four bytes, unlike "
            "Python's floats"
        )
    if (
        "base64" in wrong
        and isinstance(wrong["base64"], (int, float))
        and wrong["base64"] < truth["raw"]
    ):
        raise Wrong(
            "base64 makes it longer, not shorter: each letter takes 8 bits on the wire and carries "
            "only 6"
        )
    if "base64" in wrong:
        raise Wrong(
            "400 bytes are 133 groups of three and one byte left: the last group is filled up to "
            "four letters"
        )
    if "hex" in wrong:
        raise Wrong(
            "a byte is written with two digits, each of which is a character, and so a byte"
        )
    if wrong:
        raise Wrong("the pixels are one byte each: there are 100 bytes to encode, not 400")
    return (
        f"and as a JSON list {len(json.dumps(measurements.tolist()))} bytes, since Python writes "
        "each number as a float64"
    )


@exercise(
    level=2,
    title="Numbers that know their length",
    ask="""
        Protobuf writes lengths and numbers as *varints*: seven bits to a byte, the lowest first;
        the eighth bit says that more follow. Write `varint(number)` for numbers from 0 up; it
        returns `bytes`.""",
    start="""
        def varint(number):
            ...""",
    passes=("varint",),
    hints=(
        "`number & 127` are the lowest seven bits, `number >> 7` what is left.",
        "As long as something is left, a byte is the seven bits plus 128. Which byte is the last, "
        "even for 0?",
    ),
    solution="""
        def varint(number):
            found = bytearray()
            while number > 127:
                found.append(number & 127 | 128)
                number >>= 7
            return bytes([*found, number])""",
    why=(
        "`300` is `ac 02`. Small numbers, which are the most frequent, take one byte; 2**63 takes "
        "ten."
    ),
    mistakes=[
        Mistake(
            "Big numbers are written with the highest digits first.",
            """
            def varint(number):
                groups = [number & 127]
                while number := number >> 7:
                    groups.append(number & 127)
                groups.reverse()
                return bytes([*(group | 128 for group in groups[:-1]), groups[-1]])""",
            "lowest seven bits come first",
        ),
        Mistake(
            "The eighth bit marks the last byte.",
            """
            def varint(number):
                found = bytearray()
                while number > 127:
                    found.append(number & 127)
                    number >>= 7
                return bytes([*found, number | 128])""",
            "says that more follow",
        ),
        Mistake(
            "A byte holds eight bits.",
            """
            def varint(number):
                return number.to_bytes(max(1, (number.bit_length() + 7) // 8), "little")""",
            "one bit of each byte is taken",
        ),
        Mistake(
            "Zero is nothing.",
            """
            def varint(number):
                found = bytearray()
                while number:
                    found.append(number & 127 | (128 if number > 127 else 0))
                    number >>= 7
                return bytes(found)""",
            "0 takes a byte",
        ),
        Mistake(
            "128 still fits.",
            """
            def varint(number):
                found = bytearray()
                while number > 128:
                    found.append(number & 127 | 128)
                    number >>= 7
                return bytes([*found, number])""",
            "128 needs two bytes",
        ),
    ],
)
def payloads_2(varint: Callable[[int], bytes]) -> str:
    from internals.serving.protocol.wire import read_varint

    if not isinstance(small := varint(5), (bytes, bytearray)):
        raise Wrong(f"varint(5) is a {type(small).__name__}; bytes are wanted")
    if bytes(small) == b"\x85":
        raise Wrong(
            "5 became 85: the eighth bit says that more follow, so the last byte is the one "
            "without it"
        )
    if bytes(small) != b"\x05":
        raise Wrong(f"5 is one byte, 05, not {small.hex(' ') or 'nothing'}")
    if varint(0) != b"\x00":
        raise Wrong(f"0 takes a byte as well, 00; varint(0) is {bytes(varint(0))!r}")
    if varint(300) == b"\x82\x2c":
        raise Wrong("300 became 82 2c: the lowest seven bits come first, so it is ac 02")
    if varint(300) == (300).to_bytes(2, "little"):
        raise Wrong(
            "300 became 2c 01, eight bits to a byte: one bit of each byte is taken, to say whether "
            "more follow"
        )
    if varint(128) == b"\x80":
        raise Wrong(
            "128 became 80, which says that more follow, and nothing does: 128 needs two bytes"
        )
    for number in (1, 127, 128, 129, 300, 16383, 16384, 2**31, 2**32 + 5, 2**63, 2**64 - 1):
        found = bytes(varint(number))
        if len(found) > 10 or read_varint(found + b"\x00", 0) != (number, len(found)):
            raise Wrong(
                f"{number} became {found.hex(' ')}, which protobuf's reader does not read as "
                f"{number}"
            )
        if len(found) > -(-number.bit_length() // 7):
            raise Wrong(
                f"{number} became {found.hex(' ')}: it has no bits for the last byte; when is "
                "nothing left?"
            )
    return "this is how every length and every key in a protobuf message is written"


@exercise(
    level=3,
    title="A tensor that stays in its message",
    ask="""
        A request came as one `bytes`-like message; from byte `begin` on it holds `count` numbers of
        float32. Write `tensor_in(message, begin, count)`: a one-dimensional tensor that lies *in
        the message*, without a copy, if its address is a multiple of 4; otherwise (processors may
        not load it) a tensor with the same numbers and memory of its own. A message that ends
        before the numbers do is a ValueError; no numbers are an empty tensor.""",
    start="""
        def tensor_in(message, begin, count):
            ...""",
    passes=("tensor_in",),
    hints=(
        "`np.frombuffer(message, np.uint8)` tells where a message lies: `.ctypes.data`. What has "
        "to be a multiple of 4?",
        "`torch.frombuffer(message, dtype=torch.float32, count=count, offset=begin)` shares; "
        "`np.frombuffer` of a slice and `torch.tensor` copy.",
    ),
    solution="""
        def tensor_in(message, begin, count):
            numbers = memoryview(message).cast("B")[begin : begin + 4 * count]
            if len(numbers) < 4 * count:
                raise ValueError(
                    f"{count} numbers take {4 * count} bytes; "
                    f"behind byte {begin} there are {len(numbers)}"
                )
            if not count:
                return torch.empty(0)
            if np.frombuffer(numbers, np.uint8).ctypes.data % 4:
                numbers = bytearray(numbers)
            return torch.frombuffer(numbers, dtype=torch.float32)""",
    why=(
        "internals/serving/protocol does this for every request; `write_request` pads the message, "
        "so that nothing is copied."
    ),
    mistakes=[
        Mistake(
            "It is the offset that has to be aligned.",
            """
            def tensor_in(message, begin, count):
                if begin % 4:
                    return torch.tensor(
                        np.frombuffer(message[begin : begin + 4 * count], np.float32)
                    )
                return torch.frombuffer(message, dtype=torch.float32, count=count, offset=begin)""",
            "the message itself may begin anywhere",
        ),
        Mistake(
            "A copy is safe, so always copy.",
            """
            def tensor_in(message, begin, count):
                return torch.tensor(
                    np.frombuffer(message[begin : begin + 4 * count], np.float32)
                )""",
            "was copied although",
        ),
        Mistake(
            "The rest of the message is numbers.",
            """
            def tensor_in(message, begin, count):
                address = np.frombuffer(message, np.uint8).ctypes.data + begin
                rest = message[begin : begin + (len(message) - begin) // 4 * 4]
                if address % 4:
                    return torch.frombuffer(bytearray(rest), dtype=torch.float32)
                return torch.frombuffer(
                    message, dtype=torch.float32, count=(len(message) - begin) // 4, offset=begin
                )""",
            "numbers, not",
        ),
        Mistake(
            "Any address will do.",
            """
            def tensor_in(message, begin, count):
                return torch.frombuffer(message, dtype=torch.float32, count=count, offset=begin)""",
            "no multiple of 4",
        ),
        Mistake(
            "A message is as long as it says.",
            """
            def tensor_in(message, begin, count):
                address = np.frombuffer(message, np.uint8).ctypes.data + begin
                if address % 4:
                    numbers = bytearray(message[begin : begin + 4 * count])
                    return torch.frombuffer(numbers, dtype=torch.float32)
                return torch.frombuffer(message, dtype=torch.float32, count=count, offset=begin)""",
            "ends before the numbers do",
        ),
    ],
)
def payloads_3(tensor_in: Callable[[Any, int, int], Any]) -> str:
    numbers = np.arange(5, dtype=np.float32)
    memory = bytearray(128)
    # from here on, positions are addresses
    base = -np.frombuffer(memory, np.uint8).ctypes.data % 16
    for shift in range(4):
        for begin in (0, 3, 8, 10, 13):
            message = memoryview(memory)[base + shift : base + shift + begin + 20 + 7]
            message[begin : begin + 20] = numbers.tobytes()
            aligned = (shift + begin) % 4 == 0
            where = f"(a message at an address {shift} beyond a multiple of 4, begin={begin})"
            tensor = tensor_in(message, begin, 5)
            if (
                not isinstance(tensor, torch.Tensor)
                or tensor.dtype != torch.float32
                or tensor.dim() != 1
            ):
                raise Wrong(f"a one-dimensional float32 tensor is wanted, not {tensor!r}")
            if tensor.numel() != 5:
                raise Wrong(
                    f"5 numbers, not {tensor.numel()}, belong to the tensor: behind them the "
                    "message goes on"
                )
            address = np.frombuffer(message, np.uint8).ctypes.data + begin
            shared = tensor.data_ptr() == address
            if shared and not aligned and begin % 4 == 0:
                raise Wrong(
                    "begin is a multiple of 4, but the message itself may begin anywhere: look at "
                    f"the address {where}"
                )
            if shared and not aligned:
                raise Wrong(f"the tensor lies at an address that is no multiple of 4 {where}")
            if tensor.tolist() != numbers.tolist():
                raise Wrong(
                    f"the tensor holds {tensor.tolist()}, the message {numbers.tolist()} {where}"
                )
            if aligned and not shared and shift == 0:
                raise Wrong(f"the tensor was copied although its place is a multiple of 4 {where}")
            if aligned and not shared:
                raise Wrong(
                    f"copied, but begin and the message's address add up to a multiple of 4 {where}"
                )
    for begin in (1, 2, 3, 4):
        message = memoryview(memory)[base : base + begin + 12]
        try:
            tensor = tensor_in(message, begin, 4)
        except ValueError:
            continue
        raise Wrong(
            f"the message ends before the numbers do, 12 bytes behind begin={begin}: asked for 4, "
            f"tensor_in made {tensor!r}"
        )
    if tensor_in(memoryview(memory)[base : base + 9], 9, 0).shape != (0,):
        raise Wrong("no numbers at the end of a message are a tensor without elements")
    return (
        "one copy less for three places out of four, if somebody looks after the alignment for all "
        "four"
    )

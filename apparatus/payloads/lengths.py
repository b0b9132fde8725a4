"""How many bytes a payload becomes, computed without writing one of them; the tests write them and
compare.

base64 takes three bytes, 24 bits, as four groups of 6, and writes each group as one of 64 letters:
four bytes for three. If the last three are not whole, they are filled up, and `=` says so. A mail
may not have long lines, so MIME wants a line break after 76 letters; Python's `base64.encodebytes`
makes them too. What protobuf adds hardly grows with the payload: a key, and the length as a varint.

Mirrors RFC 4648 (base64), RFC 2045 (MIME), and the encoding that protobuf documents.

How the real one differs: nothing differs; these are the lengths that the libraries write.
"""

from __future__ import annotations

MIME_LINE = 76


def base64(nbytes: int) -> int:
    """4/3 of it, rounded up to a multiple of 4."""
    return 4 * -(-nbytes // 3)


def base64_mime(nbytes: int, line_break: int = 2) -> int:
    """base64 in lines of 76 letters, each with a line break behind it: of 2 bytes in mails, of 1 in
    Python's `encodebytes`.
    """
    letters = base64(nbytes)
    return letters + line_break * -(-letters // MIME_LINE)


def varint(value: int) -> int:
    """One byte for every 7 bits; a negative number is one of 64 bits, and takes 10."""
    return max(1, -(-(value if value >= 0 else value + (1 << 64)).bit_length() // 7))


def protobuf_bytes(nbytes: int, number: int = 1) -> int:
    """A `bytes` field: its key, its length, itself."""
    return varint(number << 3 | 2) + varint(nbytes) + nbytes


def packed(values: list[int], number: int = 1) -> int:
    """A repeated int field, one key for all of them; without elements it is not written."""
    content = sum(map(varint, values))
    return protobuf_bytes(content, number) if values else 0

"""The last record of an archive, `.data/serialization_id`: forty digits that identify its content.

Twenty digits are a hash of the records' names, twenty of their checksums
(`PyTorchStreamWriter::writeSerializationId`). Two archives with the same records have the same id.

How the real one differs: it hashes the names with `std::hash`, in the order of a hash table; so the
first half is another number.
"""

from __future__ import annotations

import hashlib

from .zip_writer import ArchiveWriter

RECORD = ".data/serialization_id"
_64_BITS = (1 << 64) - 1


def serialization_id(writer: ArchiveWriter) -> str:
    """The id of the records that have been written so far, as 40 digits."""
    # Sorted: the order of writing does not matter for the names. 64 bits have at most 20 digits.
    names = "\n".join(sorted(f"{writer.top}/{name}" for name in writer.records))
    of_names = int.from_bytes(hashlib.sha256(names.encode()).digest()[:8], "little")
    of_contents = 0
    for record in writer.records.values():
        of_contents = hash_combine(of_contents, record.crc32)
    return f"{of_names:020d}{of_contents:020d}"


def hash_combine(seed: int, value: int) -> int:
    """Mixes `value` into a 64-bit hash, as `c10::hash_combine` does: 0x9E3779B9 is 2^32 divided by
    the golden ratio, and its bits look random.
    """
    return seed ^ (value + 0x9E3779B9 + (seed << 6) + (seed >> 2)) & _64_BITS

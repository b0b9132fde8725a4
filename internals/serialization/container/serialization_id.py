"""The last record of an archive, `.data/serialization_id`: forty digits that tell two archives
apart.

Twenty digits are a hash of the records' names, twenty of their checksums
(`PyTorchStreamWriter::writeSerializationId`). Two archives with the same records have the same id.

How the real one differs: its hash of the names is the C++ library's, in the order of a hash table;
so the first half differs.
"""

from __future__ import annotations

import hashlib

from .zip_writer import ArchiveWriter

RECORD = ".data/serialization_id"
_64_BITS = (1 << 64) - 1


def serialization_id(writer: ArchiveWriter) -> str:
    """The id of what has been written so far."""
    names = "\n".join(sorted(f"{writer.top}/{name}" for name in writer.records))
    of_names = int.from_bytes(hashlib.sha256(names.encode()).digest()[:8], "little")
    of_contents = 0
    for record in writer.records.values():
        of_contents = hash_combine(of_contents, record.crc32)
    return f"{of_names:020d}{of_contents:020d}"


def hash_combine(seed: int, value: int) -> int:
    """`c10::hash_combine`."""
    return seed ^ (value + 0x9E3779B9 + (seed << 6) + (seed >> 2)) & _64_BITS

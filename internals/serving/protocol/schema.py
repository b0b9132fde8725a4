"""Compiles a `.proto` file to message classes at run time:
`compile_schema(text).ModelInferRequest`.

protoc, which is part of grpcio-tools, turns the text into a descriptor: the schema as data. The
classes are created from it, in a separate pool. In the default pool, which all generated code
shares, a second schema with the same names, such as tritonclient's, would be refused, and two
versions of one schema could not be in the same process.

Mirrors `protoc --python_out` together with the module that it generates
(`google/protobuf/internal/builder.py`).

How the real one differs: generated `_pb2.py` files contain the descriptor as a string, and register
it in the default pool.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory


class Schema(SimpleNamespace):
    """The message classes of a `.proto` by name; `pool` has their descriptors, `file` is that of
    the file.
    """

    pool: Any
    file: Any


def compile_schema(text: str, name: str = "schema.proto") -> Schema:
    """The message classes that a proto3 text defines. Raises ValueError, with protoc's message, if
    the text is wrong.
    """
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(descriptor(text, name))
    file = pool.FindFileByName(name)
    messages = {
        key: message_factory.GetMessageClass(found)
        for key, found in file.message_types_by_name.items()
    }
    return Schema(pool=pool, file=file, **messages)


@cache
def open_inference() -> Schema:
    """The classes of `open_inference.proto`, which is compiled at the first call."""
    file = Path(__file__).with_name("open_inference.proto")
    return compile_schema(file.read_text(encoding="utf-8"), file.name)


def descriptor(text: str, name: str) -> bytes:
    """The output of protoc for a text: a serialized `FileDescriptorProto`."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, name), Path(folder, "descriptor")
        source.write_text(text, encoding="utf-8")
        protoc = [
            sys.executable,
            "-m",
            "grpc_tools.protoc",
            f"--proto_path={folder}",
            f"--descriptor_set_out={target}",
        ]
        run = subprocess.run([*protoc, str(source)], capture_output=True, text=True)
        if run.returncode:
            told = run.stderr.replace(f"{folder}{os.sep}", "").strip().splitlines()
            raise ValueError(
                "not a schema: "
                f"{[line for line in told if 'Suggested field numbers' not in line][-1]}"
            )
        files = descriptor_pb2.FileDescriptorSet.FromString(target.read_bytes())
    content: bytes = files.file[0].SerializeToString()
    return content

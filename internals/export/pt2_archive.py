"""The records of a `.pt2` file (`torch/export/pt2_archive/_package.py`).

    archive_format                        "pt2"
    models/model.json                     the graph, its signature, the form of inputs and outputs
    data/weights/weight_0, ...            storages, raw
    data/weights/model_weights_config.json   each tensor: its storage, offset, sizes, strides
    data/constants/...                    the same for tensors that are neither parameter nor buffer

How the real one differs: an archive may hold several models, compiled code of AOTInductor, and
tensors of subclasses, which are pickled.
"""

from __future__ import annotations

from typing import Any

from internals.core import dtype as dt
from internals.serialization.container.zip_reader import ArchiveReader
from internals.serialization.errors import ArchiveError
from internals.serialization.json_node import JsonNode
from internals.serialization.pickles.pickled_types import marked, view_of
from internals.serialization.text_limits import GRAPH, TextBudget
from internals.storage import TypedStorage

MAJOR = range(5, 9)  # the major versions of the schema that can be read

# `ScalarType` of torch/_export/serde/schema.py: its own numbers, not those of c10.
DTYPES = {
    1: dt.uint8, 2: dt.int8, 3: dt.int16, 4: dt.int32, 5: dt.int64, 6: dt.float16, 7: dt.float32,
    8: dt.float64, 10: dt.complex64, 11: dt.complex128, 12: dt.bool_,
}  # fmt: skip
OTHERS = {  # dtypes that are missing here, for the error
    9: "complex32", 13: "bfloat16", 28: "uint16", 29: "float8_e4m3fn", 30: "float8_e5m2",
    31: "float8_e4m3fnuz", 32: "float8_e5m2fnuz", 33: "float8_e8m0fnu", 34: "uint32", 35: "uint64",
}  # fmt: skip


def read_program(reader: ArchiveReader) -> JsonNode:
    """The content of `models/model.json`.

    Raises ArchiveError for another kind of archive, or an unknown version of the schema.
    """
    if not reader.has("archive_format") or reader.text("archive_format") != "pt2":
        raise ArchiveError(
            "not an archive of torch.export: no 'archive_format' that says pt2", archive=reader.name
        )
    if not reader.has("models/model.json"):
        names = [
            n.removeprefix("models/").removesuffix(".json")
            for n in reader.records
            if n.startswith("models/")
        ]
        raise ArchiveError(f"has no model 'model'; it has {names}", archive=reader.name)
    text = TextBudget(reader, GRAPH).text("models/model.json")
    program = JsonNode.parse(text, reader.name, "models/model.json")
    version = program["schema_version"]["major"].integer()
    if version not in MAJOR:
        known = f"{MAJOR[0]} to {MAJOR[-1]}"
        raise program["schema_version"].error(
            f"is {version}; versions {known} can be read: export it anew"
        )
    return program


def read_tensors(reader: ArchiveReader, kind: str) -> dict[str, Any]:
    """The tensors of `kind`, "weights" or "constants", by name.

    Tensors that shared a storage when they were saved share it again.
    """
    record = f"data/{kind}/model_{kind}_config.json"
    if not reader.has(record):
        return {}
    config = JsonNode.parse(TextBudget(reader, GRAPH).text(record), reader.name, record)["config"]
    return {name: _tensor(reader, entry, f"data/{kind}/") for name, entry in config.items()}


def _tensor(reader: ArchiveReader, entry: JsonNode, folder: str) -> Any:
    """A view of its storage; `view_of` checks that offset, sizes and strides stay inside it."""
    use_pickle = entry.get("use_pickle")
    if use_pickle is not None and use_pickle.boolean():
        raise entry.error(
            "is pickled: a subclass of Tensor, or an object that only its own class can restore"
        )
    meta = entry["tensor_meta"]
    kind = dtype_of(meta["dtype"])
    sizes = tuple(fixed(each) for each in meta["sizes"])
    strides = tuple(fixed(each) for each in meta["strides"])
    storage = TypedStorage(reader.storage(folder + entry["path_name"].text()), kind)
    try:
        return marked(
            view_of(storage, fixed(meta["storage_offset"]), sizes, strides),
            meta["requires_grad"].boolean(),
        )
    except ArchiveError as error:
        raise error if error.record else meta.error(f"fits no tensor: {error.message}") from None


def dtype_of(node: JsonNode) -> dt.dtype:
    """The dtype of a `ScalarType` number. Raises ArchiveError for one that is not known here."""
    found = DTYPES.get(node.integer())
    if found is None:
        raise node.error(
            f"is dtype {OTHERS.get(node.integer(), node.integer())}, which is not known here"
        )
    return found


def fixed(node: JsonNode) -> int:
    """A size, stride or offset as an int. Raises ArchiveError if it depends on the input."""
    kind, value = node.union()
    if kind != "as_int":
        raise node.error("is not a number, but depends on the input")
    return value.integer()

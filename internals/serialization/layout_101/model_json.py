"""`model.json`: the modules and tensors of an archive of PyTorch 1.0 (`caffe2/proto/torch.proto`).

    {"protoVersion":"1",
     "mainModule":{"submodules":[{"parameters":[{"isBuffer":false,"tensorId":"1","name":"weight"}],
                                  "name":"conv1","optimize":true}],
                   "torchscriptArena":{"key":"code/resnet.py"},"name":"resnet","optimize":true},
     "producerName":"pytorch","producerVersion":"1.0",
     "tensors":[{"dims":["64","3"],"offset":"0", ...}]}

The file is a protocol buffer written as JSON, by the rules of proto3: names in camelCase, in the
order of the message's fields; 64-bit integers as strings, as JavaScript's numbers would lose
digits; enums by name; empty or unset fields are omitted. A reader also takes snake_case, integers
as numbers, enums by number, and null for "not set".

The messages are dataclasses here. `write_model` returns the same text as PyTorch, byte for byte;
`read_model` returns a `ModelDef` for any text, or raises an ArchiveError that names the place, such
as `mainModule.submodules[0].parameters[1].tensorId`.

How the real one differs: the code is generated from torch.proto, and Google's library converts
between JSON and messages.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from internals.core import dtype as dt

from ..errors import ArchiveError

M = TypeVar("M")
LIMIT = 2**63  # of an int64
DEEPEST = 100  # messages inside messages, as in protobuf

DATA_TYPES = {
    "UNDEFINED": 0, "FLOAT": 1, "INT32": 2, "BYTE": 3, "STRING": 4, "BOOL": 5, "UINT8": 6,
    "INT8": 7, "UINT16": 8, "INT16": 9, "INT64": 10, "FLOAT16": 12, "DOUBLE": 13,
}  # fmt: skip
# The ones that tensors have. PyTorch wrote UINT8, never BYTE, and BOOL only since 1.2.
DTYPES = {
    "FLOAT": dt.float32, "DOUBLE": dt.float64, "INT64": dt.int64, "INT32": dt.int32,
    "INT16": dt.int16, "INT8": dt.int8, "BYTE": dt.uint8, "UINT8": dt.uint8, "FLOAT16": dt.float16,
    "BOOL": dt.bool_,
}  # fmt: skip


def field(kind: str, *, many: bool = False) -> Any:
    """A field of a message: `kind` is "int64", "bool", "string", "enum" or the name of a message;
    `many` makes it a list. The order of the fields is that of the text.
    """
    metadata = {"kind": kind, "many": many}
    if many:
        return dataclasses.field(default_factory=list, metadata=metadata)
    return dataclasses.field(default=None, metadata=metadata)


@dataclass
class RecordRef:
    """A record of the archive, by name."""

    key: str | None = field("string")


@dataclass
class TensorDef:
    """A view of a storage. `dims`, `strides` and `offset` count elements; `data_type` is one of
    DATA_TYPES.
    """

    dims: list[int] = field("int64", many=True)
    offset: int | None = field("int64")
    strides: list[int] = field("int64", many=True)
    requires_grad: bool | None = field("bool")
    data_type: str | None = field("enum")
    data: RecordRef | None = field("RecordRef")
    device: str | None = field("string")


@dataclass
class ParameterDef:
    """A parameter or buffer of a module; `tensor_id` is its index in the table of tensors."""

    is_buffer: bool | None = field("bool")
    tensor_id: int | None = field("int64")
    name: str | None = field("string")


@dataclass
class AttributeDef:
    """A non-tensor attribute, since 1.1; `id` is its index in `attributes.pkl`."""

    type: str | None = field("string")
    name: str | None = field("string")
    id: int | None = field("int64")


@dataclass
class ModuleDef:
    """A module. The code of its methods, if it has any, is in the record `torchscript_arena`."""

    submodules: list[ModuleDef] = field("ModuleDef", many=True)
    torchscript_arena: RecordRef | None = field("RecordRef")
    parameters: list[ParameterDef] = field("ParameterDef", many=True)
    name: str | None = field("string")
    optimize: bool | None = field("bool")
    attributes: list[AttributeDef] = field("AttributeDef", many=True)
    get_state_attribute_id: int | None = field("int64")


@dataclass
class ModelDef:
    """The root of the file: the module, and the table of all tensors that it refers to."""

    proto_version: int | None = field("int64")
    main_module: ModuleDef | None = field("ModuleDef")
    producer_name: str | None = field("string")
    producer_version: str | None = field("string")
    tensors: list[TensorDef] = field("TensorDef", many=True)


MESSAGES: dict[str, type] = {
    c.__name__: c for c in (RecordRef, TensorDef, ParameterDef, AttributeDef, ModuleDef, ModelDef)
}


# Writing


def write_model(model: ModelDef) -> str:
    """The text of `model.json`."""
    return json.dumps(_as_json(model), separators=(",", ":"), ensure_ascii=False)


def _as_json(message: Any) -> dict[str, Any]:
    """A message as a JSON object, without its unset and empty fields."""
    found = {}
    for f in dataclasses.fields(message):
        value = getattr(message, f.name)
        if value is None or value == []:
            continue
        write = _WRITERS.get(f.metadata["kind"], _as_json)
        found[camel_case(f.name)] = (
            [write(v) for v in value] if f.metadata["many"] else write(value)
        )
    return found


_WRITERS: dict[str, Callable[[Any], Any]] = {"int64": str, "bool": bool, "string": str, "enum": str}


def camel_case(name: str) -> str:
    """`tensorId` for `tensor_id`."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


# Reading


def read_model(text: str, *, archive: str = "") -> ModelDef:
    """Returns the message in a text. Unknown keys are ignored, as by PyTorch since 1.2.

    Raises ArchiveError, with the place, if the text is not JSON or does not fit the messages.
    """
    reader = _Reader(archive)
    try:
        value = json.loads(text, object_pairs_hook=_Pairs, parse_constant=_no_constant)
    except RecursionError:
        raise reader.error("", "is nested too deeply") from None
    except ValueError as why:
        raise reader.error("", f"is no JSON: {why}") from None
    model: ModelDef = reader.message(ModelDef, value, "", 0)
    return model


class _Pairs(list[tuple[str, Any]]):
    """A JSON object as pairs, so that a key that occurs twice is noticed; a dict would hide it."""


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not a JSON number")


class _Reader:
    """Converts JSON values to messages. `path` is the place of a value, for errors."""

    def __init__(self, archive: str) -> None:
        self.archive = archive

    def error(self, path: str, message: str) -> ArchiveError:
        return ArchiveError(
            f"{path} {message}" if path else message, archive=self.archive, record="model.json"
        )

    def message(self, kind: type[M], value: Any, path: str, depth: int) -> M:
        """A message of class `kind`, from a JSON object."""
        if depth > DEEPEST:
            raise self.error(path[:200], f"is nested more than {DEEPEST} deep")
        if not isinstance(value, _Pairs):
            raise self.error(path or "the text", f"must be an object, not {_shown(value)}")
        fields = {
            spelling: f
            for f in dataclasses.fields(kind)  # type: ignore[arg-type]
            for spelling in (camel_case(f.name), f.name)
        }
        found: dict[str, Any] = {}
        for key, inner in value:
            f = fields.get(key)
            if f is None:
                continue
            place = f"{path}.{key}" if path else key
            if f.name in found:
                raise self.error(place, "is there twice")
            if inner is not None:
                found[f.name] = self.field(f, inner, place, depth)
        return kind(**found)

    def field(self, f: dataclasses.Field[Any], value: object, path: str, depth: int) -> Any:
        """The value of a field, which is a list if the field is `many`."""
        kind = f.metadata["kind"]
        if not f.metadata["many"]:
            return self.value(kind, value, path, depth)
        if not isinstance(value, list) or isinstance(value, _Pairs):
            raise self.error(path, f"must be a list, not {_shown(value)}")
        return [self.value(kind, v, f"{path}[{i}]", depth) for i, v in enumerate(value)]

    def value(self, kind: str, value: object, path: str, depth: int) -> Any:
        """A single value of a field's kind. `depth` counts the messages around it."""
        if kind in MESSAGES:
            return self.message(MESSAGES[kind], value, path, depth + 1)
        if kind == "int64":
            return self.integer(value, path)
        if kind == "enum":
            return self.data_type(value, path)
        if not isinstance(value, bool if kind == "bool" else str):
            raise self.error(
                path,
                f"must be {'true or false' if kind == 'bool' else 'a string'}, not {_shown(value)}",
            )
        return value

    def integer(self, value: Any, path: str) -> int:
        """An int64, written as "12", 12 or 1.2e1."""
        number = value
        if isinstance(value, str):
            if not re.fullmatch(r"-?[0-9]{1,19}", value):
                raise self.error(path, f"must be an integer, not {_shown(value)}")
            number = int(value)
        if isinstance(number, float) and number.is_integer():
            number = int(number)
        if isinstance(number, bool) or not isinstance(number, int):
            raise self.error(path, f"must be an integer, not {_shown(value)}")
        if not -LIMIT <= number < LIMIT:
            raise self.error(path, f"must fit in 64 bits, not {_shown(value)}")
        return number

    def data_type(self, value: Any, path: str) -> str:
        """The name of a data type, given by its name or its number."""
        if isinstance(value, str) and value in DATA_TYPES:
            return value
        for name, number in DATA_TYPES.items():
            if type(value) is int and value == number:
                return name
        raise self.error(path, f"must be one of {', '.join(DATA_TYPES)}, not {_shown(value)}")


def _shown(value: object) -> str:
    """A JSON value as the text of an error, of 60 characters at most."""
    if isinstance(value, _Pairs):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= LIMIT:
        return "a number of more than 64 bits"
    return json.dumps(value)[:60]

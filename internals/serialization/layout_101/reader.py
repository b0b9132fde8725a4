"""Reads the archive of PyTorch 1.0 (`torch/csrc/jit/import_legacy.cpp`, in PyTorch until 1.10).

`model.json` has a tree of modules and a table of tensors. Every module gets a class of its own,
with the tensors as parameters and buffers; its code record has the methods, as functions whose
first argument is `self`. The code is TorchScript, and most of its operators mean the same today;
for the others the archive has its version, 1 (`script/upgraders.py`).

    {"name": "conv1", "parameters": [{"name": "weight", "tensorId": "1"}]}
        self.conv1.weight, tensor number 1 of the table
    {"dims": ["2", "3"], "strides": ["3", "1"], "data": {"key": "tensors/1"}}
        a view of a record, which is not copied out of the file
    op_version_set = 0
    def forward(self, x: Tensor) -> Tensor: ...
        a method

Archives of 1.1 and 1.2 have the same layout, and a pickle of non-tensor attributes. They can be
loaded, too, unless a module restores its state with `__setstate__`, as that would run code.

How the real one differs: it also reads archives of the other byte order, and quantized tensors.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from internals.core.device import device
from internals.core.dtype import dtype
from internals.jit.frontend.annotations import type_of_expr
from internals.jit.frontend.source import ParsedFunction
from internals.jit.ir import ClassType, TensorType
from internals.jit.script_module import RecursiveScriptModule
from internals.nn.parameter import Parameter
from internals.storage import TypedStorage

from ..container.zip_reader import ArchiveReader
from ..errors import ArchiveError
from ..pickles.pickled_types import find_allowed, marked, view_of
from ..pickles.storages import moved
from ..pickles.unpickler import Constructor, unpickle
from ..script.archive_literals import is_name
from ..script.imported_function import refusing
from ..script.script_reader import check_path, checked_location, fill_extra_files, version_of
from ..script.source_importer import ArchiveSource, SourceImporter, parse
from ..script.typed_values import Sizes, check_type
from ..text_limits import CODE, JSON, TextBudget
from .functions import Function101, Namespace101
from .model_json import DTYPES, ModelDef, ModuleDef, TensorDef, read_model

if TYPE_CHECKING:
    from internals.jit.ir.types import Type

T = TypeVar("T")

MODEL = "model.json"


def load_101(
    f: object, map_location: object = None, extra_files: dict[str, Any] | None = None
) -> RecursiveScriptModule:
    """Returns the module in an archive of the old layout: a path, a file object, or an
    ArchiveReader.

    `map_location` (a str or device) is the device for the tensors. Raises ValueError if there is no
    such file; ArchiveError, which names the record and the place in it, if the archive is wrong.
    """
    location = checked_location(map_location)
    if isinstance(f, ArchiveReader):
        return _load(f, location, extra_files)
    check_path(f)
    with ArchiveReader(f) as reader:
        return _load(reader, location, extra_files)


def _load(
    reader: ArchiveReader, location: device | None, extra_files: dict[str, Any] | None
) -> RecursiveScriptModule:
    version = version_of(reader)
    model = read_model(TextBudget(reader, JSON).text(MODEL), archive=reader.name)
    module = _Loading(reader, model, version, location).main_module()
    fill_extra_files(reader, extra_files)
    return module


class _Loading:
    """Builds the modules of one archive. `path` is always a place in model.json, for errors."""

    def __init__(
        self, reader: ArchiveReader, model: ModelDef, version: int, location: device | None
    ) -> None:
        self.reader, self.model, self.location = reader, model, location
        self.storages: dict[str, TypedStorage] = {}
        self.parameters: dict[int, Parameter] = {}
        self.tensors = [self.tensor(t, f"tensors[{i}]") for i, t in enumerate(model.tensors)]
        self.code = TextBudget(reader, CODE)
        # Since 1.2: classes and functions that several modules use.
        libraries = {
            name: self.code.text(name) for name in reader.records if name.startswith("libs/")
        }
        importer = SourceImporter(
            lambda record: libraries.get(f"libs/{record.removeprefix('code/')}"),
            version=version,
            archive=reader.name,
        )
        self.namespace = Namespace101(
            [t.detach() for t in self.tensors], version, importer.find_value, importer.find_type
        )
        self.attributes = self.attribute_values()

    def error(self, path: str, message: str) -> ArchiveError:
        return ArchiveError(f"{path} {message}", archive=self.reader.name, record=MODEL)

    def required(self, value: T | None, path: str) -> T:
        if value is None or value == "":
            raise self.error(path, "is missing")
        return value

    # Tensors

    def tensor(self, definition: TensorDef, path: str) -> Any:
        """A tensor of the table, as a view of its storage."""
        data_type = self.required(definition.data_type, f"{path}.dataType")
        kind = DTYPES.get(data_type)
        if kind is None:
            raise self.error(f"{path}.dataType", f"is {data_type}, of which there are no tensors")
        storage = self.storage(definition, kind, path)
        try:
            t = view_of(
                storage, definition.offset or 0, tuple(definition.dims), tuple(definition.strides)
            )
            return marked(t, bool(definition.requires_grad))
        except (ArchiveError, RuntimeError) as why:
            raise self.error(path, getattr(why, "message", str(why))) from None

    def storage(self, definition: TensorDef, kind: dtype, path: str) -> TypedStorage:
        """The storage of a tensor on its device. All tensors of a record share one, so they have to
        have one dtype.
        """
        key = self.required(definition.data.key if definition.data else None, f"{path}.data.key")
        place = self.required(definition.device, f"{path}.device")
        known = self.storages.get(key)
        if known is None:
            if not self.reader.has(key):
                raise self.error(
                    f"{path}.data.key", f"names the record '{key[:200]}', which is not there"
                )
            storage = self.reader.storage(key)
            try:
                storage = moved(storage, self.location if self.location is not None else place)
            except RuntimeError as why:
                raise self.error(f"{path}.device", f"is '{place[:40]}': {why}") from None
            known = self.storages[key] = TypedStorage(storage, kind)
        elif known.dtype is not kind:
            raise self.error(
                f"{path}.dataType", f"is not that of another tensor of the record '{key[:200]}'"
            )
        return known

    # Modules

    def main_module(self) -> RecursiveScriptModule:
        definition = self.required(self.model.main_module, "mainModule")
        definition.name = definition.name or self.reader.top
        return self.module(definition, "mainModule", ("__torch__",))

    def module(
        self, definition: ModuleDef, path: str, prefix: tuple[str, ...]
    ) -> RecursiveScriptModule:
        """A module, with its submodules first: its methods may read tensors of all of them."""
        name = self.required(definition.name, f"{path}.name")
        if "." in name and len(prefix) > 1:
            raise self.error(f"{path}.name", f"'{name[:200]}' has a dot in it")
        type = ClassType(".".join((prefix[0], "_".join((*prefix[1:], name.replace(".", "_"))))))
        values: dict[str, Any] = {}
        self.add_tensors(type, values, definition, path)
        self.add_attributes(type, values, definition, path)
        for i, inner in enumerate(definition.submodules):
            place = f"{path}.submodules[{i}]"
            child = self.module(inner, place, (*prefix, name.replace(".", "_")))
            self.add(
                type, values, inner.name or "", child, child._jit_type, "module", f"{place}.name"
            )
        if definition.get_state_attribute_id is not None:
            raise self.error(
                f"{path}.getStateAttributeId",
                "says that the module makes its state by a method __setstate__; nothing in a file "
                "is run while it is loaded",
            )
        if definition.torchscript_arena is not None:
            record = self.required(definition.torchscript_arena.key, f"{path}.torchscriptArena.key")
            if not self.reader.has(record):
                raise self.error(
                    f"{path}.torchscriptArena.key",
                    f"names the record '{record[:200]}', which is not there",
                )
            self.add_methods(type, record)
        return RecursiveScriptModule._construct(type, name, values)

    def add(
        self,
        type: ClassType,
        values: dict[str, Any],
        name: str,
        value: Any,
        kind_of: Type,
        kind: str,
        path: str,
    ) -> None:
        """Adds an attribute of type `kind_of` to a class and its values. `kind` is "module",
        "parameter", "buffer" or "attribute".
        """
        if not name or "." in name:
            raise self.error(path, f"must be the name of a {kind}, not '{name[:200]}'")
        if name in values:
            raise self.error(path, f"is '{name[:200]}', as something else in this module")
        type.addAttribute(name, kind_of, kind)
        values[name] = value

    def add_tensors(
        self, type: ClassType, values: dict[str, Any], definition: ModuleDef, path: str
    ) -> None:
        """Adds the parameters and buffers of a module, by their index in the table of tensors."""
        for i, parameter in enumerate(definition.parameters):
            place = f"{path}.parameters[{i}]"
            number = self.required(parameter.tensor_id, f"{place}.tensorId")
            if not 0 <= number < len(self.tensors):
                raise self.error(
                    f"{place}.tensorId", f"is {number}, and there are {len(self.tensors)} tensors"
                )
            kind = "buffer" if parameter.is_buffer else "parameter"
            value = self.tensors[number] if parameter.is_buffer else self.parameter(number)
            self.add(
                type, values, parameter.name or "", value, TensorType.get(), kind, f"{place}.name"
            )

    def parameter(self, number: int) -> Parameter:
        """The parameter for an index in the table. Modules that name the same index share it."""
        if number not in self.parameters:
            t = self.tensors[number]
            self.parameters[number] = Parameter(t.detach(), requires_grad=t.requires_grad)
        return self.parameters[number]

    def add_attributes(
        self, type: ClassType, values: dict[str, Any], definition: ModuleDef, path: str
    ) -> None:
        """Adds the attributes that 1.1 and 1.2 kept in a pickle."""
        for i, attribute in enumerate(definition.attributes):
            place = f"{path}.attributes[{i}]"
            name, text = attribute.name or "", self.required(attribute.type, f"{place}.type")
            number = self.required(attribute.id, f"{place}.id")
            if name in values and text == "Tensor":
                continue  # a buffer, which is listed twice
            if not 0 <= number < len(self.attributes):
                raise self.error(
                    f"{place}.id", f"is {number}, and there are {len(self.attributes)} attributes"
                )
            with refusing(self.reader.name, MODEL):
                kind = self.type_of(text)
                check_type(self.attributes[number], kind, f"the attribute '{name}'")
            self.add(
                type, values, name, self.attributes[number], kind, "attribute", f"{place}.name"
            )

    def type_of(self, text: str) -> Any:
        """The type that an annotation such as `List[int]` means."""
        from internals.jit.frontend.build_expressions import build_expression
        from internals.jit.frontend.source import parse_expression

        context = ArchiveSource(text, MODEL, 1)
        return type_of_expr(build_expression(context, parse_expression(text)), self.namespace)

    def attribute_values(self) -> list[Any]:
        """The values of all attributes, in the order of the pickle; [] before 1.1."""
        record = "attributes.pkl"
        if not self.reader.has(record):
            return []
        found = unpickle(
            self.reader.read(record), find_global=self.find_global, persistent_load=_no_storages,
            archive=self.reader.name, record=record,
        )  # fmt: skip
        if not isinstance(found, (list, tuple)):
            raise ArchiveError(
                "the attributes are not in a list or tuple", archive=self.reader.name, record=record
            )
        with refusing(self.reader.name, record):
            Sizes(self.reader.records[record].size).check(found, "the attributes")
        return list(found)

    def find_global(self, module: str, name: str) -> Any:
        """The constructor for a name in the pickle, where a tensor is its index in the table."""
        if (module, name) in (
            ("__main__", "TensorID"),
            ("torch.jit._pickle", "build_tensor_from_id"),
        ):
            return _Function(name, self.tensor_by_id)
        if (module, name) == ("__main__", "IntList"):
            return _Function(name, lambda items: items)
        return find_allowed(module, name)

    def tensor_by_id(self, number: int) -> Any:
        if type(number) is not int or not 0 <= number < len(self.tensors):
            raise ArchiveError(f"there is no tensor number {str(number)[:40]}")
        return self.tensors[number]

    # Code

    def add_methods(self, type: ClassType, record: str) -> None:
        """Adds the functions of a code record as methods. Their bodies are compiled when they are
        first called.
        """
        text = self.code.text(record)
        with refusing(self.reader.name, record):
            version, *definitions = parse(text).body or [ast.Pass()]
            _check_version(version)
            context = ArchiveSource(text, record, 1)
            for definition in definitions:
                if isinstance(definition, (ast.Import, ast.ImportFrom)):
                    continue  # of a library, in 1.2: names are resolved when they are used
                if not isinstance(definition, ast.FunctionDef):
                    raise ValueError(
                        f"line {definition.lineno}: there are only methods in a code record"
                    )
                if definition.name in type.methods or definition.name in type.attributes:
                    raise ValueError(
                        f"line {definition.lineno}: '{definition.name}' is there twice"
                    )
                parsed = ParsedFunction(definition, context, text)
                qualified = f"{type.name()}.{definition.name}"
                type.addMethod(
                    definition.name,
                    Function101(parsed, self.namespace, qualified, type, self.reader.name),
                )


def _check_version(statement: ast.stmt) -> None:
    """Raises ValueError unless the first line is like `op_version_set = 0`."""
    if not (isinstance(statement, ast.Assign) and is_name(statement.targets[0], "op_version_set")):
        raise ValueError("expected an assignment to op_version_set")
    value = statement.value
    if not (isinstance(value, ast.Constant) and type(value.value) is int):
        raise ValueError(f"expected an integral version but found {ast.unparse(value)[:40]}")


def _no_storages(persistent_id: Any) -> Any:
    raise ArchiveError("there are no storages in this pickle")


class _Function(Constructor):
    """A function of one argument that a pickle may call."""

    def __init__(self, name: str, function: Callable[[Any], Any]) -> None:
        self.name, self.function = name, function

    def __call__(self, *args: Any) -> Any:
        if len(args) != 1:
            raise ArchiveError(f"{self.name} takes one argument")
        return self.function(args[0])

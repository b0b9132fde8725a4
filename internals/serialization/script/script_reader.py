"""`jit.load`: loads a compiled module from an archive (`torch/csrc/jit/serialization/import.cpp`,
`torch/jit/_serialization.py`).

    data.pkl            the module: a pickle that names classes and has the values of their
                        attributes
    code/               the classes, as source: `source_importer.py`
    data/0, data/1 ...  the bytes of the tensors
    constants.pkl       a tuple of the values that the code calls `CONSTANTS.c0`, `CONSTANTS.c1`,
                        with their bytes in constants/0 ...
    version             the version of the operators in the code

Loading does little: it maps the file, reads the constants, runs the pickle, and reads a class when
the pickle names it. No byte of a tensor is read, and nothing is compiled; that happens when a
method is first called.

How the real one differs: it compiles everything, and runs the `__setstate__` of classes that have
one.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from internals.core.corrected import corrected
from internals.core.device import device
from internals.core.tensor_impl import Tensor
from internals.jit.ir import ClassType
from internals.jit.script_module import RecursiveScriptModule
from internals.jit.script_object import ScriptObject
from internals.nn.parameter import Parameter

from ..container.zip_reader import ArchiveReader
from ..errors import ArchiveError
from ..pickles.pickled_types import find_allowed
from ..pickles.storages import tensor_loader
from ..pickles.unpickler import Constructor, unpickle
from ..text_limits import CODE, TextBudget
from .archive_names import CURRENT_VERSION
from .imported_function import refusing
from .source_importer import SourceImporter
from .typed_values import Sizes, check_type

MIN_VERSION = 1  # of the operators


def load_script(
    f: object, map_location: object = None, extra_files: dict[str, Any] | None = None
) -> Any:
    """Loads the module that `jit.save` wrote to `f`, a path or a binary file object.

    `map_location` (a str or device) is the device for the tensors. `extra_files` is filled in: its
    keys are names of files that were saved with the module, its values become their contents
    (bytes, empty for missing files).

    Returns a RecursiveScriptModule. Raises ValueError if there is no such file, or for a wrong
    `map_location`; ArchiveError, with the record, if the file is not such an archive, or contains
    anything that is not allowed.
    """
    location = checked_location(map_location)
    check_path(f)
    with ArchiveReader(f) as reader:
        if reader.has("model.json"):
            from ..layout_101.reader import load_101

            return load_101(reader, location, extra_files)
        if reader.has("archive_format"):
            raise ArchiveError(
                corrected(
                    "an exported program (torch.export.save), not TorchScript (`python -m "
                    "internals convert` makes it so)",
                    "torch.jit.load(path)",
                    "torch.export.load(path)",
                ),
                archive=reader.name,
            )
        version = version_of(reader)
        if not reader.has("constants.pkl") and not any(
            name.startswith("code/") for name in reader.records
        ):
            raise ArchiveError(
                corrected(
                    "PytorchStreamReader failed locating file constants.pkl: file not found. The "
                    "archive has no code: it was written by torch.save, not by torch.jit.save",
                    "torch.jit.load(path)",
                    "torch.load(path)",
                ),
                archive=reader.name,
            )
        module = ModuleReader(reader, version, location).read()
        fill_extra_files(reader, extra_files)
    return module


class ModuleReader:
    """Reads the module of one archive."""

    def __init__(self, reader: ArchiveReader, version: int, location: device | None) -> None:
        self.reader, self.location = reader, location
        constants = self.unpickle("constants", find_allowed)
        if not isinstance(constants, tuple):
            raise ArchiveError(
                "the constants are not in a tuple", archive=reader.name, record="constants.pkl"
            )
        # Code is compiled later, when the file may be gone: its text is read now.
        code = TextBudget(reader, CODE)
        sources = {name: code.text(name) for name in reader.records if is_code(name)}
        self.importer = SourceImporter(sources.get, constants, version, reader.name)
        self.classes: dict[tuple[str, str], ObjectConstructor] = {}
        # id of an object -> its attributes
        self.built: dict[int, tuple[ObjectConstructor, dict[str, Any]]] = {}
        self.parameters: dict[int, tuple[Any, Parameter]] = {}

    def read(self) -> Any:
        """Returns the module. Raises ArchiveError for a wrong pickle or wrong code."""
        with refusing(self.reader.name, "data.pkl"):
            try:
                module = self.unpickle("data", self.find_global)
                self.check_again()
                complete = id(module) in self.built
            finally:
                for known in (self.classes, self.built):
                    known.clear()  # else these cycles would keep the parameters alive
            Sizes(self.reader.records["data.pkl"].size).check(module, "the module")
        if not isinstance(module, RecursiveScriptModule) or not complete:
            what = type(module).__name__
            raise ArchiveError(
                f"not a module, but a {what}", archive=self.reader.name, record="data.pkl"
            )
        return module

    def unpickle(self, name: str, find_global: Callable[..., Any]) -> Any:
        """The object in the record `name.pkl`, whose storages are the records `name/...`."""
        record = f"{name}.pkl"
        load_storage = tensor_loader(self.reader, name, self.location)
        data = self.reader.read(record)
        return unpickle(
            data,
            find_global=find_global,
            persistent_load=load_storage,
            archive=self.reader.name,
            record=record,
        )

    def check_again(self) -> None:
        """Checks containers among the attributes again: the pickle may have added wrong items to
        them after the first check.
        """
        for constructor, values in self.built.values():
            for name, value in values.items():
                if isinstance(value, (list, dict)):
                    constructor.check(name, value)

    def find_global(self, module: str, name: str) -> Any:
        """The constructor for a name in the pickle: of a class of the archive, or of those that
        every pickle may name.
        """
        if module.partition(".")[0] in ("torch", "collections", "builtins", "_codecs"):
            return find_allowed(module, name)
        known = self.classes.get((module, name))
        if known is None:
            type = self.importer.class_type(f"{module}.{name}")
            known = self.classes[module, name] = ObjectConstructor(self, type)
        return known

    def parameter(self, tensor: Tensor | None) -> Any:
        """The parameter for a tensor, one for each tensor; None for None."""
        if tensor is None:
            return None
        known = self.parameters.get(id(tensor))
        if known is None:
            requires_grad = tensor.requires_grad
            made = Parameter(
                tensor.detach() if requires_grad else tensor, requires_grad=requires_grad
            )
            known = self.parameters[id(tensor)] = tensor, made
        return known[1]


class ObjectConstructor(Constructor):
    """A class of the archive, as the pickle uses it: creates an object and sets its attributes."""

    def __init__(self, reader: ModuleReader, type: ClassType) -> None:
        self.reader, self.type, self.name = reader, type, type.name()
        if type.findMethod("__setstate__") is not None:
            raise ArchiveError(
                f"objects of '{self.name}' get their state from a method __setstate__; nothing in "
                "a file is run while it is loaded. Save the module without __getstate__ and "
                "__setstate__"
            )

    def new(self, *args: Any) -> Any:
        if args:
            raise ArchiveError(f"an object of {self.name} is made without arguments")
        if not self.type.is_module:
            return ScriptObject(self.type)
        return RecursiveScriptModule._without_values(self.type, self.name.rpartition(".")[2])

    def set_state(self, obj: Any, state: Any) -> None:
        """Sets the attributes, once: exactly those of the class, each of its type. Objects among
        them must be complete, so that none contains itself.
        """
        if id(obj) in self.reader.built:
            raise ArchiveError(f"an object of {self.name} gets its attributes twice")
        if not isinstance(state, dict):
            raise ArchiveError(
                f"the attributes of a {self.name} are in a dict, not in a {type(state).__name__}"
            )
        missing = [name for name in self.type.attributes if name not in state]
        if missing:
            raise ArchiveError(
                f"an object of {self.name} has no value for its attribute '{missing[0]}'"
            )
        if len(state) > len(self.type.attributes):
            extra = next(name for name in state if name not in self.type.attributes)
            raise ArchiveError(
                f"an object of {self.name} has a value for {extra!r}, which is no attribute of the "
                "class"
            )
        values = {name: self.value(name, state[name]) for name in self.type.attributes}
        if self.type.is_module:
            obj._fill(values)
            obj._forward_pre_hooks.update(enumerate(self.type.forward_pre_hooks))
            obj._forward_hooks.update(enumerate(self.type.forward_hooks))
        else:
            obj.__dict__.update(values)
        self.reader.built[id(obj)] = self, values

    def value(self, name: str, value: Any) -> Any:
        """The checked value of an attribute; a parameter for a tensor that is one in the class."""
        self.check(name, value)
        return (
            self.reader.parameter(value)
            if self.type.attributes[name].kind == "parameter"
            else value
        )

    def check(self, name: str, value: object) -> None:
        """Raises ArchiveError unless `value` has the attribute's type and complete objects."""
        check_type(value, self.type.attributes[name].type, f"the attribute '{name}' of {self.name}")
        self.check_built(value)

    def check_built(self, value: object) -> None:
        """Raises ArchiveError if `value` contains an object without its attributes: this one is
        still being built, so it would contain itself.
        """
        todo, seen = [value], set()
        while todo:
            each = todo.pop()
            if (
                isinstance(each, (RecursiveScriptModule, ScriptObject))
                and id(each) not in self.reader.built
            ):
                raise ArchiveError(f"an object of {each._jit_type.name()} is a part of itself")
            if isinstance(each, (list, tuple, dict)) and id(each) not in seen:
                seen.add(id(each))
                todo += [*each, *each.values()] if isinstance(each, dict) else each


def checked_location(map_location: object) -> device | None:
    """The device for the tensors; None for the devices in the file. Raises ValueError for anything
    but a str, a device or None.
    """
    if isinstance(map_location, str):
        return device(map_location)
    if map_location is None or isinstance(map_location, device):
        return map_location
    raise ValueError(
        "map_location should be either None, string or torch.device, but got type: "
        f"{type(map_location)}"
    )


def check_path(f: object) -> None:
    """Raises ValueError if `f` is a path without a file."""
    if isinstance(f, (str, os.PathLike)):
        if not os.path.exists(f):
            raise ValueError(f"The provided filename {f} does not exist")
        if os.path.isdir(f):
            raise ValueError(f"The provided filename {f} is a directory")


def version_of(reader: ArchiveReader) -> int:
    """The version of an archive, from the record `version` or `.data/version`. Raises ArchiveError
    for a version that is not known here.
    """
    record = "version" if reader.has("version") else ".data/version"

    def refused(message: str) -> ArchiveError:
        return ArchiveError(message, archive=reader.name, record="version")

    if not reader.has(record):
        raise refused('Expected hasRecord("version") to be true, but got false')
    text = reader.text(record).strip()
    if not (text.isascii() and text.removeprefix("-").isdigit() and len(text) < 19):
        raise refused(f"Couldn't parse the version {text[:40]} as Long Long")
    version = int(text)
    if version < MIN_VERSION:
        raise refused(
            f"Attempted to read a PyTorch file with version {version}, but the minimum supported "
            f"version for reading is {MIN_VERSION}. Your PyTorch script module file is too old. "
            "Please regenerate it with latest version of PyTorch to mitigate this issue"
        )
    if version > CURRENT_VERSION:
        raise refused(
            f"Attempted to read a PyTorch file with version {version}, but the maximum supported "
            f"version for reading is {CURRENT_VERSION}. The version of your PyTorch installation "
            "may be too old, please upgrade PyTorch to latest version to mitigate this issue"
        )
    return version


def is_code(name: str) -> bool:
    return name.startswith("code/") and name.endswith(".py")


def fill_extra_files(reader: ArchiveReader, extra_files: dict[str, Any] | None) -> None:
    """Replaces the values by the contents of the files whose names are the keys: empty for missing
    files, as in PyTorch.
    """
    for name in extra_files or ():
        record = f"extra/{name}"
        assert extra_files is not None
        extra_files[name] = reader.read(record) if reader.has(record) else b""

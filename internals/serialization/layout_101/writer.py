"""Writes the archive of PyTorch 1.0, which the talk shows (`ScriptModuleSerializer` in
`torch/csrc/jit/export.cpp` of that time).

    resnet/version            1
    resnet/code/resnet.py     the methods of the module; one more record for every submodule that
                              has methods
    resnet/tensors/0, 1, ...  the storages
    resnet/model.json         the modules, and for each tensor its storage, sizes and strides

A module of 1.0 is a tree of tensors with code at some of its nodes; the methods of a node read the
tensors of the whole tree below it. A traced module has code only at the root, as its trace is one
graph. Non-tensor attributes have no place in this; they become constants in the code (`lower.py`).

All tensors are in one table, also the constants of the code. Several may be views of one storage,
which is written once and completely.

How the real one differs: it stored a constant that equals a parameter as that parameter, so that
they changed together; here constants share an entry only with other constants.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from internals.core.storage import Storage
from internals.core.tensor_impl import Tensor
from internals.jit.ir import all_nodes
from internals.jit.script_function import ScriptFunction
from internals.jit.script_module import ScriptModule
from internals.jit.tracing.traced_module import TopLevelTracedModule, TracedModule

from ..container.zip_writer import ArchiveWriter
from ..pickles.storages import storage_bytes
from .lower import Method, method_101
from .model_json import DTYPES, ModelDef, ModuleDef, ParameterDef, RecordRef, TensorDef, write_model
from .printer import print_101

if TYPE_CHECKING:
    from internals.nn.module import Module

# dtype -> the name that 1.0 wrote: UINT8 and not BYTE, and no BOOL
DATA_TYPE_OF = {kind: name for name, kind in DTYPES.items() if name not in ("BYTE", "BOOL")}


def save_101(m: ScriptFunction | ScriptModule | Module, f: object) -> None:
    """Writes a compiled module or function `m` to a path or file object `f`, so that PyTorch 1.0.1
    can read and run it.

    Raises RuntimeError, and leaves no file, for anything that 1.0.1 could not save or run:
    operators, dtypes and types that it lacked, attributes that methods set, calls of Python
    functions. The message names it.
    """
    with ArchiveWriter(f) as archive:
        _Saving(archive).save(m)


class _Saving:
    """The state of one save: the table of tensors, and the storages that they are views of."""

    def __init__(self, archive: ArchiveWriter) -> None:
        self.archive = archive
        self.tensors: list[TensorDef] = []
        self.constants: list[tuple[int, Any]] = []  # index in the table, tensor
        # (id of the storage, dtype): name of its record, storage
        self.storages: dict[tuple[int, Any], tuple[str, Storage]] = {}

    def save(self, m: ScriptFunction | ScriptModule | Module) -> None:
        self.archive.write("version", b"1\n")
        if isinstance(m, ScriptModule):
            main = self.module(m, (self.archive.top,))
        else:
            main = self.function(m)
        for record, storage in self.storages.values():
            self.archive.write(record, storage_bytes(storage))
        model = ModelDef(1, main, "pytorch", "1.0", self.tensors)
        self.archive.write("model.json", write_model(model).encode())

    def module(self, module: ScriptModule, path: tuple[str, ...]) -> ModuleDef:
        """The definition of a module: first its own tensors, then its code (with its constants),
        then its submodules. PyTorch's table of tensors has this order.
        """
        definition = ModuleDef(name=path[-1], optimize=True)
        for name, t, is_buffer in _tensors_of(module):
            place = ".".join((*path[1:], name))
            definition.parameters.append(
                ParameterDef(is_buffer, self.tensor(t, f"'{place}'"), name)
            )
        functions = [
            f for f in module._jit_type.methods.values() if not f.name.startswith("__")
        ]  # without `__len__` of a ModuleList
        if functions and not is_part_of_trace(module):
            methods = [self.method(function, module) for function in functions]
            definition.torchscript_arena = self.code("_".join(path), methods)
        definition.submodules = [
            self.module(child, (*path, name))
            for name, child in module._modules.items()
            if isinstance(child, ScriptModule)
        ]
        return definition

    def function(self, function: ScriptFunction | Module) -> ModuleDef:
        """The definition of a module without tensors, whose `forward` is the function."""
        if not isinstance(function, ScriptFunction):
            raise TypeError(
                f"only compiled modules and functions can be saved, not a {type(function).__name__}"
            )
        method = method_101(function)._replace(name="forward")
        arena = self.code(self.archive.top, [method])
        return ModuleDef(torchscript_arena=arena, name=self.archive.top, optimize=True)

    def method(self, function: ScriptFunction, module: ScriptModule) -> Method:
        """A method in the form of 1.0.1, with the names that a trace gave to its inputs."""
        method = method_101(function, module)
        if isinstance(module, TracedModule):
            name_inputs(method)
        return method

    def code(self, name: str, methods: list[Method]) -> RecordRef:
        """Writes a record of code, under a name that is still free."""
        record = stem = f"code/{re.sub('[^A-Za-z0-9_]', '_', name)}"
        while f"{record}.py" in self.archive.records:  # the modules a_b and a.b are both "a_b"
            record += "_"
        self.archive.write(f"{record}.py", print_101(methods, self.constant).encode())
        return RecordRef(f"{record if record != stem else stem}.py")

    def constant(self, t: Any) -> int:
        """The index of a constant in the table; equal constants share an entry."""
        for i, known in self.constants:
            if (
                known.dtype is t.dtype
                and known.size() == t.size()
                and known.device == t.device
                and t.equal(known)
            ):
                return i
        self.constants.append((self.tensor(t, "a constant"), t))
        return self.constants[-1][0]

    def tensor(self, t: Tensor, what: str) -> int:
        """Adds a tensor to the table and its storage to those to be written; returns the index.
        `what` names it in errors.
        """
        data_type = DATA_TYPE_OF.get(t.dtype)
        if data_type is None:
            raise RuntimeError(
                f"PyTorch 1.0.1 had no tensors of {t.dtype}, such as {what}: convert it, or use "
                "the modern format"
            )
        storage = t.untyped_storage()
        number = len(self.tensors)
        record, _ = self.storages.setdefault((id(storage), t.dtype), (f"tensors/{number}", storage))
        self.tensors.append(
            TensorDef(
                list(t.size()),
                t.storage_offset(),
                list(t.stride()),
                t.requires_grad,
                data_type,
                RecordRef(record),
                str(t.device),
            )
        )
        return number


def name_inputs(method: Method) -> None:
    """Names inputs that go straight into a layer `input`. A trace of 1.0 named a value after the
    last variable that held it, and that is the parameter's name in `nn.functional`.
    """
    for value in method.graph.inputs()[1 : len(method.schema.arguments)]:
        users = {use.user for use in value.uses()}
        first = next((n for n in all_nodes(method.graph.block()) if n in users), None)
        if first is not None and first.scopeName():
            value.setDebugName("input")


def _tensors_of(module: ScriptModule) -> Iterator[tuple[str, Tensor, bool]]:
    """Yields the name of each parameter and buffer, the tensor, and whether it is a buffer."""
    for name, attribute in module._jit_type.attributes.items():
        if attribute.kind in ("parameter", "buffer"):
            t = (module._parameters if attribute.kind == "parameter" else module._buffers)[name]
            if t is not None:
                yield name, t, attribute.kind == "buffer"


def is_part_of_trace(module: ScriptModule) -> bool:
    """Whether a module is inside of a traced one, whose single graph contains its code."""
    return isinstance(module, TracedModule) and not isinstance(module, TopLevelTracedModule)

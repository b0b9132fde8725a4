"""`jit.save`: writes a compiled module or function as an archive that PyTorch can run
(`torch/csrc/jit/serialization/export_module.cpp`).

    extra/NAME            files that the caller adds
    data/0, data/1, ...   storages
    data.pkl              the module: its class by name, its attributes        script_pickler.py
    code/__torch__.py     the classes, functions and named tuples it needs     class_printer.py
    constants/0, ...
    constants.pkl         the values that the code calls CONSTANTS.c0, CONSTANTS.c1, ...
    traced_inputs.pkl     for a traced module: sizes and dtypes of its example inputs, whose
                          records are empty
    version               the lowest that the operators allow                  op_versions.py
    byteorder
    .data/serialization_id

Graphs are saved as they are: a frozen module has only the attributes that freezing left. A function
becomes the `forward` of a module without tensors, `__torch__.PlaceholderModule`.

Everything that can fail, above all printing the code, is done before the file is opened.

How the real one differs: it writes while it prints, so an error leaves an incomplete file.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from internals.jit.ir import (
    AnyType,
    BoolType,
    ClassType,
    DictType,
    ListType,
    StringType,
    TupleType,
    type_of,
)
from internals.jit.script_function import ScriptFunction
from internals.jit.script_module import ScriptModule

from ..container.serialization_id import RECORD, serialization_id
from ..container.zip_writer import ArchiveWriter
from ..pickles.storages import StorageTable
from .class_printer import ArchiveCode
from .op_versions import version_record
from .script_pickler import ScriptPickler

INPUTS_TYPE = DictType(StringType.get(), ListType(AnyType.get()))
COMPRESS_ABOVE = 200  # bytes of code; less is stored as it is


def save_script(
    m: ScriptFunction | ScriptModule, f: Any, extra_files: dict[str, str | bytes] | None = None
) -> None:
    """Writes `m` to a path or file object. `extra_files` maps names to text or bytes.

    Raises AttributeError if `m` is not compiled, TypeError for extra files of another type, and
    RuntimeError for code that cannot be exported; then nothing has been written.
    """
    if not isinstance(m, (ScriptModule, ScriptFunction)):
        missing = "save" if isinstance(f, (str, os.PathLike)) else "save_to_buffer"
        raise AttributeError(f"'{type(m).__name__}' object has no attribute '{missing}'")
    extra = {f"extra/{name}": _as_bytes(name, data) for name, data in (extra_files or {}).items()}
    module = placeholder_module(m) if isinstance(m, ScriptFunction) else m
    code = ArchiveCode()
    data, constants, inputs = (
        StorageTable("data"),
        StorageTable("constants"),
        StorageTable("traced_inputs"),
    )
    data_pickle = ScriptPickler(data, code.names)
    pickled = data_pickle.dump_typed(module, module._jit_type)
    # The code of all classes in the pickle, in its order, and then of what they refer to.
    for kind in data_pickle.classes:
        code.add(kind)
    code.add_with_all_it_needs(module._jit_type)
    files = {name: text.encode() for name, text in code.files().items()}
    table = tuple(code.constants)
    pickled_constants = ScriptPickler(constants, code.names).dump_typed(
        table, TupleType([type_of(c) for c in table])
    )
    traced_inputs = module.__dict__.get("_traced_inputs")
    pickled_inputs = traced_inputs and ScriptPickler(inputs, code.names).dump_typed(
        traced_inputs, INPUTS_TYPE
    )
    with ArchiveWriter(f) as writer:
        for name, content in extra.items():
            writer.write(name, content)
        data.write_to(writer)
        writer.write("data.pkl", pickled)
        for name, content in files.items():
            writer.write(name, content, compress=len(content) > COMPRESS_ABOVE)
        constants.write_to(writer)
        writer.write("constants.pkl", pickled_constants)
        if pickled_inputs:
            for key in inputs.storages:  # the pickle refers to these records
                writer.write(f"{inputs.prefix}/{key}", b"")
            writer.write("traced_inputs.pkl", pickled_inputs)
        writer.write(version_record(code.version), f"{code.version}\n".encode())
        writer.write("byteorder", sys.byteorder.encode())
        writer.write(RECORD, serialization_id(writer).encode())


def placeholder_module(function: ScriptFunction) -> ScriptModule:
    """A module whose `forward` is the function, without the defaults of its arguments, as in
    PyTorch.
    """
    kind = ClassType("__torch__.PlaceholderModule")
    kind.addAttribute("training", BoolType.get())
    graph = function.graph.copy()
    graph.insertInput(0, "self").setType(kind)
    name = f"{kind.qualified_name}.forward"
    kind.addMethod("forward", ScriptFunction("forward", graph, qualified_name=name, is_method=True))
    return ScriptModule._construct(kind, "PlaceholderModule", {"training": True})


def _as_bytes(name: str, data: object) -> bytes:
    if not isinstance(name, str) or not isinstance(data, (str, bytes)):
        raise TypeError(
            f"_extra_files maps names to str or bytes, not {type(name).__name__} to "
            f"{type(data).__name__}: {name!r}"
        )
    return data.encode() if isinstance(data, str) else data

"""What the tests of `jit.save` share: archives taken apart, compared record by record, and run by
real PyTorch.
"""

from __future__ import annotations

import io
import itertools
import re
import sys
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import internals
from internals.serialization.container.zip_writer import ArchiveWriter
from internals.serialization.script.script_writer import save_script
from tests.answers import HAS_TORCH, answer
from tests.jit.corpus import Program, load
from tests.jit.corpus.running import copied, tensors_in
from tests.jit.modules import ModuleCase, namespace
from tests.serialization.archives_101 import records as all_records


def saved(m: Any, **options: Any) -> bytes:
    """What we write for a compiled module or function."""
    buffer = io.BytesIO()
    save_script(m, buffer, **options)
    return buffer.getvalue()


def records(data: bytes) -> dict[str, bytes]:
    """Record name, without the top folder, → content; in the archive's order. PyTorch's tables of
    source ranges are left out.
    """
    return {
        name: content
        for name, content in all_records(data).items()
        if not name.endswith(".debug_pkl")
    }


def code(data: bytes) -> str:
    """All code records, one behind the other."""
    return "".join(
        text.decode() for name, text in records(data).items() if name.startswith("code/")
    )


def comparable(data: bytes | dict[str, bytes], values: bool = False) -> dict[str, Any]:
    """The records of an archive, or these records, so that they can be compared.

    Without the numbers of mangled names; of storages only the names unless `values`; constants of
    classes in order of their names, since PyTorch's come out of a hash table.
    """
    found: dict[str, Any] = {}
    for name, content in (records(data) if isinstance(data, bytes) else data).items():
        name = re.sub(r"/?___torch_mangle_\d+", "", name)
        if (
            name.startswith((".data/serialization_id", "traced_inputs/"))
            or not values
            and re.search(r"/\d+$", name)
        ):
            found[name] = len(content) if name.startswith("traced_inputs/") else b""
        elif name.endswith(".py"):
            found[name] = found.get(name, []) + _constants_sorted(
                _without_mangling(content).decode().split("\n")
            )
        else:
            found[name] = _without_mangling(content)
    return found


def _without_mangling(content: bytes) -> bytes:
    return re.sub(rb"\.___torch_mangle_\d+", b"", content)


def _constants_sorted(lines: list[str]) -> list[str]:
    runs = itertools.groupby(lines, lambda line: ": Final[" in line)
    return [line for are_constants, run in runs for line in (sorted(run) if are_constants else run)]


def assert_alike(ours: bytes, theirs: dict[str, Any], values: bool = False) -> None:
    """The same records in the same order as those of `comparable(theirs)`, pickles and code byte
    for byte.
    """
    found = comparable(ours, values)
    assert list(found) == list(theirs)
    recorded = not HAS_TORCH and b"torch_mangle" in ours  # and names had other lengths then
    for name in found:
        same = (
            signature(found[name]) == signature(theirs[name])
            if recorded
            else found[name] == theirs[name]
        )
        assert same, f"{name}: {found[name]!r} against {theirs[name]!r}"


def archive_of(parts: dict[str, bytes]) -> bytes:
    """An archive of these records, in their order."""
    file = io.BytesIO()
    with ArchiveWriter(file) as writer:
        for name, content in parts.items():
            writer.write(name, content)
    return file.getvalue()


def saved_by_pytorch(ask: Callable[[Any], tuple[bytes | None, Any]]) -> tuple[Any, Any]:
    """An archive that real PyTorch saved, or None, and what else it says.

    The tables of source ranges, which name files of a machine, are read here and then left out.
    Which numbers the names of classes have depends on what was compiled before.
    """

    def keep(torch: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            data, said = ask(torch)
        if data is None:
            return None, said
        internals.jit.load(io.BytesIO(data))
        return records(data), said

    def essence(kept: Any) -> Any:
        parts, said = kept  # how the code is written depends on what was compiled before
        return parts if parts is None else sorted(comparable(parts)), signature(said)

    parts, said = answer(keep, family="archives", essence=essence)
    return None if parts is None else archive_of(parts), said


WORDS = re.compile(r"""[\w.]+\(|"[^"]*"|'[^']*'|(?<![\w.%])\d[\w.]*|==|[-+*/<>!@&|^~]+""")


def signature(parts: Any) -> Any:
    """Of code only the calls, literals and operators, sorted: with names of other lengths, lines
    are broken otherwise. Of a pickle only the words, as it also has their lengths.

    Names are longer where a class of that name had been compiled before, in another test.
    """
    if isinstance(parts, str) or (isinstance(parts, list) and parts and isinstance(parts[0], str)):
        text = parts if isinstance(parts, str) else "\n".join(parts)
        return sorted(WORDS.findall(re.sub(r"\.?_*torch_mangle_\d+", "", text)))
    if isinstance(parts, bytes):
        return sorted(re.findall(rb"[A-Za-z_][\w.]{2,}", _without_mangling(parts)))
    if isinstance(parts, (list, tuple)):
        return [signature(part) for part in parts]
    return {k: signature(v) for k, v in parts.items()} if isinstance(parts, dict) else parts


def held(data: bytes) -> Any:
    """What questions about an archive of ours are about."""
    return sorted(signature(comparable(data)).items())


# The corpus


def programs(torch: Any) -> dict[str, Program]:
    """The programs with functions and classes of the same names in both libraries."""
    found = load(torch)
    prefix = f"jit_corpus_{torch.__name__}_"
    for name in [name for name in sys.modules if name.startswith(prefix)]:
        shared = name.replace(prefix, "corpus_")
        sys.modules[shared] = sys.modules[name]
        for value in vars(sys.modules[name]).values():
            if isinstance(value, (type, types.FunctionType)) and value.__module__ == name:
                value.__module__ = shared
    return found


def traced(torch: Any, program: Program, function: Any) -> tuple[Any, list[int]]:
    """The trace of a program as it is saved, and the numbers of the arguments it takes: those with
    tensors in them.
    """
    args = program.arguments(torch)
    moving = [i for i, a in enumerate(args) if program.module or any(True for _ in tensors_in(a))]

    def with_the_rest(*given: Any) -> Any:
        all_args = list(args)
        for i, a in zip(moving, given):
            all_args[i] = a
        return function(*all_args)

    called = function if program.module else with_the_rest
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = copied(tuple(args[i] for i in moving))
        return torch.jit.trace(called, given, check_trace=False, strict=False), moving


# Modules given as text


def module_of(
    case: ModuleCase, T: Any, folder: Path, name: str = "__main__"
) -> tuple[Any, tuple[Any, ...]]:
    """The module of a case as one of the module `name`, so that it is called the same in both
    libraries, and its inputs.

    Functions that are compiled twice by one name have a longer one the second time, and other line
    breaks.
    """
    path = folder / f"{T.__name__}.py"
    path.write_text(case.source)
    names = {**namespace(T), "__name__": name}
    exec(compile(case.source, str(path), "exec", dont_inherit=True), names)
    T.manual_seed(0)
    return eval(case.make, names), eval(f"({case.inputs},)", names)


def loaded_by_pytorch(torch: Any, data: bytes) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.jit.load(io.BytesIO(data))


def scripted(T: Any, thing: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return T.jit.script(thing)


def reloaded(m: Any) -> Any:
    """Saved, and loaded here."""
    return internals.jit.load(io.BytesIO(saved(m)))

"""Exercises of notebook 16: what is saved of a view, where its bytes lie, what a pickle asks for,
an archive to map.
"""

from __future__ import annotations

import io
import pickle
import pickletools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import internals as torch
from exercises.exercise import Mistake, Wrong, exercise
from exercises.scripts import blank, compare, table

SAVED = {
    "a": (1, 48),
    "a[0]": (1, 48),
    "a[0].clone()": (1, 16),
    "[a, a.t(), a[1:]]": (1, 48),
    "[a, a + 0]": (2, 96),
    "a.double()[2:]": (1, 96),
}


@exercise(
    level=1,
    title="How much is saved?",
    ask="""
        Each of these is saved with `torch.save`. How many records `data/N` are in the archive, and
        how many bytes are in them together? A pair for each, decided before you save anything.""",
    given="a = torch.arange(12.0).view(3, 4)",
    start=blank(SAVED),
    hints=(
        "Section 5: a record is a storage, not a tensor. Which of these tensors have a storage of "
        "their own?",
        "`a` has 12 numbers of 4 bytes. Who allocates: indexing, `clone`, `t`, `+`, `double`? And "
        "how large is it then?",
    ),
    solution=table(SAVED),
    why=(
        "Before you save a part of something large: `.clone()`. A view is a common reason for a "
        "checkpoint that is far too big."
    ),
    mistakes=[
        Mistake(
            "What is saved is what the tensor shows.",
            table(SAVED, **{"a[0]": (1, 16)}),
            "a view of all of it",
        ),
        Mistake(
            "Each tensor is a record.",
            table(SAVED, **{"[a, a.t(), a[1:]]": (3, 128)}),
            "share one storage",
        ),
        Mistake(
            "A clone keeps the storage.",
            table(SAVED, **{"a[0].clone()": (1, 48)}),
            "only what the tensor shows",
        ),
        Mistake(
            "Equal bytes are written once.",
            table(SAVED, **{"[a, a + 0]": (1, 48)}),
            "two storages, equal or not",
        ),
        Mistake(
            "The view of a copy is small.",
            table(SAVED, **{"a.double()[2:]": (1, 32)}),
            "8 bytes wide, all 12",
        ),
    ],
)
def archives_1(answer: dict[str, tuple[int, int]]) -> str:
    from internals.serialization import ArchiveReader

    because = {
        "a": "one storage of 12 float32",
        "a[0]": (
            "the row is a view of all of it: its storage has 12 numbers, and a storage is saved "
            "whole"
        ),
        "a[0].clone()": "clone allocates only what the tensor shows, four numbers",
        "[a, a.t(), a[1:]]": "the three share one storage, and the pickle says which part is whose",
        "[a, a + 0]": "the sum has memory of its own: two storages, equal or not",
        "a.double()[2:]": (
            "double made a new storage, 8 bytes wide, all 12 numbers, and the view keeps it whole"
        ),
    }
    truth = {}
    for expression in because:
        file = io.BytesIO()
        torch.save(eval(expression, {"a": torch.arange(12.0).view(3, 4)}), file)
        file.seek(0)
        with ArchiveReader(file) as reader:
            sizes = [
                record.size for name, record in reader.records.items() if name.startswith("data/")
            ]
        truth[expression] = len(sizes), sum(sizes)
    if isinstance(answer, dict):
        answer = {
            key: tuple(pair) if isinstance(pair, list) else pair for key, pair in answer.items()
        }
    compare(
        answer, truth, lambda key, said: f"{key}: not {said!r}; {because[key]}", "a pair of numbers"
    )
    return (
        "records are storages: a view saves all of what it looks at, and a shared one is there once"
    )


@exercise(
    level=2,
    title="Read it without a reader",
    ask="""
        Write `numbers(path, name)`: the float32 numbers in a record such as `"data/0"` of an
        archive, as a list. Look up in `ArchiveReader(path).records[name]` where the payload is;
        then use nothing but `open` and numpy. (It is a stored one.)""",
    given="from internals.serialization import ArchiveReader",
    start="""
        def numbers(path, name):
            ...""",
    passes=("numbers",),
    hints=(
        "Section 2: which fields of a `Record` say where its *payload* begins, and how long it is? "
        "There are two places in it.",
        "`file.seek(...)`, `file.read(...)`, and `np.frombuffer(data, dtype)`; the byte order is "
        "little-endian.",
    ),
    solution="""
        def numbers(path, name):
            with ArchiveReader(path) as reader:
                record = reader.records[name]
            with open(path, "rb") as file:
                file.seek(record.offset)
                return np.frombuffer(file.read(record.size), "<f4").tolist()""",
    why=(
        "No format, no header: the payload is the storage, as it lay in memory. That is why it can "
        "be mapped."
    ),
    mistakes=[
        Mistake(
            "A record begins with its bytes.",
            """
            def numbers(path, name):
                record = ArchiveReader(path).records[name]
                with open(path, "rb") as file:
                    file.seek(record.header_offset)
                    return np.frombuffer(file.read(record.size), "<f4").tolist()""",
            "local header",
        ),
        Mistake(
            "The record goes to the end of the file.",
            """
            def numbers(path, name):
                record = ArchiveReader(path).records[name]
                with open(path, "rb") as file:
                    file.seek(record.offset)
                    data = file.read()
                return np.frombuffer(data[: len(data) // 4 * 4], "<f4").tolist()""",
            "record.size",
        ),
        Mistake(
            "Files are in network order.",
            """
            def numbers(path, name):
                record = ArchiveReader(path).records[name]
                with open(path, "rb") as file:
                    file.seek(record.offset)
                    return np.frombuffer(file.read(record.size), ">f4").tolist()""",
            "little-endian",
        ),
        Mistake(
            "A float is a float.",
            """
            def numbers(path, name):
                record = ArchiveReader(path).records[name]
                with open(path, "rb") as file:
                    file.seek(record.offset)
                    return np.frombuffer(file.read(record.size), float).tolist()""",
            "8 bytes each",
        ),
    ],
)
def archives_2(numbers: Callable[[str, str], Any]) -> str:
    from internals.serialization import ArchiveReader

    first, second = torch.arange(1.0, 7.0), torch.tensor([0.5, -2.0])
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model.pt")
        torch.save({"weight": first.view(2, 3).t(), "bias": second, "none": torch.empty(0)}, path)
        with ArchiveReader(path) as reader:
            names = [name for name, record in reader.records.items() if name.startswith("data/")]
            truth = {name: np.frombuffer(reader.read(name), "<f4") for name in names}
            records = dict(reader.records)
        for name, right in truth.items():
            told = numbers(path, name)
            if isinstance(told, (list, tuple, np.ndarray)) and list(told) == right.tolist():
                continue
            if not isinstance(told, (list, tuple, np.ndarray)):
                raise Wrong(f"numbers returns a list of floats, not {told!r}")
            said = f"{name} holds {right.tolist()}, and yours reads {str(list(told)[:4])[1:-1]}"
            whole = Path(path).read_bytes()
            header = whole[records[name].header_offset :][: records[name].size]
            if np.asarray(told, "<f4").tobytes() == header[: len(header) // 4 * 4]:
                raise Wrong(
                    f"{said}: these are the bytes of the local header, PK and all; the payload "
                    "comes behind it"
                )
            if list(told)[: len(right)] == right.tolist():
                raise Wrong(
                    f"{said} and so on: {len(told)} numbers. record.size says how many bytes are "
                    "the record's"
                )
            if np.array_equal(np.asarray(told, "<f4"), right.view(">f4")):
                raise Wrong(f"{said}: the bytes are the right ones, but they are little-endian")
            if len(told) * 2 == len(right):
                raise Wrong(f"{said}: these are read as 8 bytes each, and a float32 has 4")
            raise Wrong(f"{said}. The payload is record.size bytes from record.offset on")
    return "an offset and a length, and the file is memory"


_fired: list[str] = []


def _fire(what: str) -> None:
    """What the attack of the next exercise calls: it only notes that it was called."""
    _fired.append(what)


class _NotAModel:
    def __reduce__(self) -> tuple[Any, ...]:
        return _fire, ("os.system",)


@exercise(
    level=2,
    title="What would it import?",
    ask="""
        You were sent an archive. Write `asks_for(path)`: the set of all names that its
        `data.pkl` would have imported, such as `"torch._utils._rebuild_tensor_v2"`, without
        importing or running any of it. (Protocol 2, as `torch.save` writes.)""",
    given="import pickletools\n\nfrom internals.serialization import ArchiveReader",
    start="""
        def asks_for(path):
            ...""",
    passes=("asks_for",),
    hints=(
        "Sections 6 and 7: which instruction of the machine imports? Who can list instructions "
        "without being the machine?",
        "`pickletools.genops(data)` gives `(opcode, argument, position)`; `opcode.name` is a "
        "string, and the argument of the one you look for has a blank between module and name.",
    ),
    solution="""
        def asks_for(path):
            with ArchiveReader(path) as reader:
                program = reader.read("data.pkl")
            return {
                argument.replace(" ", ".")
                for opcode, argument, _ in pickletools.genops(program)
                if opcode.name == "GLOBAL"
            }""",
    why=(
        "`viz.archive` and `python -m internals inspect --pickle` do this. Scanners of model hubs "
        "do, too."
    ),
    mistakes=[
        Mistake(
            "To see what is in a file one has to open it.",
            """
            import io
            import pickle

            def asks_for(path):
                names = set()

                class Listening(pickle.Unpickler):
                    def find_class(self, module, name):
                        names.add(f"{module}.{name}")
                        return super().find_class(module, name)

                Listening(io.BytesIO(ArchiveReader(path).read("data.pkl"))).load()
                return names""",
            "ran what the file",
        ),
        Mistake(
            "The module is what matters.",
            """
            def asks_for(path):
                program = ArchiveReader(path).read("data.pkl")
                return {
                    a.split()[0] for op, a, _ in pickletools.genops(program) if op.name == "GLOBAL"
                }""",
            "only of modules",
        ),
        Mistake(
            "Names are strings.",
            """
            def asks_for(path):
                program = ArchiveReader(path).read("data.pkl")
                return {
                    a.replace(" ", ".")
                    for op, a, _ in pickletools.genops(program)
                    if isinstance(a, str)
                }""",
            "only a text",
        ),
        Mistake(
            "What is called is what is imported.",
            """
            def asks_for(path):
                names, last = set(), None
                for op, a, _ in pickletools.genops(ArchiveReader(path).read("data.pkl")):
                    last = a.replace(" ", ".") if op.name == "GLOBAL" else last
                    names |= {last} if op.name == "REDUCE" else set()
                return names""",
            "imported even if nobody calls it",
        ),
    ],
)
def archives_3(asks_for: Callable[[str], Any]) -> str:
    from internals.serialization import ArchiveReader, ArchiveWriter

    attack = pickle.dumps({"w": 1, "x": _NotAModel(), "note": "os.system"}, protocol=2)
    with tempfile.TemporaryDirectory() as folder:
        bad, good, plain = (str(Path(folder) / name) for name in ("bad.pt", "good.pt", "plain.pt"))
        with ArchiveWriter(bad) as writer:
            writer.write("data.pkl", attack)
        torch.save(
            {"w": torch.ones(2), "i": torch.arange(3), "p": torch.nn.Parameter(torch.ones(1))}, good
        )
        torch.save({"epoch": 3, "name": "torch FloatStorage"}, plain)
        for path in (bad, good, plain):
            with ArchiveReader(path) as reader:
                program = list(pickletools.genops(reader.read("data.pkl")))
            truth = {
                str(argument).replace(" ", ".")
                for opcode, argument, _ in program
                if opcode.name == "GLOBAL"
            }
            texts = {
                str(a).replace(" ", ".") for opcode, a, _ in program if opcode.name == "BINUNICODE"
            }
            _fired.clear()
            told = asks_for(path)
            if _fired:
                _fired.clear()
                raise Wrong(
                    "your function ran what the file asked for. It was harmless this time; nothing "
                    "may be called"
                )
            if not isinstance(told, (set, frozenset)):
                raise Wrong(f"asks_for returns a set of names, not {told!r}")
            if told == truth:
                continue
            where = f"{Path(path).name} asks for {sorted(truth)}"
            if told == {name.rpartition(".")[0] for name in truth} or told == {
                name.partition(".")[0] for name in truth
            }:
                raise Wrong(
                    f"{where}, and yours are the names only of modules: what is taken out of them?"
                )
            if extra := sorted(map(str, told - truth)):
                why = (
                    "is only a text in it, which nobody imports"
                    if extra[0] in texts
                    else "is not among them"
                )
                raise Wrong(f"{where}; {extra[0]!r} {why}")
            raise Wrong(
                f"{where}; {min(truth - told)!r} is missing: it would be imported even if nobody "
                "calls it"
            )
    return (
        "read as text, a pickle does nothing: neither the harmless file nor the other one could act"
    )


from exercises.topics.archives_aligned import archives_4  # the last one has a file of its own  # noqa: E402

__all__ = ["archives_1", "archives_2", "archives_3", "archives_4"]

"""Exercises of notebook 17: what Python becomes in an archive, what a runtime must bring, and its
statements.
"""

from __future__ import annotations

import ast
import functools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import internals as torch
from exercises.exercise import Mistake, Wrong, exercise
from exercises.scripts import blank, compare, table
from exercises.topics.languages_statements import code_of

CALLED = {
    "x + 1": "add",
    "x += 1": "add_",
    "-x": "neg",
    "x[0]": "select",
    "x[1:]": "slice",
    "n % 2": "remainder",
    "n // 2": "floordiv",
}


def plus(x):  # type: ignore[no-untyped-def]
    return x + 1


def plus_in_place(x):  # type: ignore[no-untyped-def]
    x += 1
    return x


def minus(x):  # type: ignore[no-untyped-def]
    return -x


def row(x):  # type: ignore[no-untyped-def]
    return x[0]


def rows(x):  # type: ignore[no-untyped-def]
    return x[1:]


def rest(n: int):  # type: ignore[no-untyped-def]
    return n % 2


def half(n: int):  # type: ignore[no-untyped-def]
    return n // 2


@exercise(
    level=1,
    title="Operators have names",
    ask="""
        In the code of an archive there are no `+` and no brackets: all is `torch.NAME(...)`. Which
        NAME will a runtime have to bring for each of these? `x` is a tensor, `n` an int; one name
        for each. Some of them are in section 6; guess the others, then save a script and look.""",
    start=blank(CALLED),
    hints=(
        "The names are those of `native_functions.yaml`, and for ints of Python's `operator`. What "
        "does an underscore say?",
        "`x[0]` has one dimension less than `x`, `x[1:]` has as many: two operators of notebook "
        "04. `n // 2` is in section 6.",
    ),
    solution=table(CALLED),
    why=(
        "The code is an IR in Python's clothes: its reader need not know what `+` or `[]` "
        "mean for which types."
    ),
    mistakes=[
        Mistake("`x += 1` is `x = x + 1`.", table(CALLED, **{"x += 1": "add"}), "writes into x"),
        Mistake("Indexing is indexing.", table(CALLED, **{"x[0]": "index"}), "one dimension less"),
        Mistake(
            "A slice is many selects.", table(CALLED, **{"x[1:]": "select"}), "keeps the dimension"
        ),
        Mistake(
            "`//` is what NumPy calls floor_divide.",
            table(CALLED, **{"n // 2": "floor_divide"}),
            "Python's name",
        ),
        Mistake("`%` is C's.", table(CALLED, **{"n % 2": "fmod"}), "sign of the divisor"),
        Mistake(
            "A minus is a subtraction from zero.",
            table(CALLED, **{"-x": "sub"}),
            "operator of its own",
        ),
    ],
)
def languages_1(answer: dict[str, str]) -> str:
    functions = plus, plus_in_place, minus, row, rows, rest, half
    truth = {}
    for expression, function in zip(CALLED, functions):
        calls = [node.func for node in ast.walk(code_of(function)) if isinstance(node, ast.Call)]
        truth[expression] = next(f.attr for f in calls if isinstance(f, ast.Attribute))
    because = {
        "x + 1": "the operator of tensors for plus",
        "x += 1": "it writes into x, which the underscore says; for a tensor this is not x = x + 1",
        "-x": "negation is an operator of its own",
        "x[0]": "a number as an index gives one dimension less",
        "x[1:]": "a slice keeps the dimension, and a view of it begins later",
        "n % 2": "remainder has the sign of the divisor, as Python's % has, and C's fmod has not",
        "n // 2": "for ints it has Python's name, from the module `operator`",
    }
    if isinstance(answer, dict):
        cut = {
            k: v.removeprefix("torch.").removeprefix("aten::")
            for k, v in answer.items()
            if isinstance(v, str)
        }
        answer = {**answer, **cut}
    compare(answer, truth, lambda key, said: f"{key} is not {said!r}: {because[key]}", "a name")
    return "seven names, and a table from names to functions is most of a runtime"


class _Layers(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(2, 2)
        self.norm = torch.nn.LayerNorm(2)

    def forward(self, x, n: int):  # type: ignore[no-untyped-def]
        for _ in range(n):
            x = torch.tanh(self.norm(self.first(x))) + 1
        return x


def _nested(x, n: int):  # type: ignore[no-untyped-def]
    while n > 1:
        n = n // 2
        x = torch.exp(torch.neg(x)) * n
    return x


_Layers.__module__ = "__main__"  # as if a notebook's cell had defined it


@exercise(
    level=2,
    title="What is missing?",
    ask="""
        Write `missing(path, known)`: the operators that the code of an archive calls, as
        `torch.NAME(...)`, and that are not in `known`, as a set of NAMEs such as `{"add", "neg"}`.
        All of the code counts: that of layers is in records of its own. `known` is a set, or any
        other collection of such names.""",
    given="import ast\n\nfrom internals.serialization import ArchiveReader",
    start="""
        def missing(path, known):
            ...""",
    passes=("missing",),
    hints=(
        "Section 5 counts them in syntax trees. Which records of `reader.records` are code? "
        "`reader.text(name)` is a string.",
        "`ast.walk` finds every `ast.Call`, inside others as well. An operator is one whose `func` "
        "is an `ast.Attribute` of the `ast.Name` `torch`; `ast.unparse(func)` starts with "
        "`torch.`, then.",
    ),
    solution="""
        def missing(path, known):
            with ArchiveReader(path) as reader:
                trees = [
                    ast.parse(reader.text(name)) for name in reader.records if name.endswith(".py")
                ]
            calls = (
                node.func for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)
            )
            return {f.attr for f in calls if ast.unparse(f).startswith("torch.")} - set(known)""",
    why="Selective builds of PyTorch for phones began like this: what does this one model call?",
    mistakes=[
        Mistake(
            "The code is in `code/__torch__.py`.",
            """
            def missing(path, known):
                tree = ast.parse(ArchiveReader(path).text("code/__torch__.py"))
                calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
                names = {f.attr for f in calls if ast.unparse(f).startswith("torch.")}
                return names - set(known)""",
            "records of its own",
        ),
        Mistake(
            "What follows `torch.` is an operator.",
            r"""
            import re

            def missing(path, known):
                reader = ArchiveReader(path)
                code = "".join(reader.text(name) for name in reader.records if name.endswith(".py"))
                return set(re.findall(r"torch\.(\w+)", code)) - set(known)""",
            "names of types",
        ),
        Mistake(
            "Whatever is called is an operator.",
            """
            def missing(path, known):
                reader = ArchiveReader(path)
                trees = [
                    ast.parse(reader.text(name)) for name in reader.records if name.endswith(".py")
                ]
                calls = (
                    node.func
                    for tree in trees
                    for node in ast.walk(tree)
                    if isinstance(node, ast.Call)
                )
                return {f.attr for f in calls if isinstance(f, ast.Attribute)} - set(known)""",
            "a method of the archive",
        ),
        Mistake(
            "A call stands at the start of an expression.",
            """
            def missing(path, known):
                reader = ArchiveReader(path)
                trees = [
                    ast.parse(reader.text(name)) for name in reader.records if name.endswith(".py")
                ]
                values = (
                    n.value
                    for t in trees
                    for n in ast.walk(t)
                    if isinstance(n, (ast.Assign, ast.Return))
                )
                calls = (v.func for v in values if isinstance(v, ast.Call))
                names = {f.attr for f in calls if ast.unparse(f).startswith("torch.")}
                return names - set(known)""",
            "inside another call",
        ),
        Mistake(
            "All that is called is missing.",
            """
            def missing(path, known):
                reader = ArchiveReader(path)
                trees = [
                    ast.parse(reader.text(name)) for name in reader.records if name.endswith(".py")
                ]
                calls = (
                    node.func
                    for tree in trees
                    for node in ast.walk(tree)
                    if isinstance(node, ast.Call)
                )
                return {f.attr for f in calls if ast.unparse(f).startswith("torch.")}""",
            "is known already",
        ),
    ],
)
def languages_2(missing: Callable[..., Any]) -> str:
    from internals.serialization import ArchiveReader

    seen: set[str] = set()
    for model in (torch.jit.script(_nested), _layers()):
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "model.pt")
            torch.jit.save(model, path)
            with ArchiveReader(path) as reader:
                texts = {name: reader.text(name) for name in reader.records if name.endswith(".py")}
            collections: list[Any] = [{"add", "neg"}, [], {"no_such_operator": None}]
            for known in collections:
                told = missing(path, known)
                if not isinstance(told, (set, frozenset)):
                    raise Wrong(f"missing returns a set of names, not {told!r}")
                _judge(set(told), texts, set(known))
            seen |= set().union(*(_operators(text) for text in texts.values()))
    return f"{', '.join(sorted(seen))}: two archives, and that is all they ask for"


@functools.cache
def _layers() -> Any:
    state = torch.get_rng_state()
    try:
        return torch.jit.script(_Layers())
    finally:
        torch.set_rng_state(state)


def _operators(text: str) -> set[str]:
    calls = (node.func for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
    attributes = (
        f for f in calls if isinstance(f, ast.Attribute) and isinstance(f.value, ast.Name)
    )
    return {f.attr for f in attributes if isinstance(f.value, ast.Name) and f.value.id == "torch"}


def _judge(told: set[Any], texts: dict[str, str], known: set[str]) -> None:
    needed = {name: _operators(text) for name, text in texts.items()}
    truth = set().union(*needed.values()) - known
    if extra := told - truth:
        name = min(map(str, extra))
        if name in known:
            raise Wrong(f"torch.{name} is known already: only what is not is missing")
        if any(f").{name}(" in text or f".{name}(" in text for text in texts.values()):
            raise Wrong(
                f"{name!r} is a method of the archive, which brings it along; operators are called "
                "as torch.NAME"
            )
        if name.startswith("torch."):
            raise Wrong(
                f"{name!r}: a name is what stands behind `torch.`, {name.removeprefix('torch.')!r}"
            )
        raise Wrong(f"{name!r} is not called anywhere: `torch.` stands also in the names of types")
    if less := truth - told:
        name = min(less)
        where = next(record for record, names in needed.items() if name in names)
        if where != "code/__torch__.py" and name not in needed["code/__torch__.py"]:
            raise Wrong(
                f"torch.{name} is called in {where}: the code of layers is in records of its own"
            )
        raise Wrong(
            f"torch.{name} is called in {where}, perhaps inside another call, and was not found"
        )


from exercises.topics.languages_statements import languages_3  # the last one has a file of its own  # noqa: E402

__all__ = ["languages_1", "languages_2", "languages_3"]

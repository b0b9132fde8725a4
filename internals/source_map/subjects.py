"""The subject of a question (words, a name, or an object), and which entry of the map it is.

An object is found by its class and the classes that one is made from, the first whose module is
ours; a function by its module; an operator's function, handle or node of a graph by the operator,
whose entry is that of its kernel.
"""

from __future__ import annotations

import functools
import importlib.util
import types
from typing import Any

from internals.core.dispatcher import OperatorHandle

from .entries import entry_named, entry_of_module, file_of
from .operators import find_operator, operator_facts
from .place import Place
from .search import nearest_topics, search
from .symptoms import symptom_of

OURS = ("internals", "viz", "codegen", "apparatus")
CALLS = (
    "internals._generated.functions",
    "internals._generated.nn_functions",
    "internals._generated.methods",
)
ALMOST = 0.8  # of the best score: a second topic that is told as well


def place_of(subject: Any) -> Place:
    """The place of words, a name or an object. Raises LookupError with the nearest topics."""
    if isinstance(subject, BaseException):
        subject = f"{type(subject).__name__}: {subject}"
    if isinstance(subject, str):
        return place_of_words(subject)
    op = operator_behind(subject)
    if op is not None:
        return place_of_operator(op, subject)
    for module, name in homes(subject):
        entry = entry_of_module(module) if module.partition(".")[0] in OURS else None
        if entry is not None:
            return Place(entry, name, module)
    kind = getattr(subject, "__name__", type(subject).__name__)
    raise LookupError(f"{kind} is nothing of this package; {proposal(kind)}")


def place_of_words(words: str) -> Place:
    """Where the best entry for these words leads; an operator's name leads to the operator. Raises
    LookupError.
    """
    symptom = symptom_of(words)
    if symptom is not None:
        return Place(entry_named(symptom.topic), symptom=symptom)
    if "::" in words:
        op = find_operator(words)
        if words.startswith("aten::"):
            if op is None:
                raise LookupError(f"there is no operator {words}; {proposal(words)}")
            return place_of_operator(op, words)
        words = words.replace("::", " ")
    named = named_in_python(words)
    if named is not None:
        return named
    found = search(words)
    if found:
        best, entry = found[0]
        return Place(
            entry, also=tuple(other.topic for score, other in found[1:4] if score >= ALMOST * best)
        )
    op = find_operator(words.strip()) if words.strip().isidentifier() else None
    if op is not None:
        return place_of_operator(op, words)
    raise LookupError(f"the map has nothing about {words!r}; {proposal(words)}")


def proposal(words: str) -> str:
    """How to go on when nothing was found: the nearest topics, each with a file and a section."""
    nearest = [entry_named(topic) for topic in nearest_topics(words)]
    lines = ["the nearest topics (all of them: internals.source_map.topics()):"]
    for entry in nearest:
        files = [file_of(named.path) for named in entry.ours[:1]]
        shown = [f"notebook {s.number}, {s.heading}" for s in entry.sections[:1]]
        lines.append("  ".join([f'    "{entry.topic}"', *files, *shown]))
    return "\n".join(lines)


def place_of_operator(op: OperatorHandle, subject: Any) -> Place:
    """Where an operator's kernel is declared, written and explained."""
    facts = operator_facts(op)
    module, function = facts.kernel
    entry = entry_of_module(module) if module.startswith("internals.") else None
    if entry is None:
        if not op.name.startswith("aten::"):
            return Place(entry_named("your own operators"), op.name, "internals.library")
        entry = entry_named("native_functions.yaml")
    return Place(entry, op.name, module, operator=facts, function=function)


def named_in_python(words: str) -> Place | None:
    """The place of a dotted name, such as "internals.nn.Linear", "torch.nn.Linear" or
    "core.storage".
    """
    first, _, rest = words.strip().partition(".")
    if not rest or not words.replace(".", "_").isidentifier() or words.endswith(PATHS):
        return None
    full = (
        f"internals.{rest}"
        if first == "torch"
        else words
        if first in OURS
        else f"internals.{words}"
    )
    try:
        if importlib.util.find_spec(full) is not None:
            entry = entry_of_module(full)
            return Place(entry, full, full) if entry else None
    except (ImportError, ValueError):
        pass  # no module, but perhaps something in one
    package, _, name = full.rpartition(".")
    try:
        thing = getattr(importlib.import_module(package), name)
    except (ImportError, AttributeError):
        return None
    return place_of(thing) if callable(thing) or isinstance(thing, types.ModuleType) else None


PATHS = (".py", ".h", ".c", ".cc", ".cpp", ".cu", ".cuh", ".yaml", ".md", ".proto", ".cwrap")


def operator_behind(subject: Any) -> OperatorHandle | None:
    """The operator that a handle, a packet, a generated function or method, or a node of a graph
    stands for.
    """
    if isinstance(subject, OperatorHandle):
        return subject
    kind = type(subject)
    if kind.__module__ == "internals.library" and kind.__name__ == "OpPacket":
        return find_operator(subject._name)
    if kind.__module__ == "internals.library" and kind.__name__ == "OpOverload":
        return operator_behind(subject._handle)
    if kind.__module__ == "internals.jit.ir.node":
        return find_operator(subject.kind()) if subject.kind().startswith("aten::") else None
    function = getattr(subject, "__func__", subject)
    if isinstance(function, types.FunctionType) and function.__module__ in CALLS:
        return find_operator(function.__name__)
    return None


def homes(subject: object) -> list[tuple[str, str]]:
    """Modules in which an object is at home, each with the name it has there, the nearest first."""
    while isinstance(subject, functools.partial):
        subject = subject.func
    if isinstance(subject, property):
        subject = subject.fget
    if isinstance(subject, types.ModuleType):
        return [(subject.__name__, subject.__name__)]
    subject = getattr(subject, "__func__", subject)
    if isinstance(subject, type):
        return [(birthplace(base), base.__qualname__) for base in subject.__mro__]
    if isinstance(subject, types.FunctionType):
        return [(subject.__globals__.get("__name__", ""), subject.__qualname__)]
    return homes(type(subject))


def birthplace(kind: type) -> str:
    """The module in which a class was written, which `__module__` need not tell: `Tensor` says
    `internals`.
    """
    functions = (value for value in vars(kind).values() if isinstance(value, types.FunctionType))
    written = (
        function.__globals__.get("__name__", "")
        for function in functions
        if function.__qualname__ == f"{kind.__qualname__}.{function.__name__}"
    )
    return next(written, kind.__module__)

"""An operator on the map: the lines of YAML that declare it and its derivative, and the kernel of
the CPU.

Only the first line of an entry is looked for in the YAML files, as text: nothing is parsed, no
kernel is imported.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from internals.aten.registration import DeclaredOperator
from internals.core.dispatch_key import DispatchKey
from internals.core.dispatcher import KernelFunction, OperatorHandle, dispatcher

from .entries import FOLDER, ROOT

OPERATORS = FOLDER.parent / "aten" / "native_functions"
DERIVATIVES = FOLDER.parent / "autograd" / "derivatives"
KERNEL_KEYS = (
    DispatchKey.CPU,
    DispatchKey.CompositeExplicitAutograd,
    DispatchKey.CompositeImplicitAutograd,
)


@dataclass(frozen=True)
class Lines:
    """Where a YAML file says something, and what: `file` from the project's root, `line` the number
    of the first, from 1.
    """

    file: str
    line: int
    text: tuple[str, ...]


@dataclass(frozen=True)
class OperatorFacts:
    """`name` is "add.Tensor"; `kernel` is module and function, or two empty texts where a kernel
    was replaced by a user's.
    """

    name: str
    declaration: Lines | None
    derivative: Lines | None
    kernel: tuple[str, str]


def operator_facts(op: OperatorHandle) -> OperatorFacts:
    """The lines of YAML that declare an operator and its derivative, and its kernel. That of a
    generated twin, `add_.Tensor`, is the kernel of `add.Tensor`.
    """
    name = op.name.removeprefix("aten::")
    kernel = kernel_of(op)
    if kernel[0].startswith("internals._generated"):
        original = find_operator(original_of(name))
        kernel = kernel_of(original) if original is not None else kernel
    return OperatorFacts(name, declaration_of(name), derivative_of(name), kernel)


def original_of(name: str) -> str:
    """The operator that `autogen` makes another from."""
    pattern = (
        rf"- func: ([\w.]+)\((?:(?!- func).)*?autogen: [^\n]*?(?<![\w.]){re.escape(name)}(?![\w.])"
    )
    found = (re.search(pattern, text, re.DOTALL) for text in declarations().values())
    return next((before.group(1) for before in found if before), name)


def find_operator(name: str) -> OperatorHandle | None:
    """The operator of a name such as "aten::add.Tensor" or "add"; the first overload where none is
    named.
    """
    name = f"aten::{name.removeprefix('aten::')}"
    found = dispatcher.operators.get(name) or next(iter(dispatcher.operators.overloads(name)), None)
    return found if isinstance(found, DeclaredOperator) else None


def declaration_of(name: str) -> Lines | None:
    """The line of a file in native_functions, which for `add_.Tensor` is that of the `add.Tensor`
    it is made from.
    """
    return line_in(declarations(), rf"- func: {re.escape(name)}\(") or line_in(
        declarations(), rf"- func: {re.escape(original_of(name))}\("
    )


def derivative_of(name: str) -> Lines | None:
    """The entry of a file in derivatives; `add_.Tensor` and `add.out` have that of `add.Tensor`."""
    text = derivatives()
    base, _, overload = name.partition(".")
    for candidate in (name, f"{base.rstrip('_')}.{overload}" if overload else base.rstrip("_")):
        found = line_in(text, rf"- name: {re.escape(candidate)}\(")
        if found:
            return found
    return None


@cache
def declarations() -> dict[str, str]:
    return texts(OPERATORS)


@cache
def derivatives() -> dict[str, str]:
    return texts(DERIVATIVES)


def texts(folder: Path) -> dict[str, str]:
    """The YAML files of a folder, by their names from the project's root."""
    files = sorted(folder.glob("*.yaml"))
    return {file.relative_to(ROOT).as_posix(): file.read_text(encoding="utf-8") for file in files}


def line_in(files: dict[str, str], pattern: str) -> Lines | None:
    """The first line that matches, and the indented ones below it that give a formula."""
    for file, text in files.items():
        match = re.search(f"^{pattern}", text, re.MULTILINE)
        if match is None:
            continue
        below = []
        for line in text[match.start() :].splitlines()[1:]:
            if line.startswith(("- ", "#")) or not line.strip():
                break
            below.append(line.strip())
        return Lines(file, text.count("\n", 0, match.start()) + 1, tuple(below))
    return None


def kernel_of(op: OperatorHandle) -> tuple[str, str]:
    for key in KERNEL_KEYS:
        kernel = op.kernels.get(key)
        if isinstance(kernel, KernelFunction):
            if isinstance(kernel.target, str):
                module, _, function = kernel.target.partition(":")
                return module, function
            return getattr(kernel.target, "__module__", ""), getattr(kernel.target, "__name__", "")
    return "", ""

"""The page of the operators: every one that `native_functions.yaml` declares, with its kernels and its derivative.

The schemas come from the parser that generates the Tensor methods and functions, so the page lists what there is.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from codegen.model import NativeFunction, load
from codegen.saved import MANUAL
from tools.site.docstrings import inline

DECLARED = "internals/aten/native_functions.yaml"
DERIVATIVES = "internals/autograd/derivatives.yaml"
INTRODUCTION = (
    f"Each of these is one entry of `{DECLARED}`. From it are generated the method of `Tensor`, the function, the type stub, "
    "the schema that the JIT knows, and the rows of the dispatch table; from its entry in "
    f"`{DERIVATIVES}`, the node of the backward graph."
)
Derivative = dict[str, Any]


def page(root: Path, places: dict[str, str]) -> str:
    """The page's text. `places` says where a kernel is in the source, by its full name."""
    functions = load(root / DECLARED)
    derivatives = read_derivatives(root / DERIVATIVES)
    twins: dict[str, list[str]] = {}
    for f in functions:
        if f.base is not None:
            twins.setdefault(f.base.schema.full_name, []).append(f.schema.full_name)
    declared = [f for f in functions if f.base is None]
    total = (
        f"{len(declared)} are declared, and {len(functions) - len(declared)} in-place and out= twins derived from them."
    )
    lines = [
        ":tocdepth: 2",
        "",
        "Operators",
        "=========",
        "",
        inline(INTRODUCTION),
        "",
        total,
        "",
    ]
    lines += [f"Declared in :source:`{DECLARED} <{DECLARED}>` and :source:`{DERIVATIVES} <{DERIVATIVES}>`.", ""]
    for section, inside in in_sections(root / DECLARED, declared).items():
        title, explanation = section_title(section)
        lines += [title, "-" * len(title), "", inline(explanation), ""]
        for name, overloads in inside.items():
            plain = name.replace("_", "\\_")
            lines += [plain, "~" * len(plain), ""]
            for f in overloads:
                full = f.schema.full_name
                lines += [*operator(f, derivatives.get(full), twins.get(full, []), places), ""]
    return "\n".join(lines)


def read_derivatives(path: Path) -> dict[str, Derivative]:
    """What is declared of each operator's derivative, by the operator's full name."""
    entries = {}
    for entry in yaml.safe_load(path.read_text()):
        name = entry.pop("name").partition("(")[0]
        entries[name] = entry
    return {_full(name): entry for name, entry in entries.items()}


def in_sections(path: Path, declared: list[NativeFunction]) -> dict[str, dict[str, list[NativeFunction]]]:
    """The operators by name, and the names by the comment under which they stand in the file."""
    by_name = {f.schema.full_name: f for f in declared}
    sections: dict[str, dict[str, list[NativeFunction]]] = {}
    section = ""
    for line in path.read_text().splitlines():
        if line.startswith("# "):
            section = line[2:]
        elif line.startswith("- func: "):
            f = by_name[_full(line[8:].partition("(")[0])]
            sections.setdefault(section, {}).setdefault(f.schema.name, []).append(f)
    return sections


def section_title(comment: str) -> tuple[str, str]:
    """`Views: new sizes on the same storage.` is the title Views, and the rest."""
    title, _, rest = re.sub(r"^nn: ", "nn, ", comment).rstrip(".").partition(": ")
    title, _, more = title.partition(". ")
    rest = ". ".join(filter(None, (more, rest)))
    return title, rest[:1].upper() + rest[1:] + "." if rest else ""


def operator(f: NativeFunction, derivative: Derivative | None, twins: list[str], places: dict[str, str]) -> list[str]:
    """One operator: its signature, its kernels, its derivative, and its other forms."""
    lines = ["::", "", f"   {str(f.schema).removeprefix('aten::')}", ""]
    lines += [f":kernel: {'; '.join(_kernels(f, places))}"]
    gradients = _gradients(f, derivative)
    lines += [f":derivative: {gradients[0]}", *(f"\n             {g}" for g in gradients[1:])]
    if twins:
        lines += [":twins: " + ", ".join(f"``{twin.removeprefix('aten::')}``" for twin in twins)]
    return lines


def _kernels(f: NativeFunction, places: dict[str, str]) -> list[str]:
    by_target: dict[str, list[str]] = {}
    for key, target in f.kernels.items():
        by_target.setdefault(target, []).append(key)
    return [f"{', '.join(keys)} {_kernel(target, places)}" for target, keys in by_target.items()]


def _kernel(target: str, places: dict[str, str]) -> str:
    own = target.removeprefix("cuda.")
    full = f"internals.{'aten' if own == target else 'cuda'}.native.{own}"
    return f":source:`{target} <{places[full]}>`" if full in places else f"``{target}``"


def _gradients(f: NativeFunction, derivative: Derivative | None) -> list[str]:
    if derivative is None:
        if f.is_composite:
            return ["none of its own: autograd sees the operators that it calls"]
        written = "written by hand, in ``internals/autograd``" if f.schema.name in MANUAL else "none"
        return [written]
    flags = derivative.get("output_differentiability")
    formulas = {k: v for k, v in derivative.items() if k != "output_differentiability"}
    if not formulas:
        return ["none: no gradient comes from its result"]
    lines = [f"``{name}`` = ``{' '.join(str(text).split())}``" for name, text in formulas.items()]
    if flags and not all(flags):
        given = [str(i) for i, flag in enumerate(flags) if flag]
        lines.append(f"(of result {', '.join(given)} only)")
    return lines


def _full(name: str) -> str:
    return name if "::" in name else f"aten::{name}"

"""The page of the operators: every one that a file of `native_functions` declares, with its kernels
and its derivative.

The schemas come from the parser that generates the Tensor methods and functions, so the page lists
what there is.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from codegen.model import NativeFunction, load, read_entries
from codegen.saved import MANUAL
from tools.site.docstrings import inline

DECLARED = "internals/aten/native_functions"
DERIVATIVES = "internals/autograd/derivatives"
INTRODUCTION = (
    f"Each of these is one entry of a file in `{DECLARED}`. From it are generated the method of "
    "`Tensor`, the function, the type stub, the schema that the JIT knows, and the rows of the "
    f"dispatch table; from its entry in the file of the same name in `{DERIVATIVES}`, the node of "
    "the backward graph."
)
Derivative = dict[str, Any]


def page(root: Path, places: dict[str, str], docs: dict[str, str]) -> str:
    """The page's text. `places` says where a kernel is in the source, by its full name, `docs` what
    its docstring says.
    """
    functions = load(root / DECLARED)
    derivatives = read_derivatives(root / DERIVATIVES)
    twins: dict[str, list[str]] = {}
    for f in functions:
        if f.base is not None:
            twins.setdefault(f.base.schema.full_name, []).append(f.schema.full_name)
    declared = [f for f in functions if f.base is None]
    total = (
        f"{len(declared)} are declared, and {len(functions) - len(declared)} in-place and out= "
        "twins derived from them."
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
    for (file, section), inside in in_sections(root / DECLARED, declared).items():
        title, explanation = section_title(section)
        lines += [title, "-" * len(title), "", inline(explanation), "", declared_in(root, file), ""]
        for name, overloads in inside.items():
            plain = name.replace("_", "\\_")
            lines += [plain, "~" * len(plain), ""]
            for f in overloads:
                full = f.schema.full_name
                lines += [
                    *operator(f, derivatives.get(full), twins.get(full, []), places, docs),
                    "",
                ]
    return "\n".join(lines)


def read_derivatives(path: Path) -> dict[str, Derivative]:
    """What is declared of each operator's derivative, by the operator's full name."""
    entries = {}
    for entry in read_entries(path):
        name = entry.pop("name").partition("(")[0]
        entries[name] = entry
    return {_full(name): entry for name, entry in entries.items()}


def declared_in(root: Path, file: str) -> str:
    """The file of the section's operators, and that of their derivatives, where they have any."""
    files = [
        path
        for folder in (DECLARED, DERIVATIVES)
        if (root / (path := f"{folder}/{file}")).is_file()
    ]
    return f"Declared in {' and '.join(f':source:`{path} <{path}>`' for path in files)}."


def in_sections(
    path: Path, declared: list[NativeFunction]
) -> dict[tuple[str, str], dict[str, list[NativeFunction]]]:
    """The operators by name, and the names by their file and the comment under which they stand in
    it.
    """
    by_name = {f.schema.full_name: f for f in declared}
    sections: dict[tuple[str, str], dict[str, list[NativeFunction]]] = {}
    for file in sorted(path.glob("*.yaml")):
        section = file.stem.replace("_", " ")
        for line in file.read_text(encoding="utf-8").splitlines():
            if line.startswith("# "):
                section = line[2:]
            elif line.startswith("- func: "):
                f = by_name[_full(line[8:].partition("(")[0].strip("'\""))]
                sections.setdefault((file.name, section), {}).setdefault(f.schema.name, []).append(
                    f
                )
    return sections


def section_title(comment: str) -> tuple[str, str]:
    """`Views: new sizes on the same storage.` is the title Views, and the rest."""
    title, _, rest = re.sub(r"^nn: ", "nn, ", comment).rstrip(".").partition(": ")
    title, _, more = title.partition(". ")
    rest = ". ".join(filter(None, (more, rest)))
    return title, rest[:1].upper() + rest[1:] + "." if rest else ""


def operator(
    f: NativeFunction,
    derivative: Derivative | None,
    twins: list[str],
    places: dict[str, str],
    docs: dict[str, str],
) -> list[str]:
    """One operator: its signature, what its kernel's docstring says first, its kernels, its
    derivative, and its other forms.
    """
    lines = ["::", "", f"   {str(f.schema).removeprefix('aten::')}", ""]
    if f.same_as:
        return [
            *lines,
            f"Another name of ``{f.same_as}``."
            + f" Twins: {', '.join(map(_literal, twins))}." * bool(twins),
        ]
    said = next(
        filter(None, (docs.get(_full_target(target), "") for target in f.kernels.values())), ""
    )
    if said:
        lines += [inline(" ".join(said.partition("\n\n")[0].split())), ""]
    lines += [f":kernel: {'; '.join(_kernels(f, places))}"]
    gradients = _gradients(f, derivative)
    lines += [f":derivative: {gradients[0]}", *(f"\n             {g}" for g in gradients[1:])]
    if twins:
        lines += [":twins: " + ", ".join(map(_literal, twins))]
    return lines


def _kernels(f: NativeFunction, places: dict[str, str]) -> list[str]:
    by_target: dict[str, list[str]] = {}
    for key, target in f.kernels.items():
        by_target.setdefault(target, []).append(key)
    return [f"{', '.join(keys)} {_kernel(target, places)}" for target, keys in by_target.items()]


def _kernel(target: str, places: dict[str, str]) -> str:
    full = _full_target(target)
    return f":source:`{target} <{places[full]}>`" if full in places else f"``{target}``"


def _full_target(target: str) -> str:
    own = target.removeprefix("cuda.")
    return f"internals.{'aten' if own == target else 'cuda'}.native.{own}"


def _literal(twin: str) -> str:
    return f"``{twin.removeprefix('aten::')}``"


def _gradients(f: NativeFunction, derivative: Derivative | None) -> list[str]:
    if derivative is None:
        if f.is_composite:
            return ["none of its own: autograd sees the operators that it calls"]
        written = (
            "written by hand, in ``internals/autograd``" if f.schema.name in MANUAL else "none"
        )
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

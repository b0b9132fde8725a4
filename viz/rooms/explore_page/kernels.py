"""The pane "kernel": what the fuser makes of the groups, down to instructions.

For each group its kernel's source, whose lines know the nodes that they compute; the loop in
machine code for this CPU and the LLVM module, which know the group only, since the compiler is not
asked for line numbers there; and the same group as a kernel for a GPU, in PTX, whose instructions
know their line.

How the real one differs: PyTorch prints the source of a kernel when an environment variable asks
for it.
"""

from __future__ import annotations

import re
from typing import Any

from viz.rooms.explore_page.links import Links
from viz.rooms.explore_page.scene import Keys, Pane, Row, View, cut
from viz.rooms.fusion_instructions import hot_loop, lanes

LINES_AT_MOST = 400
KERNELS_AT_MOST = 12
NOTHING = (
    "not shown: nothing in this graph is fused. Groups are made of pointwise operations on tensors "
    "that follow one another"
)
NO_ARGUMENTS = (
    "not shown: which kernels there are depends on the arguments; give some (viz.explore(f, x), or "
    "--ones 2,3)"
)
MANGLED = re.compile(r"@_ZN?(\w+)")
ONE_GROUP = "the compiler keeps no line numbers here: every line belongs to the whole group"


def kernel_pane(graph: Any, name: str, args: tuple[Any, ...] | None, links: Links) -> Pane:
    """Runs the optimised graph once, for `args`, with all its groups compiled."""
    pane = Pane("kernel", "Kernel")
    if args is None:
        pane.views.append(View("kernel", note=NO_ARGUMENTS))
        return pane
    try:
        kernels = _kernels(graph, name, args)
    except Exception as error:
        pane.views.append(View("kernel", note=f"not shown: {' '.join(str(error).split())[:300]}"))
        return pane
    shown = kernels[:KERNELS_AT_MOST]
    for kernel, gpu in zip(shown, _for_gpu(shown)):
        pane.views += _views(kernel, _group_keys(kernel, links), links, gpu)
    if len(kernels) > KERNELS_AT_MOST:
        pane.views.append(
            View(
                "more kernels", note=f"{len(kernels) - KERNELS_AT_MOST} more kernels are not shown"
            )
        )
    if not pane.views:
        pane.views.append(View("kernel", note=NOTHING))
    return pane


def _kernels(graph: Any, name: str, args: tuple[Any, ...]) -> list[Any]:
    """The run may write to its arguments: it gets copies of the tensors."""
    from internals import no_grad
    from internals.jit.fuser import kernels_of
    from internals.jit.runtime.graph_executor import ExecutionPlan

    with no_grad():
        copies = [
            a.clone().requires_grad_(a.requires_grad) if hasattr(a, "untyped_storage") else a
            for a in args
        ]
    plan = ExecutionPlan(graph, name, None)
    return list(kernels_of(plan.run, *copies))


def _group_keys(kernel: Any, links: Links) -> Keys:
    """The groups that a kernel is of: its graph is a copy, whose nodes have the keys of the group's
    members.

    There may be several: when a loop is unrolled, each copy of its body gets a group, and all of
    them one kernel.
    """
    own = {links.key(node) for node in kernel.group.nodes()}
    groups = {key: len(members) for key, members in links.members.items() if own and own <= members}
    fewest = min(groups.values(), default=0)
    return tuple(f"g{key[1:]}" for key, count in groups.items() if count == fewest) or tuple(
        sorted(own)
    )


def _for_gpu(kernels: list[Any]) -> list[Any]:
    """For each kernel (its form for a GPU, its PTX), or the error that says why not. One process
    compiles all of them.
    """
    from internals.cuda.ptx import PtxUnavailable, compile_all

    found: list[Any] = []
    for kernel in kernels:
        try:
            found.append(kernel.for_gpu())
        except RuntimeError as error:
            found.append(error)
    forms = [form for form in found if not isinstance(form, Exception)]
    try:
        made: Any = iter(
            compile_all([(f.kernel, f.argument_types) for f in forms], lineinfo=True)
            if forms
            else ()
        )
    except PtxUnavailable as error:
        return [error] * len(kernels)
    return [form if isinstance(form, Exception) else (form, next(made)) for form in found]


def _views(kernel: Any, group: Keys, links: Links, gpu: Any) -> list[View]:
    if kernel.tier == "unfused":
        return [
            View(
                "a group",
                note=f"not shown: this group runs operator by operator, because {kernel.reason}",
            )
        ]
    views = [
        View(
            kernel.name,
            _source(kernel.source, kernel.nodes, group, links),
            f"for this machine: {kernel.tier}",
        )
    ]
    if kernel.tier == "numba":
        views.append(_attempt(f"{kernel.name}: loop", lambda: _loop(kernel, group)))
        views.append(_attempt(f"{kernel.name}: LLVM", lambda: _llvm(kernel.llvm, group)))
    views.append(_attempt(f"{kernel.name}: PTX", lambda: _ptx(gpu, group, links)))
    return views


def _source(text: str, nodes: list[Any], group: Keys, links: Links) -> list[Row]:
    rows = []
    for n, (line, node) in enumerate(zip(text.splitlines(), nodes, strict=True), 1):
        rows.append(Row(line, (links.key(node),) if node is not None else group, str(n)))
    return rows


def _loop(kernel: Any, group: Keys) -> tuple[list[Row], str]:
    rows = [Row(i.text, group) for i in hot_loop(kernel.assembly)]
    width = lanes(kernel.llvm)
    note = (
        f"the innermost loop: {width} elements at a time"
        if width > 1
        else "the innermost loop: one element at a time"
    )
    return rows, f"{note}; {ONE_GROUP}"


def _llvm(text: str, group: Keys) -> tuple[list[Row], str]:
    """The functions of the module. Names are those that the functions have in Python, not what the
    linker calls them.
    """
    lines = [
        line
        for line in text.splitlines()
        if line and not line.startswith(("@", ";", "source_", "target", "!", "attr"))
    ]
    return [
        Row(MANGLED.sub(_plain, line), group) for line in lines
    ], f"optimised for this CPU; {ONE_GROUP}"


def _plain(name: re.Match[str]) -> str:
    """`_ZN9internals3jit5fuserE...` is a list of names, each behind its length; the last one says
    what it is.
    """
    rest, found = name[1], ""
    while number := re.match(r"\d+", rest):
        end = number.end() + int(number[0])
        found, rest = rest[number.end() : end], rest[end:]
    return f"@{found}"


def _ptx(gpu: Any, group: Keys, links: Links) -> tuple[list[Row], str]:
    """The kernel for a GPU and, below each of its lines, the instructions that became of it."""
    for problem in [gpu] if isinstance(gpu, Exception) else [gpu[1]]:
        if isinstance(problem, Exception):
            raise problem
    form, text = gpu
    rows = _source(form.source, form.nodes, group, links)
    of_line: dict[int, list[Row]] = {}
    rest: list[Row] = []
    for instruction in text.instructions():
        line = instruction.line - 1
        own = rows[line].own if 0 <= line < len(rows) else group
        made = Row(instruction.text.rstrip(";"), own, depth=9)
        (of_line.setdefault(line, []) if 0 <= line < len(rows) else rest).append(made)
    shown = [each for n, row in enumerate(rows) for each in (row, *of_line.get(n, ()))]
    return [
        *shown,
        *rest,
    ], "the same group for a GPU, compiled here for sm_90: below each line its instructions"


def _attempt(title: str, make: Any) -> View:
    try:
        rows, note = make()
    except Exception as error:
        return View(title, note=f"not shown: {' '.join(str(error).split())[:300]}")
    rows, hidden = cut(rows, LINES_AT_MOST)
    return View(title, rows, note, hidden)

"""`viz.explore` of a file: from the bytes of an archive to the program that is in it, and what
becomes of that when it runs.

A saved program has no Python function to begin with; it has a source of its own, which was printed
from a graph when it was saved and is compiled to a graph again now. A file without a program ends
with its tensors.

How the real one differs: `torch.utils.model_dump` makes a page of the first stages.
"""

from __future__ import annotations

import ast as python_ast
import os
from collections.abc import Iterator
from typing import Any

from viz.rooms.archive import archive, main_code
from viz.rooms.explore import Explore, Stage, attempt, compiled_stages
from viz.rooms.explore_page.archive import record_archive
from viz.rooms.explore_page.scene import Page

PROGRAMS = ("torchscript", "torchscript 1.0", "pt2")
LINES_AT_MOST = 200


def explore_file(path: str | os.PathLike[str], args: tuple[Any, ...], limit: int) -> Explore:
    """The stages of a file. Raises what `viz.archive` raises."""
    from internals.serialization.inspection.report import examine

    picture, report = archive(path), examine(path)
    program = _program(path, report)
    stages = list(_stages(picture, report, program, args, limit))
    return Explore(picture.name, stages, lambda: record_archive(path, program, args))


def page_of_file(path: str | os.PathLike[str], args: tuple[Any, ...]) -> Page:
    """The page of a file, without the stages. Raises what `viz.archive` raises."""
    from internals.serialization.inspection.report import examine

    return record_archive(path, _program(path, examine(path)), args)


def _program(path: str | os.PathLike[str], report: Any) -> Any:
    """The program in a file, why it cannot be loaded, or None."""
    return attempt(lambda: _loaded(os.fsdecode(path))) if report.kind in PROGRAMS else None


def _stages(
    picture: Any, report: Any, program: Any, args: tuple[Any, ...], limit: int
) -> Iterator[Stage]:
    from internals.serialization.inspection.text import pickles_section, tensors_section

    yield Stage("archive", report.title, picture)
    if report.pickles or report.texts:
        yield Stage(
            "description",
            "what the pickle and the JSON ask for",
            cut("\n\n".join(pickles_section(report, None))),
        )
    if report.tensors:
        yield Stage(
            "tensors", "which bytes each of them is", cut("\n".join(tensors_section(report, None)))
        )
    main = main_code(report)
    if main:
        yield Stage("code", main, cut(report.code[main]))
        yield Stage("syntax tree", "what Python reads", attempt(lambda: _tree(report.code[main])))
    if isinstance(program, str):
        yield Stage("graph", "compiled from the code", program)
    elif program is not None:
        yield from compiled_stages(program, args, limit)


def _loaded(path: str) -> Any:
    """The program; its code is compiled here, when its graph is asked for."""
    from internals.serialization.inspection.inspect import load_program

    program = load_program(path)
    program = program.module() if hasattr(program, "graph_signature") else program
    return program if program.inlined_graph is not None else None


def _tree(code: str) -> Any:
    """The tree of `forward`, or else of all of the code."""
    from viz.rooms.ast import ast

    for node in python_ast.walk(python_ast.parse(code)):
        if isinstance(node, python_ast.FunctionDef) and node.name == "forward":
            return ast(python_ast.get_source_segment(code, node, padded=True) or code)
    return ast(code)


def cut(text: str) -> str:
    lines = text.rstrip().splitlines()
    more = (
        [f"... {len(lines) - LINES_AT_MOST:,} more lines not shown"]
        if len(lines) > LINES_AT_MOST
        else []
    )
    return "\n".join(lines[:LINES_AT_MOST] + more)

"""`python -m internals explore FILE.py:FUNCTION`: the page of a function, a module or a saved file,
opened in the browser.

    python -m internals explore model.py:gelu --ones 4,8 --ones 8
    python -m internals explore model.py:Net --input batch.npy -o net.html --no-open
    python -m internals explore net.pt --ones 1,3,224,224

FUNCTION is a function, an `nn.Module`, or a class of modules that can be made without arguments;
dots lead into classes and objects. FILE.py is executed to get at it, as `python FILE.py` would be,
except that it is not called `__main__`, and that in a package (`__init__.py` lies beside it) it is
imported as a part of that, so that it may import its neighbours. A saved file is read and its
program compiled; nothing in it is executed but the operators that it calls, and these only if
arguments are given.

How the real one differs: PyTorch has no such command.
"""

from __future__ import annotations

import argparse
import importlib.util
import inspect
import os
import sys
import tempfile
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from internals.serialization.errors import ArchiveError
from internals.serialization.inspection.inspect import said
from internals.serialization.run import Refused, add_inputs, read_inputs
from internals.serialization.visible import visible
from viz.rooms.explore import page_of
from viz.rooms.explore_page.scene import Page
from viz.rooms.explore_page.writer import page_bytes
from viz.scene import write_atomically


def main(arguments: Sequence[str] = ()) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m internals explore",
        description=(
            "Writes an HTML file in which source, syntax tree, graph, bytecode and kernel are tied "
            "together; opens it."
        ),
        epilog=(
            "FILE.py is executed, as importing it would: do that only with files you trust. Saved "
            "files are not executed."
        ),
    )
    parser.add_argument(
        "target",
        metavar="FILE.py:FUNCTION or FILE",
        help="a function or module of a file, or a saved file",
    )
    add_inputs(parser)
    parser.add_argument(
        "-o", "--output", metavar="OUT.html", help="where to write the page (a temporary file)"
    )
    parser.add_argument(
        "--no-open", action="store_true", help="do not open the page in the browser"
    )
    options = parser.parse_args(list(arguments))
    try:
        html_or_refused(options.output)
        page = explored(options.target, read_inputs(options))
        out = Path(options.output or in_temporary_folder(options.target))
        try:
            write_atomically(out, page_bytes(page))
        except OSError as error:
            raise Refused(f"{out}: {error.strerror or error}") from None
    except Refused as refusal:
        print(f"explore: {visible(str(refusal))}", file=sys.stderr)
        return 1
    print(f"written: {out}")
    if not options.no_open and not webbrowser.open(out.absolute().as_uri()):
        print("no browser could be started here: open the file in one")
    return 0


def html_or_refused(output: str | None) -> None:
    """Before anything is computed: whether the page may be called that."""
    if output is not None and Path(output).suffix.lower() != ".html":
        raise Refused(f"-o {output}: the page is HTML: give a name that ends in .html")


def in_temporary_folder(target: str) -> Path:
    """Where the page of a function or file goes if nothing else was asked for: a new folder."""
    name = "".join(c if c.isalnum() else "_" for c in os.path.basename(target))
    return Path(tempfile.mkdtemp(prefix="explore-")) / f"{name}.html"


def explored(target: str, inputs: list[Any]) -> Page:
    """The page of a function, a module or a saved file."""
    thing = target if os.path.exists(target) else found_in(target)
    if isinstance(thing, str) and thing.endswith(".py"):
        raise Refused(
            f"{thing}: say which function, as in {thing}:{next(iter(names_of(load(thing))), 'f')}"
        )
    try:
        return page_of(thing, *inputs)
    except OSError as error:
        raise Refused(f"{target}: {error.strerror or said(error)}") from None
    except ArchiveError as error:
        raise Refused(said(error)) from None
    except Exception as error:  # the frontend names the line; a call that fails says where
        raise Refused(
            f"{target} cannot be compiled or called: {error}{advice(thing, target)}"
        ) from None


def advice(thing: Any, target: str) -> str:
    """What to give instead, of a method that was compiled as a function."""
    outer, _, name = target.rpartition(".")
    if (
        inspect.isfunction(thing)
        and thing.__qualname__.endswith(f".{name}")
        and "<locals>" not in thing.__qualname__
    ):
        return f"\n{name} is a method: if {outer} is a module, give that"
    return ""


def found_in(target: str) -> Any:
    """What `FILE.py:NAME` names. A class of modules is made into one."""
    path, colon, name = target.rpartition(":")
    if not colon or not path.endswith(".py"):
        raise Refused(
            f"'{target}': there is no such file (a function is given as FILE.py:FUNCTION)"
        )
    if not os.path.exists(path):
        raise Refused(f"{path}: there is no such file")
    thing = module = load(path)
    if not name:
        raise Refused(
            f"{target} names no function; {path} has {', '.join(names_of(module)) or 'none'}"
        )
    for part in name.split("."):
        if not hasattr(thing, part):
            there = ", ".join(names_of(module)) or "no functions"
            raise Refused(f"{path} has no '{name}'; it has {there}")
        thing = getattr(thing, part)
    if inspect.isclass(thing):
        try:
            return thing()
        except Exception as error:
            raise Refused(
                f"{target} is a class that cannot be made without arguments ({said(error)}): name "
                "an object"
            ) from None
    return thing


def load(path: str) -> Any:
    """Execute a file as a module. What it imports may lie beside it, or in the package that it is a
    part of.
    """
    name, folder = module_name(path)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, folder)
    sys.modules.setdefault(name, module)
    try:
        if spec.parent:
            importlib.import_module(spec.parent)
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise Refused(f"{path} cannot be imported: {type(error).__name__}: {said(error)}") from None
    finally:
        sys.path.pop(0)
    return module


def module_name(path: str) -> tuple[str, str]:
    """The name under which a file is imported, with those of the packages around it, and the folder
    in which that is found.
    """
    file = Path(path).absolute()
    names, folder = [file.stem], file.parent
    while (folder / "__init__.py").exists():
        names.insert(0, folder.name)
        folder = folder.parent
    return ".".join(names), str(folder)


def names_of(module: Any) -> list[str]:
    """The functions and classes that a file defines."""
    return [
        name
        for name, thing in vars(module).items()
        if (inspect.isfunction(thing) or inspect.isclass(thing))
        and thing.__module__ == module.__name__
    ]

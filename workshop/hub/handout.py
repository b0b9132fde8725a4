"""What a student finds on the first day: an own copy of the notebooks, with their pictures, beside
what the notebooks refer to.

The copies are made of a template, which is brought up to date when the hub starts. What a student
has is never overwritten. A file that is not there, because the student deleted it to begin anew or
because it was added later, is copied when the student's server starts next. Files are renamed into
place, so a copy that was interrupted is not taken for a whole one.

The sources, which the notebooks link to, are in one copy for all that cannot be written: to change
the project, a student takes a copy of it, and does not change it for the whole room.

JupyterLab shows pictures that are HTML only in notebooks that it trusts. The template's notebooks
are signed, as `make lab` does, and a student gets the signatures with them.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

import nbformat
from nbformat.sign import NotebookNotary

from tools.notebook_files import FOLDER, ROOT

# What notebooks read (`../tests/archives`) or link to (`../internals/core`).
SOURCES = (
    "internals",
    "viz",
    "exercises",
    "apparatus",
    "docs",
    "codegen",
    "runtimes",
    "tests/archives",
    "README.md",
)
SIGNATURES = Path(".local/share/jupyter")  # Jupyter's data directory in a home
NO_SOURCE = shutil.ignore_patterns("__pycache__", "node_modules", ".*")


def make_template(template: Path, notebooks: Path = FOLDER) -> int:
    """Bring the template up to date with the project's notebooks; returns how many there are."""
    paths = sorted(path for path in notebooks.iterdir() if path.suffix in (".ipynb", ".py"))
    for path in paths:
        put(path, template / "notebooks" / path.name)
    signed = [path for path in paths if path.suffix == ".ipynb"]
    sign(signed, template / SIGNATURES)
    return len(signed)


def sign(notebooks: list[Path], data: Path) -> None:
    """Have JupyterLab trust notebooks, where Jupyter's data directory is `data`."""
    data.mkdir(parents=True, exist_ok=True)
    with NotebookNotary(data_dir=str(data)) as notary:
        for path in notebooks:
            notebook = nbformat.read(path, as_version=4)
            if not notary.check_signature(notebook):
                notary.sign(notebook)


def make_sources(target: Path) -> None:
    """Copy the project's sources to where students look them up, such that none of them can be
    changed there.
    """
    temporary = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    try:
        for name in SOURCES:
            (temporary / name).parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, temporary / name, ignore=NO_SOURCE)
            else:
                shutil.copyfile(ROOT / name, temporary / name)
        for path in temporary.rglob("*"):
            path.chmod(0o555 if path.is_dir() else 0o444)
        remove(target)
        temporary.chmod(0o755)
        os.replace(temporary, target)
    except BaseException:
        remove(temporary)
        raise


def hand_out(template: Path, sources: Path, home: Path) -> list[str]:
    """Give a home what it does not have of the template, and links to the sources; returns what was
    copied.
    """
    home.mkdir(parents=True, exist_ok=True)
    given = []
    for path in sorted(path for path in template.rglob("*") if path.is_file()):
        name = path.relative_to(template)
        if not os.path.lexists(home / name):
            put(path, home / name)
            given.append(name.as_posix())
    if given and not any(
        SIGNATURES in Path(name).parents for name in given
    ):  # added later: theirs is a store of its own
        sign([home / name for name in given if name.endswith(".ipynb")], home / SIGNATURES)
    for top in sorted({Path(name).parts[0] for name in SOURCES}):
        if not os.path.lexists(home / top):
            (home / top).symlink_to(sources / top)
    return given


def main() -> None:
    """For servers that this hub does not start: `python -m workshop.hub.handout HOME`, in a pod,
    with the project beside it.
    """
    home = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        for path in FOLDER.iterdir():
            if path.suffix in (".ipynb", ".py"):
                put(path, Path(folder) / "notebooks" / path.name)
        given = hand_out(Path(folder), ROOT, home)
    print(f"{home} was given {len(given)} files")


def put(source: Path, target: Path) -> None:
    """Copy a file, whole or not at all, such that its new owner may write it."""
    write(target, source.read_bytes())


def write(target: Path, content: bytes | str) -> None:
    """A whole file or none."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def remove(folder: Path) -> None:
    """Delete a folder that cannot be written."""
    if folder.exists():
        for path in [folder, *folder.rglob("*")]:
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o755)
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()

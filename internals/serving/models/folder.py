r"""The folder that models are in, and the only way from a name to a file.

    models/
        mnist.pt                  mnist, version 1
        resnet/1/model.pt         resnet, version 1
        resnet/2/model.pt         resnet, version 2: the newest, which is meant where no version is
                                  said
        shapes/1/model.pt2        an exported program

A name that comes from outside never becomes a path. The folder is listed, and a name is looked up
in what was found: `..`, an absolute path or a NUL is not among it. Names that could be anything but
a plain entry of a folder are refused before that, to say so clearly.

What was found may be a link. A link is followed as long as it stays inside the folder (Kubernetes
mounts configuration that way); one that leaves it does not count as a model. Between finding and
opening somebody could put a link in place of a folder, so the file is opened component by
component, following none.

Mirrors Triton's model repository, `core/src/filesystem/`, and its check of paths in
`model_repository_manager.cc`.

How the real one differs: Triton's repository can also lie in S3, GCS or Azure; each model has a
`config.pbtxt`; names are checked for `..` and separators, links are followed wherever they lead.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from ..errors import InvalidRequest, ModelNotFound
from .model_file import SUFFIXES, Stamp, stamp_of

LONGEST_NAME = 200  # bytes; file systems stop at 255
VERSION = re.compile(r"[1-9][0-9]{0,17}", re.ASCII)


class Found(NamedTuple):
    """A file in the folder: `path` with all links resolved, and what it looked like."""

    path: Path
    stamp: Stamp


class ModelFolder:
    """Raises NotADirectoryError when there is no such folder."""

    def __init__(self, root: Path | str) -> None:
        self.root = Path(os.path.realpath(root))
        if not self.root.is_dir():
            raise NotADirectoryError(f"the folder of models, {root}, is not there or is no folder")

    def scan(self) -> dict[tuple[str, str], Found]:
        """All models by (name, version). Raises OSError when the folder cannot be read."""
        found: dict[tuple[str, str], Found] = {}
        for entry in sorted(os.listdir(self.root), key=_weight):
            for name, version, path in self._of_entry(entry):
                file = self._inside(path)
                if file is not None:
                    found[name, version] = file  # the last one counts
        return found

    def versions(self, name: str) -> dict[str, Found]:
        """The versions of one model, the oldest first. Raises InvalidRequest for what can be no
        name.
        """
        check_name(name)
        known = {version: found for (each, version), found in self.scan().items() if each == name}
        return dict(sorted(known.items(), key=lambda item: int(item[0])))

    def find(self, name: str, version: str = "") -> Found:
        """The model's file; version "" is the newest.

        Raises InvalidRequest for what can be no name or version, ModelNotFound where there is none.
        """
        check_name(name)
        check_version(version)
        versions = self.versions(name)
        if not versions:
            raise ModelNotFound(
                f"there is no model '{name}' in the folder; there is "
                f"{listed(n for n, _ in self.scan())}"
            )
        if version and version not in versions:
            raise ModelNotFound(
                f"model '{name}' has no version {version} in the folder; it has "
                f"{', '.join(versions)}"
            )
        return versions[version or list(versions)[-1]]

    def open_path(self, name: str, version: str = "") -> BinaryIO:
        """`find`, open for reading. Raises what that raises, and OSError for a file that cannot be
        opened.
        """
        return self.open_found(self.find(name, version))

    def open_found(self, found: Found) -> BinaryIO:
        """The file at a path without links, open for reading, if it still is one. Raises
        OSError.
        """
        # Opening a named pipe would wait for somebody to write to it, but for O_NONBLOCK.
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        parts = found.path.relative_to(self.root).parts
        if os.open not in os.supports_dir_fd:  # Windows
            return open(os.open(found.path, flags), "rb", buffering=0)
        here = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for i, part in enumerate(parts):
                last = flags if i == len(parts) - 1 else os.O_RDONLY | os.O_DIRECTORY
                step = os.open(part, last | os.O_NOFOLLOW, dir_fd=here)
                os.close(here)
                here = step
            return open(here, "rb", buffering=0)
        except BaseException:
            os.close(here)
            raise

    def _of_entry(self, entry: str) -> Iterator[tuple[str, str, Path]]:
        """What an entry of the folder could be: a file is version 1, a folder has a folder for each
        version.
        """
        path = self.root / entry
        for suffix in SUFFIXES:
            if entry.endswith(suffix) and is_name(entry.removesuffix(suffix)):
                yield entry.removesuffix(suffix), "1", path
        if not is_name(entry) or not path.is_dir() or self._resolved(path) is None:
            return
        try:
            versions = sorted(os.listdir(path))
        except OSError:  # it has just gone, or is not ours to read
            return
        for version in filter(VERSION.fullmatch, versions):
            for suffix in reversed(SUFFIXES):  # .pt counts
                yield entry, version, path / version / f"model{suffix}"

    def _resolved(self, path: Path) -> Path | None:
        """The path without links; None if it leads out of the folder."""
        real = Path(os.path.realpath(path))
        return real if real.is_relative_to(self.root) else None

    def _inside(self, path: Path) -> Found | None:
        """The file at a path, if it is a regular one inside the folder."""
        try:
            real = self._resolved(path)
            if real is None:
                return None
            status = os.lstat(real)
        except OSError:
            return None
        return Found(real, stamp_of(status)) if stat.S_ISREG(status.st_mode) else None


def _weight(entry: str) -> tuple[bool, bool]:
    """What counts where there are several for one version: mnist/1 before mnist.pt before
    mnist.pt2.
    """
    return not entry.endswith(SUFFIXES), not entry.endswith(SUFFIXES[1])


def is_name(name: str) -> bool:
    """Whether a model can be called so: any letters, no separators, nothing invisible, and no dot
    or blank around it.
    """
    try:
        length = len(name.encode())
    except UnicodeEncodeError:  # half a surrogate: a file name that is no text
        return False
    return (
        0 < length <= LONGEST_NAME
        and name.isprintable()
        and not any(c in '/\\:*?"<>|' for c in name)
        and name[0] not in ". "
        and name[-1] not in ". "
    )


def check_name(name: str) -> None:
    """Raises InvalidRequest unless `is_name`."""
    if not is_name(name):
        raise InvalidRequest(
            f"{_shown(name)} is no name of a model: names have up to {LONGEST_NAME} bytes of "
            "letters, digits, '-', '_' and dots inside, and no separators"
        )


def check_version(version: str) -> None:
    """Raises InvalidRequest for a version that is neither "" nor a positive number."""
    if version and not VERSION.fullmatch(version):
        raise InvalidRequest(
            f"{_shown(version)} is no version: versions are whole numbers from 1 on, the newest is "
            "the highest"
        )


def _shown(text: str) -> str:
    shown = ascii(text)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


def listed(names: Iterable[str], most: int = 20) -> str:
    """Names for a message, not more of them than anybody reads."""
    known = sorted(set(names))
    return (
        ", ".join(known[:most]) + (f" and {len(known) - most} more" if len(known) > most else "")
        or "none"
    )

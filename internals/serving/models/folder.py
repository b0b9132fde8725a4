r"""The folder of the models, and the only path from a name to a file.

    models/
        mnist.pt                  mnist, version 1
        resnet/1/model.pt         resnet, version 1
        resnet/2/model.pt         resnet, version 2: the newest, which is used if a request
                                  names no version
        shapes/1/model.pt2        an exported program

A name from a request never becomes a path. The folder is listed, and the name is looked up in this
list, which has no `..`, no absolute path and no NUL. Names that cannot be an entry of a folder are
refused before that, with a clear message.

An entry may be a link. A link is followed as long as it stays inside the folder (Kubernetes mounts
configuration that way); one that leads out of it does not count as a model. A folder could be
replaced by a link between the listing and the opening, so the file is opened component by
component, without following links.

Mirrors Triton's model repository, `core/src/filesystem/`, and its check of paths in
`model_repository_manager.cc`.

How the real one differs: Triton's repository can also be in S3, GCS or Azure; each model has a
`config.pbtxt`; names are checked for `..` and separators, and links are followed to any place.
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
# a number from 1 without leading zeros, that fits into 64 bits
VERSION = re.compile(r"[1-9][0-9]{0,17}", re.ASCII)


class Found(NamedTuple):
    """A file in the folder: its `path` with all links resolved, and its stamp at the listing."""

    path: Path
    stamp: Stamp


class ModelFolder:
    """The models in the folder `root`. Raises NotADirectoryError if there is no such folder."""

    def __init__(self, root: Path | str) -> None:
        self.root = Path(os.path.realpath(root))
        if not self.root.is_dir():
            raise NotADirectoryError(f"the folder of models, {root}, is not there or is no folder")

    def scan(self) -> dict[tuple[str, str], Found]:
        """All models by (name, version). Raises OSError if the folder cannot be read."""
        found: dict[tuple[str, str], Found] = {}
        for entry in sorted(os.listdir(self.root), key=_weight):
            for name, version, path in self._of_entry(entry):
                file = self._inside(path)
                if file is not None:
                    found[name, version] = file  # a later one replaces an earlier one
        return found

    def versions(self, name: str) -> dict[str, Found]:
        """The versions of one model, the oldest first. Raises InvalidRequest for an impossible
        name.
        """
        check_name(name)
        known = {version: found for (each, version), found in self.scan().items() if each == name}
        return dict(sorted(known.items(), key=lambda item: int(item[0])))

    def find(self, name: str, version: str = "") -> Found:
        """The model's file; version "" is the newest.

        Raises InvalidRequest for an impossible name or version, ModelNotFound if there is none.
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
        """Opens the file of `find` for reading. Raises the errors of `find`, and OSError if the
        file cannot be opened.
        """
        return self.open_found(self.find(name, version))

    def open_found(self, found: Found) -> BinaryIO:
        """Opens a file for reading. Raises OSError if it is gone or its path has links by now."""
        # Without O_NONBLOCK, opening a named pipe would wait for a writer.
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        parts = found.path.relative_to(self.root).parts
        if os.open not in os.supports_dir_fd:  # Windows
            return open(os.open(found.path, flags), "rb", buffering=0)
        # `here` is always the folder that has been reached; O_NOFOLLOW refuses a link in it.
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
        """Yields the (name, version, path) that an entry of the folder may have: a file is version
        1, a folder has a folder for each version. The path need not exist.
        """
        path = self.root / entry
        for suffix in SUFFIXES:
            if entry.endswith(suffix) and is_name(entry.removesuffix(suffix)):
                yield entry.removesuffix(suffix), "1", path
        if not is_name(entry) or not path.is_dir() or self._resolved(path) is None:
            return
        try:
            versions = sorted(os.listdir(path))
        except OSError:  # it was just removed, or may not be read
            return
        for version in filter(VERSION.fullmatch, versions):
            for suffix in reversed(SUFFIXES):  # .pt last, so that it wins
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
    """The sorting key of an entry, by which mnist/1 wins over mnist.pt, and that over mnist.pt2, as
    all of them are version 1.
    """
    return not entry.endswith(SUFFIXES), not entry.endswith(SUFFIXES[1])


def is_name(name: str) -> bool:
    """Whether a model can have this name: any printable characters but separators, and no dot or
    space at either end.
    """
    try:
        length = len(name.encode())
    except UnicodeEncodeError:  # a lone surrogate: Python's form of a file name that is not UTF-8
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
    """Names for a message, sorted, at most `most` of them."""
    known = sorted(set(names))
    return (
        ", ".join(known[:most]) + (f" and {len(known) - most} more" if len(known) > most else "")
        or "none"
    )

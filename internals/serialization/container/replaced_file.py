"""A file that appears only when it is complete: it is written under a temporary name in the same
folder, then renamed.

A process that has the old file mapped keeps the old content, and if the program dies or the disk is
full, the old file stays.

How the real one differs: PyTorch opens the path and writes in place, so a program that is stopped
leaves a part of a file.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from typing import Any


class ReplacedFile:
    """A new file beside `path`, which takes its place on `commit()` and vanishes on `discard()`.

    It gets the permissions that `open(path, "wb")` would leave. If `path` is not a regular file (a
    pipe, `/dev/null`), it is opened directly.
    """

    def __init__(self, path: Any) -> None:
        # A symbolic link is resolved: the file that it points to is replaced, not the link.
        self.path = os.path.realpath(os.fspath(path))
        folder = os.path.dirname(self.path)
        if not os.path.isdir(folder):
            raise RuntimeError(
                f"Parent directory {os.path.dirname(os.fspath(path))} does not exist."
            )
        try:
            mode: int | None = os.stat(self.path).st_mode
        except FileNotFoundError:
            mode = None
        if mode is not None and not stat.S_ISREG(mode):
            self.temporary, self.file = "", open(self.path, "wb", buffering=0)
            return
        # A rename needs no right to write to the old file; `open` would, and so do we.
        if mode is not None and not os.access(self.path, os.W_OK):
            raise PermissionError(f"'{os.fspath(path)}' may not be written to")
        self.temporary = os.path.join(
            folder, f".{os.path.basename(self.path)}.{secrets.token_hex(4)}.tmp"
        )
        self.file = open(self.temporary, "xb", buffering=0)
        if mode is not None:
            os.chmod(self.temporary, stat.S_IMODE(mode))

    def write(self, data: Any) -> int | None:
        return self.file.write(data)

    def reserve(self, position: int, nbytes: int) -> None:
        """Allocates the space for `nbytes` at once, which halves the time of writing. Raises
        OSError if the disk is full; any other failure is ignored.
        """
        if self.temporary and hasattr(os, "posix_fallocate"):
            try:
                os.posix_fallocate(self.file.fileno(), position, nbytes)
            except OSError as error:
                if error.errno == errno.ENOSPC:
                    raise

    def commit(self) -> None:
        """Puts the new file in the place of the old one, atomically."""
        self.file.close()
        if self.temporary:
            try:
                os.replace(self.temporary, self.path)
            except BaseException:
                self.discard()
                raise

    def discard(self) -> None:
        """Removes the new file; the old one stays."""
        self.file.close()
        if self.temporary:
            try:
                os.unlink(self.temporary)
            except FileNotFoundError:
                pass

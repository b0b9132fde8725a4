"""A file that appears when it is whole: written beside the one of its name, then put in its place.

Whoever has the old file mapped keeps the old one, and a program that dies, or a full disk, leaves
the old one where it is.

How the real one differs: PyTorch opens the path and writes in place, so a program that is stopped
leaves half a file.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from typing import Any


class ReplacedFile:
    """A new file beside `path`, which takes its place on `commit()` and vanishes on `discard()`.

    It gets the permissions `open(path, "wb")` would leave. What is no regular file (a pipe,
    `/dev/null`) is opened as it is.
    """

    def __init__(self, path: Any) -> None:
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
        """Asks for all the space at once: writing takes half the time, and a full disk is known
        before. Only a wish otherwise.
        """
        if self.temporary and hasattr(os, "posix_fallocate"):
            try:
                os.posix_fallocate(self.file.fileno(), position, nbytes)
            except OSError as error:
                if error.errno == errno.ENOSPC:
                    raise

    def commit(self) -> None:
        self.file.close()
        if self.temporary:
            try:
                os.replace(self.temporary, self.path)
            except BaseException:
                self.discard()
                raise

    def discard(self) -> None:
        self.file.close()
        if self.temporary:
            try:
                os.unlink(self.temporary)
            except FileNotFoundError:
                pass

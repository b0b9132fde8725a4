"""Whose compiled code is run: only files of yours or of root's that others cannot have written.

An object file runs with all of your rights, so a cache that others can write lets them act as you.
`read` and `folder` go down the path from the root, and refuse

- the cache, a folder or a file in it that belongs to another user, or that others may write;
- a folder above it in which another user could put something else in its place. In a sticky folder,
  as /tmp is, others cannot rename what is yours. Whoever can write the code of this package is let
  pass here: no cache is needed to have that run.

Each folder is looked at before what is in it. What was found to be yours therefore stays in its
place, since nothing above it is left by which others could move it, and looking first and opening
then is no race. What is looked at in a file is what was opened, and no link is followed to it.

An access control list shows in the group's bits of the mode on Linux; those of macOS are not seen.
Windows has no such owners and modes. A user's cache lies in the user's profile there, which Windows
keeps from others; if INTERNALS_CACHE_DIR names another folder, see to it that only you can write
it.

How the real one differs: Inductor's cache (`torch/_inductor/runtime/cache_dir_utils.py`) is in
/tmp/torchinductor_USER, and what is in it is run, whoever wrote it.
"""

from __future__ import annotations

import os
import stat
from functools import cache as once
from pathlib import Path

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
HAS_OWNERS = hasattr(os, "geteuid")


class Refused(Exception):
    """Which file or folder is not trusted, why, and what to do."""


def read(cache: Path, *names: str) -> bytes:
    """A file of the cache, `names` its folder's and its own.

    Raises Refused if others might have written it, FileNotFoundError if there is none."""
    path = folder(cache, *names[:-1]) / names[-1]
    try:
        file = open(path, "rb", opener=_open)
    except PermissionError:
        raise _unreadable(path) from None
    except OSError:
        if path.is_symlink():
            raise Refused(f"{path} is a link; delete it") from None
        raise
    with file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise Refused(f"{path} is no regular file; delete it")
        _only_yours(path, status)
        return file.read()


def folder(cache: Path, *names: str, make: bool = False) -> Path:
    """Where the cache, or a folder in it, really is, links above it resolved; `make` it if need be.

    Raises Refused if others might have put something there, FileNotFoundError if there is none."""
    real = Path(os.path.realpath(cache))
    for path in reversed(real.parents):
        _look(path, make, inside=False)
    _look(real, make, inside=True)
    for name in names:
        real /= name
        _look(real, make, inside=True)
    return real


def _open(path: str, flags: int) -> int:
    """Not through a link, and not waiting for whoever writes into a pipe; Windows has neither
    flag.
    """
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


def _look(path: Path, make: bool, inside: bool) -> None:
    """Refuse a folder that is not trusted, after all above it were; `inside`: it is in the
    cache.
    """
    try:
        status = os.lstat(path)
    except PermissionError:
        raise _unreadable(path) from None
    except FileNotFoundError:
        if not make:
            raise
        status = _made(path, inside)
    if stat.S_ISLNK(status.st_mode):
        raise Refused(f"{path} is a link; delete it")
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(path)
    if inside:
        _only_yours(path, status)
    else:
        _stays_in_place(path, status)


def _made(path: Path, inside: bool) -> os.stat_result:
    """A new folder. In the cache everyone may look into it; above it, if the umask lets them."""
    try:
        os.mkdir(path, 0o755)
        if inside:
            os.chmod(path, 0o755)
    except FileExistsError:
        pass  # another process was quicker
    return os.lstat(path)


def _only_yours(path: Path, status: os.stat_result) -> None:
    if not HAS_OWNERS:
        return
    if status.st_uid not in (0, os.geteuid()):
        raise Refused(f"{path} belongs to {_user(status.st_uid)}, not to you or root; delete it")
    if status.st_mode & OTHERS_WRITE:
        raise _writable(path, status)


def _stays_in_place(path: Path, status: os.stat_result) -> None:
    """Refuse a folder above the cache in which another user could rename what is in it."""
    if not HAS_OWNERS:
        return
    authors = _authors()
    if status.st_uid not in (0, os.geteuid(), authors.st_uid):
        raise Refused(
            f"{path} belongs to {_user(status.st_uid)}, not to you or root; move the cache"
        )
    writers = status.st_mode & OTHERS_WRITE
    if writers == authors.st_mode & stat.S_IWGRP and status.st_gid == authors.st_gid:
        return
    if writers and not status.st_mode & stat.S_ISVTX:
        raise _writable(path, status)


@once
def _authors() -> os.stat_result:
    """Who can write the code of this package: the owner of its folder, and its group if that
    may.
    """
    return os.stat(Path(__file__).parent)


def _writable(path: Path, status: os.stat_result) -> Refused:
    mode = stat.S_IMODE(status.st_mode)
    return Refused(f"{path} can be written by others (mode {mode:04o}); chmod go-w {path}")


def _unreadable(path: Path) -> Refused:
    return Refused(f"you may not read {path}; its owner can let you by chmod a+rX")


def _user(uid: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"

"""Decides whose compiled code may run: only files of yours or of root's that others cannot have
written.

An object file runs with all of your rights, so a cache that others can write lets them act as you.
`read` and `folder` go down the path from the root, and refuse

- the cache, a folder or a file in it that belongs to another user, or that others may write;
- a folder above it in which another user could replace it. In a sticky folder, such as /tmp, others
  cannot rename your files. The users who can write the code of this package are trusted here: they
  need no cache to have their code run.

Each folder is checked before the files in it. Once a folder is found to be yours, others cannot
replace it, as all folders above it have passed; so there is no race between checking a file and
opening it. A file is checked after it was opened, and it is never opened through a link.

On Linux an access control list shows in the group's bits of the mode; those of macOS are not seen.
Windows has no such owners and modes. There the cache lies in the user's profile, which Windows
keeps from others; if INTERNALS_CACHE_DIR names another folder, make sure that only you can write to
it.

How the real one differs: Inductor's cache (`torch/_inductor/runtime/cache_dir_utils.py`) is in
/tmp/torchinductor_USER, and its files are run, whoever wrote them.
"""

from __future__ import annotations

import os
import stat
from functools import cache as once
from pathlib import Path

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
HAS_OWNERS = hasattr(os, "geteuid")


class Refused(Exception):
    """Raised for a file or folder that is not trusted; says which, why, and what to do."""


def read(cache: Path, *names: str) -> bytes:
    """The content of a file of the cache; `names` are those of its folder and of the file.

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
        # of the file that is open, not of the path: it cannot be exchanged in between
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise Refused(f"{path} is no regular file; delete it")
        _only_yours(path, status)
        return file.read()


def folder(cache: Path, *names: str, make: bool = False) -> Path:
    """The path of the cache, or of a folder in it, with all links resolved; `make` it if need be.

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
    """Open a file, but not through a link (O_NOFOLLOW), and without waiting for a writer if it is a
    pipe (O_NONBLOCK). Windows has neither flag.
    """
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


def _look(path: Path, make: bool, inside: bool) -> None:
    """Refuse a folder that is not trusted; all above it have passed. `inside`: it is the cache or
    in it. `make`: create it if there is none.
    """
    try:
        status = os.lstat(path)  # of a link itself, not of its target
    except PermissionError:
        raise _unreadable(path) from None
    except FileNotFoundError:
        if not make:
            raise
        status = _new_folder(path, inside)
    if stat.S_ISLNK(status.st_mode):
        raise Refused(f"{path} is a link; delete it")
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(path)
    if inside:
        _only_yours(path, status)
    else:
        _stays_in_place(path, status)


def _new_folder(path: Path, inside: bool) -> os.stat_result:
    """The status of a new folder. In the cache everyone may read it; above it the umask decides."""
    try:
        os.mkdir(path, 0o755)
        if inside:
            os.chmod(path, 0o755)
    except FileExistsError:
        pass  # another process was quicker
    return os.lstat(path)


def _only_yours(path: Path, status: os.stat_result) -> None:
    """Refuse a file or folder of another user, or one that others may write."""
    if not HAS_OWNERS:
        return
    if status.st_uid not in (0, os.geteuid()):
        raise Refused(f"{path} belongs to {_user(status.st_uid)}, not to you or root; delete it")
    if status.st_mode & OTHERS_WRITE:
        raise _writable(path, status)


def _stays_in_place(path: Path, status: os.stat_result) -> None:
    """Refuse a folder above the cache in which another user could rename the folder below."""
    if not HAS_OWNERS:
        return
    authors = _authors()
    if status.st_uid not in (0, os.geteuid(), authors.st_uid):
        raise Refused(
            f"{path} belongs to {_user(status.st_uid)}, not to you or root; move the cache"
        )
    group_writes = bool(status.st_mode & stat.S_IWGRP)
    world_writes = bool(status.st_mode & stat.S_IWOTH)
    sticky = bool(status.st_mode & stat.S_ISVTX)
    # The group is trusted if it is the one that may write the code of this package.
    trusted_group = bool(authors.st_mode & stat.S_IWGRP) and status.st_gid == authors.st_gid
    strangers_write = world_writes or (group_writes and not trusted_group)
    if strangers_write and not sticky:
        raise _writable(path, status)


@once
def _authors() -> os.stat_result:
    """The status of this package's folder: its owner, and its group if the mode allows it, can
    write the code.
    """
    return os.stat(Path(__file__).parent)


def _writable(path: Path, status: os.stat_result) -> Refused:
    mode = stat.S_IMODE(status.st_mode)
    return Refused(f"{path} can be written by others (mode {mode:04o}); chmod go-w {path}")


def _unreadable(path: Path) -> Refused:
    return Refused(f"you may not read {path}; its owner can let you by chmod a+rX")


def _user(uid: int) -> str:
    """A user's name, or number if it has none."""
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"

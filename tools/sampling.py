"""Which cases of a test marked `sampled(share)` run at a commit: another part at each, all of them
in a row of commits.

A case belongs to one of N parts by its name, N being 1 / share, and the n-th commit runs part n
modulo N. So any N commits that follow each other run every case once, by construction, and N is at
most 16. Commits are counted along first parents, where each is one more than the one before.
"""

from __future__ import annotations

import os
import subprocess
import zlib
from typing import NamedTuple

from tools.notebook_files import ROOT

VARIABLE = "INTERNALS_TEST_SAMPLE"  # the turn; where it is not set, all cases run
LONGEST = 16  # commits, after which every case was run


class Seed(NamedTuple):
    turn: int
    name: str  # how the same sample is asked for again, and what it depends on


def seed(revision: str = "") -> Seed:
    """The turn of a commit, by default of the one that the working tree is based on."""
    commit = git("rev-parse", "--verify", "--short=12", f"{revision or 'HEAD'}^{{commit}}")
    if not commit:
        if revision:
            raise SystemExit(f"--sample: there is no commit {revision} here")
        return Seed(0, "a fixed one, as there is no commit here")
    if git("rev-parse", "--is-shallow-repository") == "true":
        return Seed(
            int(commit, 16),
            f"{commit}; in a shallow clone it is by the hash, and some cases may wait longer",
        )
    return Seed(int(git("rev-list", "--count", "--first-parent", commit)), commit)


def in_sample(name: str, share: float, turn: int) -> bool:
    """Whether the case is run in this turn."""
    parts = round(1 / share)
    if not 1 <= parts <= LONGEST:
        raise ValueError(
            f"sampled({share}): a case would wait for {parts} commits; at most {LONGEST} "
            f"(1/{LONGEST})"
        )
    return zlib.crc32(name.encode()) % parts == turn % parts


def turn() -> int | None:
    """The turn of this run, which is set for the processes of `make test`."""
    asked = os.environ.get(VARIABLE)
    return int(asked) if asked else None


def git(*command: str) -> str:
    """What git answers; nothing where there is no git, or it fails."""
    try:
        done = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True)
    except FileNotFoundError:
        return ""
    return "" if done.returncode else done.stdout.strip()

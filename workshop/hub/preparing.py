"""Before the hub starts: the folder of the classroom, with what all students share, and how many of
them this machine bears.
"""

from __future__ import annotations

import json
import shutil

import psutil

from tools.lab import SETTINGS
from workshop.hub.classroom import Classroom
from workshop.hub.handout import make_sources, make_template, write

# Measured, in MiB of proportional set size, which counts memory that several share in parts: the
# table is in README.md.
HUB_MIB = 175  # the hub and its proxy
SERVER_MIB = 130  # a student's server
NOTEBOOK_MIB = 150  # the kernel of an open notebook
GRADING_MIB = 15  # what nbgrader adds to a server
SPARE = 0.15  # of the free memory, for the system and for notebooks that need more than others

# What JupyterLab does not show: students make no assignments, and where there is no course there is
# nothing of nbgrader's.
INSTRUCTOR_ONLY = ("course-list", "create-assignment", "formgrader")
ALL_OF_NBGRADER = ("assignment-list", "menu", "validate-assignment", *INSTRUCTOR_ONLY)

NBGRADER = '''"""nbgrader's settings for everyone in this classroom; written when the hub starts."""

import os
from pathlib import Path

c = get_config()  # noqa: F821  (nbgrader gives it to this file)
user = os.environ.get("JUPYTERHUB_USER", "")
c.CourseDirectory.course_id = {course!r}
c.Exchange.root = {exchange!r}
c.Exchange.path_includes_course = False
c.ExchangeCollect.check_owner = False  # all servers are processes of one user
if user in {instructors!r}:
    c.CourseDirectory.root = str(Path.home() / {course!r})
else:
    c.CourseDirectory.student_id = user
'''


def prepare(room: Classroom) -> int:
    """Make or bring up to date what the hub needs on disk; students' homes are left alone. Returns
    the number of notebooks.

    Raises OSError if the folder cannot be written.
    """
    for folder in (room.folder, room.homes):
        folder.mkdir(parents=True, exist_ok=True)
    room.folder.chmod(0o700)
    for role, hidden in (("student", INSTRUCTOR_ONLY), ("instructor", ())):
        plugins = [
            f"@jupyter/nbgrader:{name}" for name in (hidden if room.course else ALL_OF_NBGRADER)
        ]
        lab = room.settings / role
        lab.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(SETTINGS / "overrides.json", lab / "overrides.json")
        write(
            lab / "page_config.json",
            json.dumps({"disabledExtensions": dict.fromkeys(plugins, True)}, indent=1),
        )
    if room.course:
        room.exchange.mkdir(exist_ok=True)
        # nbgrader refuses another; room.folder above lets nobody else in
        room.exchange.chmod(0o777)
        settings = NBGRADER.format(
            course=room.course, exchange=str(room.exchange), instructors=room.instructors
        )
        write(room.settings / "nbgrader_config.py", settings)
    make_sources(room.sources)
    return make_template(room.template)


def free_mib() -> int:
    return psutil.virtual_memory().available // 2**20


def student_mib(room: Classroom) -> int:
    """What a student with one open notebook needs."""
    return SERVER_MIB + NOTEBOOK_MIB + (GRADING_MIB if room.course else 0)


def students_that_fit(room: Classroom, free: int) -> int:
    """How many students, with one open notebook each, `free` MiB of memory are enough for."""
    return max(0, int((free * (1 - SPARE) - HUB_MIB) / student_mib(room)))

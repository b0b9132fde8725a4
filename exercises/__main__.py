"""`python -m exercises list | selftest | insert | misconceptions | release`: what there is, whether
the checkers are right, writing the notebooks, what people believe, and a course for nbgrader."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from exercises.catalogue import NOTEBOOK_OF, NOTEBOOKS, everything, of_notebook
from exercises.exercise import Exercise

FOLDER = Path(__file__).resolve().parent.parent / "notebooks"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m exercises", description="the exercises of the notebooks"
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name, what in (
        ("list", "what there is"),
        ("selftest", "test the checkers"),
        ("insert", "write them into notebooks"),
        ("misconceptions", "what people believe, and what the checkers answer"),
    ):
        command = commands.add_parser(name, help=what, description=what)
        command.add_argument(
            "names", nargs="*", help="beginnings of exercises, topics or notebooks; default: all"
        )
        if name == "list":
            command.add_argument(
                "--json", action="store_true", help="as JSON, with questions and hints"
            )
    command = commands.add_parser(
        "release", help="write a course for nbgrader", description="write a course for nbgrader"
    )
    command.add_argument("folder", type=Path, help="the course's folder")
    command.add_argument("names", nargs="*", help="beginnings of notebooks; default: all")
    command.add_argument(
        "--course", default="internals", help="its name in the exchange (default: internals)"
    )
    options = parser.parse_args(arguments)
    commands_run = {
        "list": show, "selftest": selftest, "insert": insert, "misconceptions": misconceptions,
        "release": release
    }  # fmt: skip
    try:
        return commands_run[options.command](options)
    except Unknown as error:
        print(error, file=sys.stderr)
        return 2


class Unknown(Exception):
    """A name with which nothing begins, and what there is."""


def chosen(names: Sequence[str]) -> list[Exercise]:
    """The exercises of these names. Raises Unknown for a name with which nothing begins."""
    for name in names:
        if not any(everything([name])):
            raise Unknown(
                f"no exercise, topic or notebook begins with {name!r}; there are "
                f"{', '.join(NOTEBOOK_OF)}"
            )
    return list(everything(names))


def show(options: argparse.Namespace) -> int:
    """`list`: a line each, or JSON."""
    exercises = chosen(options.names)
    if options.json:
        print(
            json.dumps(
                [described(exercise) for exercise in exercises], indent=1, ensure_ascii=False
            )
        )
        return 0
    for exercise in exercises:
        print(
            f"{exercise.name:22} level {exercise.level}  {NOTEBOOK_OF[exercise.topic]:36} "
            f"{exercise.title}"
        )
    print(f"{len(exercises)} exercises")
    return 0


def described(exercise: Exercise) -> dict[str, object]:
    """What others may know of an exercise: all but its checker and its solution."""
    return {
        "id": exercise.name,
        "notebook": NOTEBOOK_OF[exercise.topic],
        "level": exercise.level,
        "title": exercise.title,
        "track": exercise.track,
        "question": exercise.ask,
        "start": exercise.cell(),
        "check": exercise.call,
        "hints": list(exercise.hints),
        "misconceptions": [mistake.belief for mistake in exercise.mistakes],
    }


def selftest(options: argparse.Namespace) -> int:
    """`selftest`: tests the checkers; 1 when one of them is wrong."""
    from exercises.selftest import problems

    failed = passed = 0
    for exercise in chosen(options.names):
        found = problems(exercise)
        failed += bool(found)
        passed += not found
        for problem in found:
            print(f"{exercise.name}: {problem}", flush=True)
        if not found:
            print(
                f"{exercise.name}: solution passes, blank and {len(exercise.mistakes)} mistakes do "
                "not",
                flush=True,
            )
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def insert(options: argparse.Namespace) -> int:
    """`insert`: writes the cells into the notebooks, which keep everything else."""
    from exercises.cells import insert as insert_into

    wanted = (
        {NOTEBOOK_OF[exercise.topic] for exercise in chosen(options.names)}
        if options.names
        else set(NOTEBOOKS)
    )
    for notebook in (name for name in NOTEBOOKS if name in wanted):
        changed = insert_into(FOLDER / f"{notebook}.ipynb")
        print(
            f"{notebook}: {len(of_notebook(notebook))} exercises, "
            f"{'written' if changed else 'unchanged'}"
        )
    return 0


def misconceptions(options: argparse.Namespace) -> int:
    """`misconceptions`: prints workshop/misconceptions.md."""
    from exercises.misconceptions import page

    chosen(options.names)
    for part in page(options.names):
        print(part)
    return 0


def release(options: argparse.Namespace) -> int:
    """`release`: writes a course for nbgrader, and says how to go on."""
    from exercises.nbgrader_release import release as make_course

    try:
        points = make_course(options.folder, tuple(options.names), options.course)
    except LookupError as error:
        raise Unknown(error.args[0]) from None
    except OSError as error:
        print(f"cannot write the course into {options.folder}: {error.strerror}", file=sys.stderr)
        return 1
    for notebook, most in points.items():
        print(f"{notebook}: {len(of_notebook(notebook))} exercises, {most} points")
    print(f"next, in {options.folder}: nbgrader generate_assignment {next(iter(points))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

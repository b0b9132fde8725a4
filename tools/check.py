"""`make check`: lint, types, and the tests that are nearest to a change, in about a minute.

A change is what is not committed, and the commits since origin/main or, where that is where you
are, the last one; `make check ARGS=HEAD~3` looks further back. Changed tests and notebooks run.
Other tests run if they import what changed, by however many steps; as that is nearly all of them,
those run first that are near (`nearness`), and no more than BUDGET allows. The closing lines say
what was left to `make test`, which knows how long each file takes.
"""

from __future__ import annotations

import ast
import json
import math
import os
import re
import sys
from collections import Counter, deque
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any

from tools.notebook_files import BUILD, FOLDER, ROOT
from tools.sampling import git
from tools.test import finished_well, known_seconds, report, run_tests, start_checks

BUDGET = 40.0  # seconds of CPU time, of those files' tests that are not changed themselves
GUESS = 2.0  # seconds, for a file whose tests have not run here yet
FOLDERS = [
    "internals",
    "viz",
    "exercises",
    "apparatus",
    "codegen",
    "tools",
    "workshop",
    "benchmarks",
    "tests",
]
IMPORTS = BUILD / "imports.json"
# Each has a case for every operator; those that have its name are run.
OPERATORS = [
    "tests/aten/test_op_fuzz.py", "tests/autograd/test_gradcheck_ops.py",
    "tests/autograd/test_gradients_side_by_side.py", "tests/jit/operators/test_every_operator.py",
]  # fmt: skip
COMMON = {"internals", "tests", "test", "init", "native", "functions", "of", "the", "and"}
CASES = 30  # names of functions that are looked for, at most


def main() -> int:
    since = sys.argv[1] if len(sys.argv) > 1 else ""
    base = git("rev-parse", "--verify", f"{since}^{{commit}}") if since else start_of_change()
    if not base:
        print(
            f"check: there is no commit {since or 'to compare with'}; make test runs everything",
            file=sys.stderr,
        )
        return 1
    changed = changed_files(base)
    print(f"check: {len(changed)} files changed since {base[:12]}", flush=True)
    checks = start_checks()
    BUILD.mkdir(exist_ok=True)
    names = changed_names(base)
    chosen, left = choose(changed, names, imports(), known_seconds())
    lanes = {"tests": chosen, "notebooks": [name for name in changed if is_notebook(name)]}
    cases = [name for name in OPERATORS if name not in chosen]
    if names and any(name.startswith("internals/") for name in changed):
        lanes["cases"] = [*cases, "-k", " or ".join(f"[{name}" for name in names)]
    problems = run_tests(
        {lane: paths for lane, paths in lanes.items() if paths},
        {**os.environ, "INTERNALS_TEST_FULL": "0"},
    )
    broken = [name for name, process in checks.items() if not finished_well(name, process)]
    status = report(problems, broken, list(checks)) if any(lanes.values()) else int(bool(broken))
    print(
        f"check: {len(chosen)} files of tests were run; {len(left)} more that the change reaches "
        "are left to make test"
    )
    return status


def start_of_change() -> str:
    """Where this branch left origin/main; on origin/main, or without one, the commit before the
    last.
    """
    head, base = git("rev-parse", "--verify", "HEAD"), git("merge-base", "HEAD", "origin/main")
    return base if base and base != head else git("rev-parse", "--verify", "HEAD~1") or head


def changed_files(base: str) -> list[str]:
    """Deleted ones among them: what imported them is to be run."""
    listed = (
        git("diff", "--name-only", "--no-renames", base),
        git("ls-files", "--others", "--exclude-standard"),
    )
    return sorted({name for names in listed for name in names.splitlines()})


def changed_names(base: str) -> list[str]:
    """The functions, classes and operators that have changed lines, as git and the lines tell."""
    names: Counter[str] = Counter()
    for line in git("diff", "-U0", base, "--", "*.py", "*.yaml", ":!tests").splitlines():
        if line.startswith(("@@", "+", "-")):
            names.update(re.findall(r"(?:\bdef|\bclass|\bfunc:|- name:) +([A-Za-z_]\w{2,})", line))
    return [name for name, _ in names.most_common(CASES)]


def choose(
    changed: list[str], names: list[str], imported: dict[str, list[str]], seconds: dict[str, float]
) -> tuple[list[str], list[str]]:
    """The files of tests to run, and those that the change reaches and that are left out."""
    tests = [name for name in imported if is_test(name)]
    own = [name for name in tests if name in changed]
    others = [name for name in changed if not is_test(name)]
    near = nearness(others, names, imported, [name for name in tests if name not in own])
    spent, chosen = 0.0, []
    for name in sorted(near, key=lambda name: (-near[name], name)):
        if spent + seconds.get(name, GUESS) <= BUDGET:  # a giant leaves the room to the next
            spent += seconds.get(name, GUESS)
            chosen.append(name)
    reached = reach(changed, imported)
    return own + chosen, [name for name in tests if name in reached and name not in {*own, *chosen}]


def nearness(
    changed: list[str], names: list[str], imported: dict[str, list[str]], tests: list[str]
) -> dict[str, float]:
    """How near each test is to the change: few steps of imports, and rare words in common, of file
    names and of functions.
    """
    steps = distances(changed, imported)
    words = {
        test: set(re.findall(r"[a-z0-9]+", test.removesuffix(".py"))) - COMMON for test in tests
    }
    wanted = {
        *names,
        *(Path(name).name for name in changed if not name.endswith((".py", ".ipynb"))),
    }
    texts = {
        test: set(re.findall(r"[\w.]*\w", text)) | set(re.findall(r"\w+", text))
        for test in tests
        for text in [read(test)]
    }
    often = Counter(word for some in words.values() for word in some)
    use = Counter(name for text in texts.values() for name in wanted if name in text)
    near = {}
    for test in tests:
        common = max(
            (
                sum(1 / math.log2(1 + often[word]) for word in words[test] if word in split(name))
                for name in changed
            ),
            default=0.0,
        )
        mentioned = max(
            (1 / math.log2(1 + use[name]) for name in wanted & texts[test]), default=0.0
        )
        near[test] = common + mentioned + (1 / steps[test] if test in steps else 0)
    return {test: value for test, value in near.items() if value}


def distances(changed: list[str], imported: dict[str, list[str]]) -> dict[str, float]:
    """Steps of imports from each module to the change. One that a tenth of all import, a hub as
    `internals`, is no way to it.
    """
    importers = reverse(imported)
    hub = len(imported) / 10
    steps = dict.fromkeys(sources(changed, imported), 1.0)
    queue = deque(steps)
    while queue:
        name = queue.popleft()
        if steps[name] == 1 or len(importers.get(name, [])) < hub:
            for importer in importers.get(name, []):
                if importer not in steps:
                    steps[importer] = steps[name] + 1
                    queue.append(importer)
    return steps


def reach(changed: list[str], imported: dict[str, list[str]]) -> set[str]:
    """What imports the change, by whatever way."""
    importers, found = reverse(imported), sources(changed, imported)
    queue = list(found)
    while queue:
        new = [name for name in importers.get(queue.pop(), []) if name not in found]
        found.update(new)
        queue += new
    return found


def sources(changed: list[str], imported: dict[str, list[str]]) -> set[str]:
    """The changed modules. Another file, a template or a list of operators, stands for the modules
    that name it or its folder.
    """
    found = {name for name in changed if name.endswith(".py")}
    others = [
        Path(name)
        for name in changed
        if name.startswith(tuple(f"{folder}/" for folder in FOLDERS)) and name not in found
    ]
    wanted = {
        word for path in others if path.suffix != ".ipynb" for word in (path.name, path.parent.name)
    } - COMMON
    pattern = re.compile("|".join(rf"\b{re.escape(word)}\b" for word in sorted(wanted)))
    return found | {
        name for name in imported if wanted and not is_test(name) and pattern.search(read(name))
    }


def reverse(imported: dict[str, list[str]]) -> dict[str, list[str]]:
    importers: dict[str, list[str]] = {}
    for name, targets in imported.items():
        for target in targets:
            importers.setdefault(target, []).append(name)
    return importers


def imports() -> dict[str, list[str]]:
    """What each file of the project imports, inside of functions too. Kept in build, as reading all
    takes ten seconds.
    """
    known: dict[str, Any] = json.loads(IMPORTS.read_text()) if IMPORTS.exists() else {}
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    names = {path.relative_to(ROOT).as_posix(): path for path in files}
    stored: dict[str, Any] = {}
    for name, path in names.items():
        stamp = [path.stat().st_mtime_ns, path.stat().st_size]
        old = known.get(name)
        stored[name] = old if old and old[0] == stamp else [stamp, list(modules(path))]
    IMPORTS.write_text(json.dumps(stored))
    return {
        name: [file for module in found for file in file_of(module, names)]
        for name, (_, found) in stored.items()
    }


def modules(path: Path) -> Iterator[str]:
    """`from a import b` may be a module a.b, or something in a."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def file_of(module: str, names: Container[str]) -> list[str]:
    parts = module.split(".")
    for end in (len(parts), len(parts) - 1):
        stem = "/".join(parts[:end])
        for name in (f"{stem}.py", f"{stem}/__init__.py"):
            if name in names:
                return [name]
    return []


def split(name: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]+", name.rpartition(".")[0].lower())) - COMMON


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def is_test(name: str) -> bool:
    return name.startswith("tests/") and Path(name).name.startswith("test_")


def is_notebook(name: str) -> bool:
    return name.startswith(f"{FOLDER.name}/") and name.endswith(".ipynb") and (ROOT / name).exists()


if __name__ == "__main__":
    sys.exit(main())

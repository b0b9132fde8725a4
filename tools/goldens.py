"""`make goldens`: asks real PyTorch every question of the tests, and keeps its answers for where it
is not installed.

All tests run once; what each asked PyTorch is left by every worker in a folder, and written to
`tests/golden/pytorch/` at the end. An answer that says what the recorded one says, but for a
processor's rounding, stays as it was recorded, and so do those of a test that failed. Arguments are
passed on to pytest: `make goldens ARGS=tests/aten/test_views.py` asks only what these tests ask.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from tests.answers import HAS_TORCH, files
from tests.answers.plain import agree
from tools import sampling
from tools.test import BUILD, apart, report, run_tests

LIMIT = 8 << 20  # bytes, of all families


def main() -> int:
    if not HAS_TORCH:
        print("goldens: real PyTorch is not installed: make oracle")
        return 1
    BUILD.mkdir(exist_ok=True)
    paths, arguments = apart(sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "INTERNALS_GOLDENS": folder, "INTERNALS_TEST_FULL": ""}
        environment.pop(sampling.VARIABLE, None)
        problems = run_tests({"tests": [*(paths or ["tests"]), *arguments]}, environment)
        status = report(problems, [], [])
        keep(gathered(Path(folder)), whole=not (status or paths or arguments))
    return report_sizes() or status


def gathered(folder: Path) -> dict[str, files.Answers]:
    """What all workers recorded, by family."""
    families: dict[str, files.Answers] = defaultdict(dict)
    for path in sorted(folder.glob("*.answers")):
        for family, answers in files.read(path).items():
            for key, said in answers.items():
                if not agree(families[family].setdefault(key, said), said):
                    raise ValueError(
                        f"two tests are called {key}, and PyTorch answers them differently"
                    )
    return families


def keep(families: dict[str, files.Answers], whole: bool) -> None:
    files.FOLDER.mkdir(parents=True, exist_ok=True)
    names = {path.stem for path in files.FOLDER.glob("*.xz")}
    for family in sorted(names | set(families)):
        kept, new = files.load(family), families.get(family, {})
        merged = {
            **({} if whole else kept),
            **{key: kept[key] if same(kept.get(key), new[key]) else new[key] for key in new},
        }
        if not merged:
            (files.FOLDER / f"{family}.xz").unlink()
        elif merged != kept:
            files.write(files.FOLDER / f"{family}.xz", dict(sorted(merged.items())))


def same(kept: object, new: object) -> bool:
    return kept is not None and agree(kept, new)


def report_sizes() -> int:
    sizes = {path.stem: path.stat().st_size for path in sorted(files.FOLDER.glob("*.xz"))}
    for name, size in sizes.items():
        print(f"{name:<26}{size / 1024:8.0f} KiB")
    total = sum(sizes.values())
    print(f"{'all':<26}{total / 1024:8.0f} KiB of {LIMIT >> 10}")
    return int(total > LIMIT)


if __name__ == "__main__":
    sys.exit(main())

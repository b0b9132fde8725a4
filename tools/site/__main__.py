"""`make site`: the documentation's pages, in build/site.

Every warning of Sphinx is an error, named with the page and the line. A second run reads again only
what has changed; `make site ARGS=--fresh` begins anew, and `ARGS=--external` also asks the network
whether links to other hosts still work.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tools.notebook_files import BUILD, ROOT
from tools.site import code_pages, links, tree
from tools.site.reference import PACKAGES

SETTINGS = ROOT / "docs" / "site"
SITE = BUILD / "site"
WORK = BUILD / "site-work"  # what Sphinx reads, and what it remembers
NEEDED = {"sphinx": "sphinx", "myst_nb": "myst-nb", "furo": "furo"}


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="make site", description="build the documentation's pages"
    )
    parser.add_argument("--fresh", action="store_true", help="forget what an earlier run has read")
    parser.add_argument(
        "--external", action="store_true", help="also check links to other hosts, over the network"
    )
    options = parser.parse_args()
    missing = [
        package for module, package in NEEDED.items() if importlib.util.find_spec(module) is None
    ]
    if missing:
        print(f"site: {', '.join(missing)} not installed: make workshop", file=sys.stderr)
        return 1
    if options.fresh:
        shutil.rmtree(WORK, ignore_errors=True)
        shutil.rmtree(SITE, ignore_errors=True)
    problems = build(SITE, WORK)
    if not problems and options.external:
        problems = check_external(WORK)
    for problem in problems:
        print(f"  {problem}", file=sys.stderr)
    if problems:
        print(f"site: {len(problems)} problems", file=sys.stderr)
        return 1
    print(f"site: open {(SITE / 'index.html').relative_to(ROOT)}")
    return 0


def build(site: Path, work: Path, packages: Sequence[str] = PACKAGES) -> list[str]:
    """All steps; returns what is wrong, one line each, nothing if all is well. `packages` are those
    of the reference.
    """
    source = work / "source"
    started = time.monotonic()

    def say(text: str) -> None:
        print(f"site: {text} ({time.monotonic() - started:.0f} s)", flush=True)

    say(f"{tree.assemble(ROOT, source, packages)} files put together")
    problems = sphinx("html", source, site, work)
    if problems:
        return problems
    say("pages written by Sphinx")
    paths = code_pages.wanted(site)
    say(f"{code_pages.write(ROOT, site, paths)} of {len(paths)} pages of source code renewed")
    report = links.check(site)
    say(
        f"{report.links} links on {report.pages} pages checked, {len(report.external)} lead to "
        "other hosts"
    )
    return report.problems


def sphinx(builder: str, source: Path, target: Path, work: Path) -> list[str]:
    """Runs one of Sphinx's builders; returns its warnings, in terms of the project's files."""
    warnings = work / f"{builder}-warnings.txt"
    command = [
        *(
            sys.executable,
            "-m",
            "sphinx",
            "-b",
            builder,
            "-c",
            str(SETTINGS),
            "-d",
            str(work / "doctrees"),
        ),
        *(
            "-j",
            str(min(os.cpu_count() or 1, 4)),
            "--fail-on-warning",
            "--keep-going",
            "--no-color",
        ),
        *("-w", str(warnings), str(source), str(target)),
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0"}
    run = subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    found = (
        [in_project(line, source) for line in warnings.read_text().splitlines() if line]
        if warnings.exists()
        else []
    )
    if run.returncode and not found:
        found = run.stdout.splitlines()[-20:]
    return found


def in_project(warning: str, source: Path) -> str:
    """`.../site-work/source/notebooks/03_zero_copy.ipynb:50012: ...` is line 12 of the notebook's
    cell 5.
    """
    text = warning.replace(f"{source}{os.sep}", "")
    match = re.match(r"(\S+\.ipynb):(\d+): ", text)
    if match is None:
        return text
    cell, line = divmod(int(match[2]), 10000)
    return f"{match[1]}, cell {cell}, line {line}: {text[match.end() :]}"


def check_external(work: Path) -> list[str]:
    """Sphinx's own check of links to other hosts. What it could not reach for want of a network is
    a problem too.
    """
    print("site: asking other hosts", flush=True)
    output = work / "linkcheck"
    sphinx("linkcheck", work / "source", output, work)
    lines = (output / "output.txt").read_text().splitlines()
    return [line for line in lines if "[broken]" in line or "[timeout]" in line]


if __name__ == "__main__":
    sys.exit(main())

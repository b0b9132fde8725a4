"""`make browser-test`: every notebook in JupyterLab in a real browser, and the stored outputs
everywhere else.

Prints each test as it ends, and at the end what passed and what failed. Arguments go to pytest:
`make browser-test ARGS="-k 04"`.
"""

from __future__ import annotations

import os
import subprocess
import sys

from tools.browser.chromium import missing
from tools.notebook_files import BUILD, ROOT
from tools.test import WORKERS, names_a_path, read_results

RESULTS = BUILD / "browser-test-results"


def main() -> int:
    arguments = sys.argv[1:]
    if reason := missing():
        print(f"browser-test: {reason}", file=sys.stderr)
        return 1
    BUILD.mkdir(exist_ok=True)
    RESULTS.unlink(missing_ok=True)
    command = [
        *(
            sys.executable,
            "-m",
            "pytest",
            "-v",
            "--tb=short",
            "-p",
            "tools.test_worker",
            f"--results={RESULTS}",
        ),
        *("-n", str(min(WORKERS, 4)), "--dist", "load"),  # each has a browser and a Lab of its own
        *([] if any(names_a_path(argument) for argument in arguments) else ["tests/browser"]),
        *arguments,
    ]
    status = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "INTERNALS_TEST_FULL": "1"}
    ).returncode
    if not RESULTS.exists():
        print("browser-test: pytest wrote no results", file=sys.stderr)
        return status or 1
    tests, _ = read_results([RESULTS])
    for label, why in tests.skipped:
        print(f"skipped {label}: {why}")
    for label in tests.failed:
        print(f"failed {label}")
    print(f"{tests.passed} passed, {len(tests.failed)} failed", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())

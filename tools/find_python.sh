#!/bin/sh
# Prints the first Python on this machine that can make the project's environment: 3.11 or newer, with venv and pip.
# `make PYTHON=/path/to/python3 ...` puts one in front. Otherwise says what was found and what it lacks.
why=""
for python in ${PYTHON:+"$PYTHON"} python3 python3.13 python3.12 python3.11 python; do
    command -v "$python" >/dev/null 2>&1 || continue
    if lack=$("$python" - 2>/dev/null <<'CHECK'
import sys
found = sys.version.split()[0]
if sys.version_info < (3, 11):
    sys.exit(print("is Python " + found + "; 3.11 or newer is needed"))
try:
    import ensurepip, venv
except ImportError:
    sys.exit(print("is Python " + found + " without venv and ensurepip (on Debian and Ubuntu: apt install python3-venv)"))
print("ok")
CHECK
    ) && [ "$lack" = ok ]; then
        printf '%s\n' "$python"
        exit 0
    fi
    why="$why
  $python ($(command -v "$python")) ${lack:-does not run}"
done
{
    echo "No usable Python was found. This project needs Python 3.11 or newer with its venv module."
    if [ -n "$why" ]; then echo "Looked at:$why"; fi
    echo "Install one (python.org, your system's packages, conda, ...), or name it: make PYTHON=/path/to/python3.12 ..."
} >&2
exit 1

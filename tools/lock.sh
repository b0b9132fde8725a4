#!/bin/sh
# Writes requirements.lock anew from pyproject.toml: one pinned version of everything that `make setup` installs,
# good for every supported Python and system. Needs `uv` on the PATH; only whoever changes a dependency runs this.
set -eu
cd "$(dirname "$0")/.."
# setuptools is pinned too, so that the editable install needs no build isolation and fetches nothing of its own choice;
# fork-strategy "fewest" takes one version for all Pythons, because the notebooks' outputs must not depend on it.
echo 'setuptools>=77' | uv pip compile pyproject.toml - --extra test --universal --python-version 3.11 \
    --fork-strategy fewest --generate-hashes --no-annotate --no-emit-index-url --upgrade \
    --custom-compile-command 'make lock' --quiet --output-file requirements.lock

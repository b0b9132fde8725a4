#!/bin/sh
# Writes requirements.lock anew from pyproject.toml: one pinned version of everything that `make setup` installs,
# good for every supported Python and system; requirements-cuda.lock and requirements-workshop.lock, what `make cuda`
# and `make workshop` add to it; and requirements-bench.lock, what `make bench` adds to it in an environment of its own.
# Needs `uv` on the PATH; only whoever changes a dependency runs this.
set -eu
cd "$(dirname "$0")/.."

compile() {
    uv pip compile "$@" --universal --python-version 3.11 --fork-strategy fewest --generate-hashes --no-annotate \
        --no-emit-index-url --upgrade --custom-compile-command 'make lock' --quiet
}

# setuptools is pinned too, so that the editable install needs no build isolation and fetches nothing of its own choice;
# fork-strategy "fewest" takes one version for all Pythons, because the notebooks' outputs must not depend on it.
echo 'setuptools>=77' | compile pyproject.toml - --extra test --extra serving --output-file requirements.lock
# The second lock has the first one's versions of what both name (numba, numpy).
sed -n 's/^cuda = \["\(.*\)"\]$/\1/p' pyproject.toml | compile - --constraint requirements.lock --output-file requirements-cuda.lock
# The third too. pip asks for setuptools by hash as well, since some of these packages need it.
sed -n '/^workshop = \[$/,/^\]$/s/^ *"\(.*\)",$/\1/p' pyproject.toml |
    compile - --constraint requirements.lock --output-file requirements-workshop.lock
# The fourth has neither hashes nor CUDA's libraries: which build of PyTorch there is, and what that needs, is the index's to say.
sed -n 's/^bench = \[\(.*\)\]$/\1/p' pyproject.toml | tr -d '" ' | tr ',' '\n' |
    compile - --constraint requirements.lock --no-emit-package triton --output-file requirements-bench.lock
sed -i.before -e '/^nvidia-/d' -e '/^cuda-/d' -e '/^ *--hash/d' -e 's/ *\\$//' requirements-bench.lock
rm requirements-bench.lock.before

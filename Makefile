# Each target does the set-up that it needs; when nothing changed, that takes no time.

ifeq ($(OS),Windows_NT)
RUN := .venv/Scripts/python.exe
BENCH := .venv-bench/Scripts/python.exe
else
RUN := .venv/bin/python
BENCH := .venv-bench/bin/python
endif

# PYTHON: the Python to make the environment with.       PIP_ARGS: more arguments for the pip that fetches PyTorch.
# LAB_ARGS: more arguments for JupyterLab.               ARGS: more arguments for test, notebooks, tour and bench.
export PYTHON
export NUMBA_CACHE_DIR ?= $(CURDIR)/build/numba_cache
# What lessons compile is kept here, for a class to share; what tests compile, in the user's cache, for all clones to share.
tour hub lab: export INTERNALS_CACHE_DIR ?= $(CURDIR)/build/machine_code

.PHONY: help setup hub lab tour check test test-full mutants test-gpu gpu-first-hour runtimes-test browser-test oracle goldens cuda workshop site notebooks bench bench-env bench-full bench-serving bench-gpu slides handout bundle lock clean
.DEFAULT_GOAL := help

help: ## this list
	@echo "make TARGET, where TARGET is one of"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1|\2/p' Makefile | awk -F'|' '{ printf "%-14s %s\n", $$1, $$2 }'

setup: ## make .venv, with everything the other targets need
	@python=$$(sh tools/find_python.sh) && "$$python" tools/setup_env.py

lab: setup ## open the notebooks in JupyterLab
	@$(RUN) -m tools.lab $(LAB_ARGS)

tour: setup ## the notebooks without a browser: run them all, write them as web pages
	@$(RUN) -m tools.tour $(ARGS)

check: setup ## lint, types, and the tests nearest to what you changed (a minute)
	@$(RUN) -m tools.check $(ARGS)

test: setup ## lint, types, unit tests and every notebook against its stored outputs
	@$(RUN) -m tools.test $(ARGS)

test-full: setup ## the same with the slow tests and many more random cases
	@$(RUN) -m tools.test --full $(ARGS)

mutants: setup ## a test of the tests: planted faults, and whether a test fails; sampled, half an hour
	@$(RUN) -m tools.mutants $(ARGS)

test-gpu: cuda ## the tests of the CUDA backend on a real GPU
	@$(RUN) -m tools.test_gpu $(ARGS)

gpu-first-hour: ## the first hour on a GPU: a launch, risks, bandwidth, registers, tests; one page, nothing installed
	@$(if $(wildcard $(RUN)),$(RUN),$${PYTHON:-python3}) -m tools.gpu_first_hour $(ARGS)

runtimes-test: setup ## the saved model in C++ and Node.js, against Python (and PyTorch, where installed)
	@$(RUN) -m tools.runtimes_test $(ARGS)

oracle: ## add real PyTorch to .venv, so that `make test` also compares with it
	@python=$$(sh tools/find_python.sh) && "$$python" tools/setup_env.py --oracle --pip-args="$(PIP_ARGS)"

goldens: oracle ## ask real PyTorch all that the tests ask, and keep its answers for where it is not installed
	@$(RUN) -m tools.goldens $(ARGS)

cuda: ## add numba's CUDA compiler to .venv: kernels on a real GPU, PTX anywhere (450 MB)
	@python=$$(sh tools/find_python.sh) && "$$python" tools/setup_env.py --cuda

workshop: ## add to .venv what a classroom needs: a hub, grading, a browser's driver for the tests, Sphinx
	@python=$$(sh tools/find_python.sh) && "$$python" tools/setup_env.py --workshop

site: workshop ## the documentation's pages, in build/site: notebooks, texts, reference, source
	@$(RUN) -m tools.site $(ARGS)

hub: workshop ## a JupyterHub for a class on this machine (workshop/hub/README.md)
	@$(RUN) -m workshop.hub $(ARGS)

browser-test: workshop ## every notebook in JupyterLab in a real Chromium (20 minutes); the browser is the system's
	@$(RUN) -m tools.browser $(ARGS)

notebooks: setup ## run the notebooks again and store their outputs
	@$(RUN) -m tools.notebooks $(ARGS)

bench-env: ## make .venv-bench: the project, PyTorch, micrograd and tinygrad, to compare with
	@python=$$(sh tools/find_python.sh) && "$$python" tools/setup_env.py --bench --pip-args="$(PIP_ARGS)"

bench: bench-env ## time against numpy, PyTorch and others, in .venv-bench: ratios, in minutes
	@$(BENCH) -m benchmarks $(ARGS)

bench-full: bench-env ## the same with all cases and more rounds (an hour); shown in docs/performance.md
	@$(BENCH) -m benchmarks --full --save $(ARGS); status=$$?; $(BENCH) -m benchmarks.report && exit $$status

bench-serving: setup ## the server under load, and clients that misbehave (20 minutes); shown in docs/serving.md
	@$(RUN) -m benchmarks.serving --full --save $(ARGS)

bench-gpu: cuda ## time the CUDA backend on a real GPU: against its bandwidth, its matmul, and PyTorch
	@$(RUN) -m benchmarks.cuda $(ARGS)

slides: setup workshop ## the notebooks as slides with speaker notes, in build/slides; no network in the lecture hall
	@$(RUN) -m tools.slides $(ARGS)

handout: setup ## the big picture on two pages of A4, in build/handout.html (and .pdf, where Chromium is)
	@$(RUN) -m tools.handout $(ARGS)

bundle: setup ## the project and its wheels in one file, for a classroom without network
	@$(RUN) -m tools.bundle $(ARGS)

lock: ## pin the newest versions of all dependencies (needs uv)
	@tools/lock.sh

clean: ## remove .venv, .venv-bench and everything else that make made
	rm -rf .venv .venv-bench build

"""How the server bears load, clients that misbehave and models that fail; and what batching and
binary formats bring.

    python -m benchmarks.serving [--quick | --full] [--save] [WORD ...]

Each scenario starts a server of its own (`process.py`), lets processes of clients at it (`load.py`,
`impolite.py`), and notes what it counted and what should not have been (`finding.py`). All of it
stays on this machine, and is bounded in number and in time.

- faults: `crowd`, `slow_readers`, `vanishing`, `floods`, `malformed`, `oversized`, `shutdown`,
  `failing`, `endurance`
- figures: `batching`, `image`
- `record.py` keeps a run in `results/`, `page.py` writes its tables into `docs/serving.md`

How the real one differs: Triton is measured with `perf_analyzer`, a load generator in C++, from
another machine.
"""

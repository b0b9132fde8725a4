"""What stands beside the library: apparatus for experiments, and what is asked of a machine or a
file before it is trusted.

`internals` holds PyTorch's layers and knows nothing of this package; notebooks, exercises, tools
and commands use it.

- `payloads`: six ways of a tensor into a message and out of it, every copy counted (notebook 24)
- `two_https`: HTTP/1.1 and HTTP/2 by hand, on a clock that runs only while somebody waits (notebook
  25)
- `rehearsal`: the server's batcher on that clock (notebook 26)
- `fuzzing`: damaged archives, and whether loading one does harm (`python -m internals
  fuzz-archive`)
- `doctor`, `preflight`, `gpu_preflight`: what a machine has, and trying it (`python -m internals
  doctor`)

How the real one differs: PyTorch keeps such things in `tools/`, `test/` and
`torch/utils/collect_env.py`.
"""

"""A GPU made of Python: memory with its own addresses, queues of deferred work, engines, a clock
that the model moves.

It exists so that everything above it can be run, tested and shown where there is no GPU: what waits
for what, which copy overlaps with which kernel, which read comes too early. Its results are real;
its times are modelled, the same on every machine, and say nothing about any product.

`memory.py` is the memory, `model.py` how long things take, `schedule.py` who runs when,
`execution.py` what runs a kernel, `driver.py` the whole.

Mirrors nothing in PyTorch: it stands for the GPU and its driver.

How the real one differs: it is fast.
"""

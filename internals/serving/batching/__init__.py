"""Dynamic batching: requests that arrive one by one run together.

- `batcher.py`: who waits, for how long, and when a batch starts
- `lanes.py`: requests of one shape, waiting in line
- `assembly.py`: requests to one batch, and its results back to each
- `execution.py`: a batch is run, and one bad request fails alone
- `proof.py`: does this model treat rows independently at all?
- `workers.py`: the threads that run batches
- `record.py`: what happened when, for pictures and tests
- `apparatus/rehearsal.py`: all of it without a server, on a clock that jumps

A model costs `a + b*n` for `n` rows: batching pays the fixed `a` once for all of them. What a
request waits for company is the price, and `max_delay` its bound.

How the real one differs: Triton's `dynamic_batch_scheduler.cc` does this per model instance in C++
threads; TorchServe and KServe's agent batch in a process in front of the model.
"""

"""Models that are served: found in a folder, loaded, described, run, and replaced while requests
are on their way.

- `signature.py`: what goes in and comes out: names, datatypes, shapes; and how an operator declares
  them
- `program.py`: anything that computes, called with tensors alone: a compiled module, an exported
  program, Python
- `facts.py`: what the graph of `forward` tells about its inputs
- `trial.py`: what the outputs are, found by running the model on zeros
- `warm_up.py`: how long those runs may take, and how much memory
- `row_counts.py`: optimised convolutions run with few numbers of rows
- `served_model.py`: a model ready to answer
- `model_file.py`: the bytes of a file, all of them or none
- `trial_process.py`: a file tried in a process of its own
- `folder.py`: the only way from a name to a file
- `table.py`: which models there are, in which versions, and how they are
- `repository.py`: how one takes the place of another
- `reload.py`: noticing that files have changed

Mirrors Triton's model repository (`core/src/model_repository_manager/`,
`docs/user_guide/model_repository.md`), which KServe mounts for it, and TorchServe's model store.

How the real one differs: Triton asks for a `config.pbtxt` beside a TorchScript file, because
libtorch does not tell shapes; here the program and a run on zeros tell most of it. TorchServe
unpacks `.mar` archives and runs the Python handlers in them; here a file can only be a program in
the archive's own language.
"""

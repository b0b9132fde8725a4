"""Every operator with arguments that are wrong on purpose, on memory between forbidden pages.

    python -m tests.core.memory_fuzz --count 60000 --seed 1
    python -m tests.core.memory_fuzz --seed 1 --first 4711 --count 1 --show

A call must give an answer, whose tensors lie in their storages and do not depend on what was in
memory before, or an error that this package raises and that PyTorch might. Whatever else happens is
a finding; numpy's errors of a type that PyTorch also has, and calls that take too long, are told.

    __main__.py         the command, and what it prints
    workers.py          the processes that make the calls, and what happens when one dies
    calls.py            call number N of a seed: operator, arguments, and how it is made
    recipes.py          good arguments, those of gradients among them
    mutations.py        what is done to good arguments
    guarded.py          tensors' memory between guard pages
    guarded_arrays.py   that of numpy's arrays
    judging.py          what came of a call
"""

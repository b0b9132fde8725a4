"""Every operator with arguments that are wrong on purpose, on memory between pages that must not be touched.

    python -m tests.memory_fuzz --count 60000 --seed 1
    python -m tests.memory_fuzz --seed 1 --first 4711 --count 1 --show

A call must give an answer, whose tensors lie in their storages, or an error that this package raises and that PyTorch might. A
process that dies, memory that is not theirs, numpy's and ctypes' errors are findings; a call that takes too long is told as well.

    __main__.py    the command, and what it prints
    workers.py     the processes that make the calls; which calls it takes to let one die
    calls.py       call number N of a seed: operator, arguments, and how it is made
    mutations.py   what is done to good arguments
    recipes.py     good arguments for the operators that tests/op_recipes.py does not know: gradients, `set_`
    guarded.py     memory between guard pages, for the caching allocator and in place of it; guarded_arrays.py: for numpy's arrays
    judging.py     what came of a call
"""

"""The just-in-time compiler: from Python functions and modules to graphs that can be read, changed, saved and run (`torch/jit`).

Two front ends, `trace` (record what runs) and `script` (compile the source), lead to one intermediate representation.

    ir/          graphs, and their text
    operators/   what the nodes of a graph call
    tracing/     front end one: a dispatch key that records
    frontend/    front end two: source → syntax tree → typed tree → graph
    passes/      from graph to better graph
    runtime/     from graph to instructions or Python code, and running them

How the real one differs: it is C++ from the tree views down; here every step is Python that can be opened.
"""

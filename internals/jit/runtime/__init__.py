"""Running graphs: plans, bytecode, the interpreter, and Python code made from graphs
(`torch/csrc/jit/runtime`).

    graph_executor.py, argument_spec.py, phases.py   a plan for each kind of arguments, and how a
                                                     graph is optimised for it
    compile.py, preprocess.py, code.py               from graph to instructions
    interpreter.py, program.py                       running them: one at a time, and at full speed
    emit_python.py, naming.py, expressions.py, shortcuts.py, int_overflow.py, reuse.py
                                                     the graph as Python source, which is what runs
                                                     by default
    node_functions.py                                what the nodes do that no operator stands for
    differentiable_graph.py, fusion_group.py, batched_mm.py
                                                     the nodes that passes make
    future.py, errors.py, settings.py                fork and wait, errors that show the script,
                                                     switches

How the real one differs: it emits no Python. It interprets, and compiles fusion groups to machine
code (NNC).
"""

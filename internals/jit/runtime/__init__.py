"""Running graphs: plans, bytecode, the interpreter, and Python code made from graphs."""

"""The operators of graphs. `registry.py` finds them; the other files implement those that only the JIT has."""

"""Today's way to take a model out of Python: reading what `torch.export` wrote (`torch/export`,
`torch/_export/serde`).

The talk ends with "moving target": TorchScript has been followed by `torch.export`, whose archive,
`.pt2`, holds no code but a graph as JSON, flat, without control flow, every operator named with its
overload, beside the weights. `load` makes our IR of it.

    pt2_archive.py        the records: weights, constants, the graph's JSON
    graph_reader.py       the JSON's nodes become nodes of the IR
    arguments.py          what a node is given
    graph_blocks.py       graphs inside the graph: `torch.cond` becomes prim::If
    decompositions.py     operators that only exported graphs have
    graph_signature.py    which inputs are parameters, and what is written back
    input_checks.py       what the inputs must be: sizes, symbols, constants
    symbolic_sizes.py     sizes that depend on the input
    pytree.py             nested inputs and outputs, flat in the graph
    exported_program.py   what `load` returns

How the real one differs: it makes these files. It traces with TorchDynamo and FX, where TorchScript
had a tracer in C++ and a compiler of its own; reading is only the bridge.
"""

from __future__ import annotations

from .exported_program import ExportedProgram, load

__all__ = ["ExportedProgram", "load"]

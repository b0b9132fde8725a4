"""The archive of PyTorch 1.0.1, as on the talk's slides (`torch/csrc/jit/export.cpp`, `import.cpp`
of that release).

    writer.py        `save(..., format="1.0.1")`
    reader.py        loading one, whoever wrote it
    model_json.py    model.json: modules, parameters, tensors
    printer.py       code/NAME.py: methods as source, as that release printed them
    lower.py         from today's graph to one of 1.0.1; decompose.py: operators made of those there
                     were
    operators.py     which operators and overloads there were (operators.yaml)
    functions.py     operators that are gone, as functions of today's

How the real one differs: it was replaced by today's layout in 1.3, and reading it was given up in
1.11.
"""

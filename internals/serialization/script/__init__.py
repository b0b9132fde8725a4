"""Compiled modules as archives (`torch/csrc/jit/serialization/export_module.cpp`, `import.cpp`,
`import_source.cpp`).

Writing:
    script_writer.py    `jit.save`: the records, in PyTorch's order
    class_printer.py    a class, and everything it depends on, as source
    type_names.py       names for classes that would have the same one
    script_pickler.py   the module's values
    op_versions.py      which version of the operators the code means

Reading:
    script_reader.py    `jit.load`: from the pickle to a module
    source_importer.py  classes and functions by name, when first needed; class_importer.py: one
                        class
    archive_names.py    what a name in archived code means; archive_literals.py: what a literal does
    imported_function.py   a function whose body is compiled when first asked for
    typed_values.py     the pickle's values, checked against the attributes' types
    upgraders.py        operators as older archives meant them; absent_operators.py: those that are
                        not here

How the real one differs: it is C++, compiles everything when it loads, and can also write for
mobile (flatbuffers, bytecode).
"""

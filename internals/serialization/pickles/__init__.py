"""The pickle of a file: the objects (dicts, lists, modules) that hold its tensors; the tensors'
bytes are separate records (`torch/csrc/jit/serialization/pickler.cpp`, `unpickler.cpp`).

    pickler.py         objects to opcodes, byte for byte as PyTorch
    unpickler.py       a machine for the opcodes, which executes nothing
    pickled_types.py   the globals it knows; everything else is refused
    pickle_keys.py     which objects may be keys of a dict
    storages.py        the tensors' bytes, as records of the archive

How the real one differs: there are two of each. `torch.save` and `torch.load` use Python's pickler
and an unpickler of their own (`torch/_weights_only_unpickler.py`, the model of ours), TorchScript
those in C++.
"""

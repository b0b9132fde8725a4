"""From Python source to IR, first half: the tree (`torch/jit/frontend.py`, `torch/csrc/jit/frontend`)."""

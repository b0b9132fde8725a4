"""The functions that derivatives call, by family of operators
(`torch/csrc/autograd/FunctionsManual.cpp`).

How the real one differs: it is one file of seven thousand lines.
"""

"""The saved model without Python: `cpp` and `node` run the archives; `corpus` proves that all give
the same.

How the real one differs: there is one runtime, libtorch, which other languages wrap.
"""

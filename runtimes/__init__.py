"""The saved model without Python: `cpp` and `node` run the archives; `corpus` proves that all give the same."""

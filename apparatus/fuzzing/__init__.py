"""`python -m internals fuzz-archive`: damaged archives either load or are refused, and nothing else
happens.

    fuzz.py        the command and what counts as a finding
    mutations.py   ways to damage a file
    programs.py    code that is right, and made to harm
    starts.py      the files that are damaged

How the real one differs: PyTorch has no such command; its loaders are fuzzed from outside, by
OSS-Fuzz.
"""

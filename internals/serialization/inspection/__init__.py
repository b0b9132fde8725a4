"""`python -m internals inspect`: what is in a file, told without executing any of it.

    inspect.py         the command
    archives.py        zip archives: records, alignment, checksums; salvage.py: damaged ones
    other_files.py     safetensors, streams, plain pickles
    pickle_listing.py  what a pickle asks for; tree.py: what it describes
    tensors.py         every tensor, its record and its place in it
    report.py, text.py what was found, and how it is written

How the real one differs: `torch.utils.model_dump` shows TorchScript archives,
`torch.utils.show_pickle` pickles; neither looks at the bytes between the records, and a damaged
file ends both.
"""

"""What is measured: a module for each kind of work, with `TITLE` and `ABOUT` for the report and
`cases()` for the runner.
"""

# As they are run and reported.
MODULES = (
    "fusion",
    "kernels",
    "matmul",
    "models",
    "training",
    "builds",
    "small_ops",
    "jit",
    "import_time",
    "archives",
)

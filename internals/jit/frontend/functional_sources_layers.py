"""More of `nn.functional` as the compiler reads it (`functional_sources.py`)."""

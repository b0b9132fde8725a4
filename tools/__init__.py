"""What `make` runs: each module is one target."""

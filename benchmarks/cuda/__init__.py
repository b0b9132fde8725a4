"""The CUDA backend on a real GPU, against what the GPU can do and against PyTorch: `make
bench-gpu`.
"""

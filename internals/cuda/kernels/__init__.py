"""Device code: the kernels, one idea a file (`aten/src/ATen/native/cuda/*.cu`)."""

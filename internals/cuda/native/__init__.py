"""Host code: the operators of the CUDA key, which check, allocate and launch (`aten/src/ATen/native/cuda/*.cpp`)."""

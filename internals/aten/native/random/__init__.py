"""Random tensors, by idea (`aten/src/ATen/native/Distributions.cpp`, `TensorFactories.cpp`).

    transformations  from random words to random numbers: what the same seed gives
    checks           bounds and dtypes
    filling          storing numbers in the order of memory; the device's kernel, the generator
    uniform_normal   `uniform_`, `normal_`, and `normal` with tensors of means and deviations
    continuous       `exponential_`, `log_normal_`, `cauchy_`: one uniform or normal number each,
                     bent
    discrete         `random_`, `bernoulli_`, `geometric_`, `randperm`, `multinomial`
    rejection        `poisson`, `binomial`: how many words an element takes depends on the words
    factories        `rand`, `randn`, `randint` and their kind: an empty tensor, and one of the
                     above

How the real one differs: there is one file, and templates that two devices share.
"""

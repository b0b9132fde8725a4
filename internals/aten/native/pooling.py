"""Being written right now by the architect, together with tests/test_nn_convolution.py and tests/test_nn_pooling.py: leave it, do the rest."""

"""The kernels of the operators on a CPU, one file per family. A kernel is a function that takes the
arguments of the operator's schema, positionally and in order.

There are two kinds. A *leaf* kernel (`dispatch: {CPU: ...}`) works on the numpy arrays of its
tensors, `array(t)`, and never calls an operator: autograd needs a formula for its derivative. A
*composite* kernel only calls operators, and autograd differentiates those.

Element by element
    pointwise, pointwise_unary, pointwise_ternary   arithmetic; functions of one number; of three
    scalar                                          exp, sin, sigmoid: each a line of
                                                    `aten/scalar_functions`
    comparison, bitwise, clamping                   <, logical_and; &, <<; clamp
    float_parts, float_power, integers, complex     signbit, frexp, nextafter; powers in double;
                                                    gcd; real, angle, polar
    special                                         a package: gamma and error functions, Bessel's,
                                                    polynomials
    loops, real                                     the loops that numpy lacks; which dtypes a
                                                    function of reals takes
    activations, activations_composed, activations_backward, rrelu

Reductions and statistics
    reductions, extrema, moments, norms             sum, any; max, argmax, aminmax; var, std; norm,
                                                    logsumexp
    order_statistics, quantiles, sorting            median, kthvalue, mode; quantile; sort, topk
    unique, membership, searching                   unique; isin; searchsorted, bucketize
    histograms, histogram_bins, covariance          histc, histogram, bincount; their edges; cov,
                                                    corrcoef
    scans, running_extrema                          cumsum, cumprod, logcumsumexp; cummax, cummin
    differences, integrals                          diff, gradient; trapezoid
    segments                                        segment_reduce
    distances, renorm                               cdist, pdist, dist; renorm
    reduction_tools                                 functions that reductions share

New tensors
    factories, ranges, grids                        empty, full, eye; logspace, range; meshgrid,
                                                    tril_indices, vander
    random                                          a package: distributions

Views and copies
    views, view_composites                          select, permute, as_strided; reshape, narrow,
                                                    movedim, flatten
    view_copies, view_scatters, view_backwards      select_copy; select_scatter; the gradients of
                                                    views
    copying, memory_format                          copy_, clone, to, resize_; NCHW or NHWC
    joining, stacking, splitting                    cat, stack; hstack, column_stack; tensor_split
    shape, turning, diagonals                       flip, roll, repeat, tril; rot90; diag_embed,
                                                    block_diag
    padding, border_padding                         pad; reflection_pad2d, replication_pad2d

Indices
    indexing, advanced_index                        x[i, mask], and the meaning of such an index
    scatter_gather, scatter_reduce                  gather, scatter, index_select, index_add;
                                                    several values to one place
    index_writes, adding_rows                       index_copy, put, take, masked_scatter; adding
                                                    where places repeat

Linear algebra and transforms
    matmul, linear_algebra                          products of matrices and vectors
    einsum, linalg, fft                             sums of products; two packages: LAPACK,
                                                    pocketfft

Neural networks
    convolution, convolution_backward, convolution_checks, conv_tbc, windows
    pooling, pooling_1d, pooling_backward, adaptive_max_pooling, fractional_pooling, unpooling
    upsampling, resampling                      interpolate: the operators, and the loops for them
    resampling_bytes, resampling_checks             the same for images of bytes, in integers; the
                                                    sizes that fit
    grid_sampler, grid_taps, shuffling              sampling at points; pixel_shuffle,
                                                    channel_shuffle
    normalization, normalization_composed, normalization_backward, normalization_checks
    gradient_checks                                 checks of the arguments of a gradient's
                                                    kernel
    softmax, dropout, bilinear, embedding, embedding_bag, embedding_bag_backward
    recurrent, packing                              LSTM, GRU; sequences with and without padding
    attention, native_attention                     attention, and all of a layer
    losses, losses_backward, nll_loss, ctc_loss     mse_loss, huber_loss; cross_entropy; sequences
                                                    without alignment
    margin_losses, multi_margin_losses

How the real one differs: the same split exists, under the names CPU and CompositeImplicitAutograd;
its files are larger, and their loops are in files of their own, in `cpu/`.
"""

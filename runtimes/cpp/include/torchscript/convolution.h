// Convolutions as matrix products.
//
// im2col ("image to columns") writes, for every place of the window, the numbers under the window into a column; then one
// matrix product with the weights computes all outputs. One dimension is two with a height of 1. A transposed convolution runs
// the same steps backwards. It mirrors aten/src/ATen/native/Convolution.cpp, ConvolutionMM2d.cpp and im2col.h.
//
// How the real one differs: it hands the work to oneDNN, cuDNN or NNPACK, which compute small windows with other algorithms.
#pragma once

#include "gemm.h"
#include "pointwise.h"
#include "views.h"

namespace torchscript {

struct Window {
  Sizes kernel, stride, padding, dilation;  // each [height, width], each number of 32 bits

  // How many elements of the input a window covers, those between its own included.
  std::int64_t span(std::size_t d, std::int64_t size) const {
    check(stride.at(d) > 0 && dilation.at(d) > 0 && padding.at(d) >= 0 && kernel.at(d) > 0,
          "a window needs positive kernel, stride and dilation");
    check(size == std::int32_t(size), "integer out of range: ", size);
    return dilation[d] * (kernel[d] - 1) + 1;
  }
  std::int64_t places(std::size_t d, std::int64_t size) const {
    const std::int64_t covered = span(d, size);
    check(size + 2 * padding[d] >= covered, "Kernel size can't be greater than actual input size");
    return (size + 2 * padding[d] - covered) / stride[d] + 1;
  }
  // The first place in the input at or behind 0 that the window at `start` covers, and the first behind all of them.
  std::pair<std::int64_t, std::int64_t> covered(std::size_t d, std::int64_t start, std::int64_t size) const {
    const std::int64_t missing = start < 0 ? (dilation[d] - 1 - start) / dilation[d] : 0;
    return {start + missing * dilation[d], std::min(start + dilation[d] * (kernel[d] - 1) + 1, size)};
  }
};

// f(row of the column matrix, output y, input y, kernel x, ...) is the same walk for both directions.
template <class T>
void im2col(const T* image, std::int64_t channels, std::int64_t h, std::int64_t w, const Window& window,
            std::int64_t out_h, std::int64_t out_w, T* columns) {
  for (std::int64_t c = 0; c < channels; ++c)
    for (std::int64_t ky = 0; ky < window.kernel[0]; ++ky)
      for (std::int64_t kx = 0; kx < window.kernel[1]; ++kx)
        for (std::int64_t y = 0; y < out_h; ++y, columns += out_w) {
          const std::int64_t iy = y * window.stride[0] - window.padding[0] + ky * window.dilation[0];
          if (iy < 0 || iy >= h) {
            std::fill_n(columns, out_w, T(0));
            continue;
          }
          const T* row = image + (c * h + iy) * w;
          for (std::int64_t x = 0; x < out_w; ++x) {
            const std::int64_t ix = x * window.stride[1] - window.padding[1] + kx * window.dilation[1];
            columns[x] = ix >= 0 && ix < w ? row[ix] : T(0);
          }
        }
}

template <class T>
void col2im(const T* columns, std::int64_t channels, std::int64_t h, std::int64_t w, const Window& window,
            std::int64_t out_h, std::int64_t out_w, T* image) {
  for (std::int64_t c = 0; c < channels; ++c)
    for (std::int64_t ky = 0; ky < window.kernel[0]; ++ky)
      for (std::int64_t kx = 0; kx < window.kernel[1]; ++kx)
        for (std::int64_t y = 0; y < out_h; ++y, columns += out_w) {
          const std::int64_t iy = y * window.stride[0] - window.padding[0] + ky * window.dilation[0];
          if (iy < 0 || iy >= h) continue;
          T* row = image + (c * h + iy) * w;
          for (std::int64_t x = 0; x < out_w; ++x) {
            const std::int64_t ix = x * window.stride[1] - window.padding[1] + kx * window.dilation[1];
            if (ix >= 0 && ix < w) row[ix] += columns[x];
          }
        }
}

inline Tensor add_channel_bias(const Tensor& out, const Value& bias) {
  if (bias.isNone()) return out;
  check(bias.toTensor().sizes() == Sizes{out.size(1)}, "expected bias to be 1-dimensional with ", out.size(1),
        " elements, but got bias of size ", to_string(bias.toTensor().sizes()), " instead");
  return add(out, reshape(bias.toTensor(), {1, -1, 1, 1}));
}

// input [N, C, H, W], weight [O, C / groups, kh, kw]
inline Tensor conv2d(const Tensor& input, const Tensor& weight, const Value& bias, Window window, std::int64_t groups) {
  check(input.dim() == 4 && weight.dim() == 4,
        "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: ", to_string(input.sizes()));
  check(groups > 0 && weight.size(0) % groups == 0 && input.size(1) == weight.size(1) * groups, "Given groups=", groups,
        ", weight of size ", to_string(weight.sizes()), ", expected input", to_string(input.sizes()), " to have ",
        weight.size(1) * groups, " channels, but got ", input.size(1), " channels instead");
  window.kernel = {weight.size(2), weight.size(3)};
  const std::int64_t n = input.size(0), h = input.size(2), w = input.size(3), c = weight.size(1),
                     o = weight.size(0) / groups;
  const std::int64_t out_h = window.places(0, h), out_w = window.places(1, w),
                     depth = c * window.kernel[0] * window.kernel[1];
  const bool pointwise_kernel = depth == c && window.stride == Sizes{1, 1} && window.padding == Sizes{0, 0};
  return add_channel_bias(
      visit_compute(input.dtype(),
                    [&](auto e) {
                      using T = decltype(e);
                      const Tensor x = for_compute(input), k = for_compute(weight),
                                   out = zeros({n, o * groups, out_h, out_w}, dtype_of<T>);
                      std::vector<T> columns(pointwise_kernel ? 0 : room_for(product({depth, out_h, out_w}), sizeof(T)));
                      for (std::int64_t i = 0; i < n; ++i)
                        for (std::int64_t g = 0; g < groups; ++g) {
                          const T* image = x.data<T>() + (i * groups + g) * c * h * w;
                          if (!pointwise_kernel) im2col(image, c, h, w, window, out_h, out_w, columns.data());
                          Gemm<T>::add(o, out_h * out_w, depth, {k.data<T>() + g * o * depth, depth, 1},
                                       {pointwise_kernel ? image : columns.data(), out_h * out_w, 1},
                                       out.data<T>() + (i * groups + g) * o * out_h * out_w, out_h * out_w);
                        }
                      return to_dtype(out, input.dtype());
                    }),
      bias);
}

// input [N, C, H, W], weight [C, O / groups, kh, kw]
inline Tensor conv_transpose2d(const Tensor& input, const Tensor& weight, const Value& bias, Window window,
                               const Sizes& output_padding, std::int64_t groups) {
  check(input.dim() == 4 && weight.dim() == 4 && groups > 0 && input.size(1) == weight.size(0) &&
            weight.size(0) % groups == 0,
        "conv_transpose2d: input ", to_string(input.sizes()), " and weight ", to_string(weight.sizes()), " do not fit");
  window.kernel = {weight.size(2), weight.size(3)};
  const std::int64_t n = input.size(0), h = input.size(2), w = input.size(3), c = weight.size(0) / groups,
                     o = weight.size(1);
  const auto size = [&](std::size_t d, std::int64_t s) {
    const std::int64_t extra = output_padding[d];
    check(extra >= 0 && (extra < window.stride[d] || extra < window.dilation[d]),
          "output padding must be smaller than either stride or dilation");
    const std::int64_t found = (s - 1) * window.stride[d] - 2 * window.padding[d] + window.span(d, s) + extra;
    check(found > 0, "Calculated output size per channel is ", found, ". Output size is too small");
    return found;
  };
  const std::int64_t out_h = size(0, h), out_w = size(1, w), depth = o * window.kernel[0] * window.kernel[1];
  return add_channel_bias(visit_compute(input.dtype(),
                                        [&](auto e) {
                                          using T = decltype(e);
                                          const Tensor x = for_compute(input), k = for_compute(weight),
                                                       out = zeros({n, o * groups, out_h, out_w}, dtype_of<T>);
                                          for (std::int64_t i = 0; i < n; ++i)
                                            for (std::int64_t g = 0; g < groups; ++g) {
                                              std::vector<T> columns(room_for(product({depth, h, w}), sizeof(T)));
                                              Gemm<T>::add(depth, h * w, c, {k.data<T>() + g * c * depth, 1, depth},
                                                           {x.data<T>() + (i * groups + g) * c * h * w, h * w, 1},
                                                           columns.data(), h * w);
                                              col2im(columns.data(), o, out_h, out_w, window, h, w,
                                                     out.data<T>() + (i * groups + g) * o * out_h * out_w);
                                            }
                                          return to_dtype(out, input.dtype());
                                        }),
                          bias);
}

}  // namespace torchscript

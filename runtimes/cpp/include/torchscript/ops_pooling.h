// Windows without weights: pooling, padding, resizing, unfold.
//
// It mirrors aten/src/ATen/native/Pool.h, AdaptiveAveragePooling.cpp, PadNd.cpp and UpSample.h.
//
// How the real one differs: three dimensions, bicubic and area resizing, backward passes.
#pragma once

#include "ops_convolution.h"

namespace torchscript {

// f(plane, out plane) for each of the images of [..., H, W]; `make` says the sizes of the result.
template <class R, class F>
Tensor map_planes(const Tensor& t, std::int64_t out_h, std::int64_t out_w, F f) {
  check(t.dim() >= 2, "expected an image of at least 2 dimensions");
  Sizes sizes = t.sizes();
  const std::int64_t h = t.size(-2), w = t.size(-1);
  check(h > 0 && w > 0 && out_h >= 0 && out_w >= 0, "Expected an input with elements in its last two dimensions, but it has ",
        to_string(sizes));
  sizes[sizes.size() - 2] = out_h;
  sizes[sizes.size() - 1] = out_w;
  return visit_compute(t.dtype(), [&](auto e) {
    using T = decltype(e);
    using To = std::conditional_t<std::is_void_v<R>, T, R>;
    const Tensor from = for_compute(t), out = Tensor::empty(sizes, dtype_of<To>);
    const std::int64_t planes = t.numel() / (h * w);
    for (std::int64_t i = 0; i < planes; ++i) f(from.data<T>() + i * h * w, out.data<To>() + i * out_h * out_w);
    return std::is_void_v<R> ? to_dtype(out, t.dtype()) : out;
  });
}

// One number stands for both dimensions.
inline Sizes pair(const Value& numbers) {
  Sizes s = numbers.toInt32Vector();
  if (s.size() == 1) s.push_back(s[0]);
  check(s.size() == 2, "a window must either be a single int, or a tuple of two ints, not ", to_string(s));
  return s;
}

struct Pool {
  Window window;
  bool ceil_mode = false;

  Pool(const Value& kernel, const Value& stride, const Value& padding, const Value& dilation, const Value& ceil)
      : ceil_mode(ceil.toBool()) {
    window.kernel = pair(kernel);
    window = {window.kernel, stride.isList() && stride.toList().empty() ? window.kernel : pair(stride), pair(padding),
              pair(dilation)};
    for (std::size_t d = 0; d < 2; ++d)
      check(window.padding[d] >= 0 && window.padding[d] * 2 <= window.kernel[d],
            "pad should be at most half of effective kernel size");
  }

  std::int64_t out_size(std::size_t d, std::int64_t size) const {
    if (!ceil_mode) return window.places(d, size);
    const std::int64_t room = size + 2 * window.padding[d] - window.span(d, size), stride = window.stride[d];
    std::int64_t n = floor_divide(room + stride - 1, stride) + 1;
    if ((n - 1) * stride >= size + window.padding[d]) --n;  // the last window starts inside
    check(n > 0, "Output size is too small");
    return n;
  }
};

inline Value max_pool2d(const Tensor& t, const Pool& pool, bool with_indices) {
  const std::int64_t h = t.size(-2), w = t.size(-1), out_h = pool.out_size(0, h), out_w = pool.out_size(1, w);
  const Window& win = pool.window;
  // the place of the largest in each window
  const auto largest = [&](auto* image, std::int64_t y, std::int64_t x) {
    const auto [top, bottom] = win.covered(0, y * win.stride[0] - win.padding[0], h);
    const auto [left, right] = win.covered(1, x * win.stride[1] - win.padding[1], w);
    std::int64_t best = -1;
    for (std::int64_t iy = top; iy < bottom; iy += win.dilation[0])
      for (std::int64_t ix = left; ix < right; ix += win.dilation[1]) {
        const std::int64_t at = iy * w + ix;
        if (best < 0 || image[at] > image[best] || image[at] != image[at]) best = at;
      }
    return std::max<std::int64_t>(best, 0);
  };
  const Tensor values = map_planes<void>(t, out_h, out_w, [&](auto* image, auto* out) {
    for (std::int64_t y = 0; y < out_h; ++y)
      for (std::int64_t x = 0; x < out_w; ++x) *out++ = image[largest(image, y, x)];
  });
  if (!with_indices) return values;
  return Value::tuple({values, map_planes<std::int64_t>(t, out_h, out_w, [&](auto* image, std::int64_t* out) {
                         for (std::int64_t y = 0; y < out_h; ++y)
                           for (std::int64_t x = 0; x < out_w; ++x) *out++ = largest(image, y, x);
                       })});
}

inline Tensor avg_pool2d(const Tensor& t, const Pool& pool, bool count_padding, const Value& divisor) {
  const std::int64_t h = t.size(-2), w = t.size(-1), out_h = pool.out_size(0, h), out_w = pool.out_size(1, w);
  const Window& win = pool.window;
  check(divisor.isNone() || divisor.toInt() != 0, "divisor must be not zero");
  return map_planes<void>(t, out_h, out_w, [&](auto* image, auto* out) {
    for (std::int64_t y = 0; y < out_h; ++y)
      for (std::int64_t x = 0; x < out_w; ++x) {
        const std::int64_t y0 = y * win.stride[0] - win.padding[0], x0 = x * win.stride[1] - win.padding[1];
        const std::int64_t y1 = std::min(y0 + win.kernel[0], h + win.padding[0]),
                           x1 = std::min(x0 + win.kernel[1], w + win.padding[1]);
        const std::int64_t top = std::max<std::int64_t>(y0, 0), left = std::max<std::int64_t>(x0, 0),
                           bottom = std::min(y1, h), right = std::min(x1, w);
        double total = 0;
        for (std::int64_t iy = top; iy < bottom; ++iy)
          for (std::int64_t ix = left; ix < right; ++ix) total += double(image[iy * w + ix]);
        const std::int64_t area = count_padding ? (y1 - y0) * (x1 - x0) : (bottom - top) * (right - left);
        *out++ = cast<std::decay_t<decltype(*out)>>(total / double(divisor.isNone() ? area : divisor.toInt()));
      }
  });
}

// Window i of n covers the input from floor(i * size / n) to ceil((i + 1) * size / n). `pool(image, w, y0, y1, x0, x1)` gives
// what stands for one window.
template <class Out, class Pool>
Tensor adaptive_windows(const Tensor& t, const Sizes& to, Pool pool) {
  const std::int64_t h = t.size(-2), w = t.size(-1), out_h = to[0], out_w = to[1];
  return map_planes<Out>(t, out_h, out_w, [&](auto* image, auto* out) {
    for (std::int64_t y = 0; y < out_h; ++y)
      for (std::int64_t x = 0; x < out_w; ++x)
        *out++ = cast<std::decay_t<decltype(*out)>>(pool(image, w, y * h / out_h, ((y + 1) * h + out_h - 1) / out_h,
                                                         x * w / out_w, ((x + 1) * w + out_w - 1) / out_w));
  });
}

inline Tensor adaptive_average(const Tensor& t, const Sizes& to) {
  using Int = std::int64_t;
  return adaptive_windows<void>(t, to, [](auto* image, Int w, Int y0, Int y1, Int x0, Int x1) {
    double total = 0;
    for (Int y = y0; y < y1; ++y)
      for (Int x = x0; x < x1; ++x) total += double(image[y * w + x]);
    return total / double((y1 - y0) * (x1 - x0));
  });
}

// The largest element of each window, or its place in the plane. NaN is the largest of all, and the last of several.
template <class Out>
Tensor adaptive_largest(const Tensor& t, const Sizes& to, bool place) {
  using Int = std::int64_t;
  return adaptive_windows<Out>(t, to, [place](auto* image, Int w, Int y0, Int y1, Int x0, Int x1) {
    Int best = y0 * w + x0;
    for (Int y = y0; y < y1; ++y)
      for (Int x = x0; x < x1; ++x) {
        const double value = double(image[y * w + x]);
        if (value > double(image[best]) || value != value) best = y * w + x;
      }
    return place ? double(best) : double(image[best]);
  });
}

inline void check_pad(const Tensor& t, const Sizes& pad) {
  check(pad.size() % 2 == 0, "Padding length must be divisible by 2");
  check(pad.size() / 2 <= t.sizes().size(),
        "Length of pad should be no more than twice the number of dimensions of the input. Pad length is ", pad.size(),
        " while the input has ", t.dim(), " dimensions.");
}

inline Tensor constant_pad(const Tensor& t, const Sizes& pad, double value) {
  check_pad(t, pad);
  Sizes sizes = t.sizes();
  for (std::size_t i = 0; i < pad.size() / 2; ++i) sizes[sizes.size() - 1 - i] += pad[2 * i] + pad[2 * i + 1];
  const Tensor out = full(sizes, value, t.dtype());
  Tensor to = out, from = t;
  for (std::size_t i = 0; i < pad.size() / 2; ++i) {
    const auto d = t.dim() - 1 - std::int64_t(i);
    const std::int64_t left = pad[2 * i], n = t.size(d);  // negative padding cuts off
    from = slice(from, d, std::max<std::int64_t>(-left, 0), n + std::min<std::int64_t>(pad[2 * i + 1], 0));
    to = narrow(to, d, std::max<std::int64_t>(left, 0), from.size(d));
  }
  copy_(to, from);
  return out;
}

// The other ways to pad continue the image: mirrored, with its border, or around.
inline Tensor pad(const Tensor& t, const Sizes& pad, const std::string& mode, const Value& value) {
  if (mode == "constant") return constant_pad(t, pad, value.isNone() ? 0 : value.toDouble());
  check_pad(t, pad);
  check(mode == "reflect" || mode == "replicate" || mode == "circular", "Unrecognised padding mode ", mode);
  Tensor out = t;
  for (std::size_t i = 0; i < pad.size() / 2; ++i) {
    const auto d = t.dim() - 1 - std::int64_t(i);
    const std::int64_t n = out.size(d), most = mode == "reflect" ? n - 1 : mode == "circular" ? n : most_bytes;
    check(mode != "circular" || (pad[2 * i] >= 0 && pad[2 * i + 1] >= 0), "negative circular padding is not known here");
    check(n > 0 && pad[2 * i] <= most && pad[2 * i + 1] <= most,
          "Padding size should be less than the corresponding input dimension, but got: padding (", pad[2 * i], ", ",
          pad[2 * i + 1], ") at dimension ", d, " of input ", to_string(t.sizes()));
    std::vector<Tensor> lines;
    room_for(n + pad[2 * i] + pad[2 * i + 1], piece);
    for (std::int64_t k = -pad[2 * i]; k < n + pad[2 * i + 1]; ++k) {
      std::int64_t at = mode == "replicate"  ? std::clamp<std::int64_t>(k, 0, n - 1)
                        : mode == "circular" ? remainder(k, n)
                        : k < 0              ? -k
                        : k >= n             ? 2 * (n - 1) - k
                                             : k;
      lines.push_back(select(out, d, at));
    }
    out = stack(lines, d);
  }
  return out;
}

// Where an output row takes its value from, between which two input rows.
inline Tensor resize(const Tensor& t, const Value& output_size, const Value& scales, bool linear, bool align_corners) {
  check(t.dim() == 4, "resizing expects [N, C, H, W]");
  check(output_size.isNone() != scales.isNone(), "Must specify exactly one of output_size and scale_factors");
  check((output_size.isNone() ? scales : output_size).elements().size() == 2, "resizing takes two sizes or factors");
  const std::int64_t h = t.size(2), w = t.size(3);
  Sizes to;
  std::array<double, 2> scale{};
  for (std::size_t d = 0; d < 2; ++d) {
    const double size = double(t.sizes()[d + 2]);
    to.push_back(output_size.isNone() ? cast<std::int64_t>(std::floor(size * scales.toList()[d].toDouble()))
                                      : output_size.toInt32Vector()[d]);
    check(h > 0 && w > 0 && to[d] > 0, "Input and output sizes should be greater than 0, but got input ",
          to_string(t.sizes()), " output ", to_string(to));
    scale[d] = linear && align_corners ? (to[d] > 1 ? (size - 1) / double(to[d] - 1) : 0)
               : scales.isNone()       ? size / double(to[d])
                                       : 1 / scales.toList()[d].toDouble();
  }
  return map_planes<void>(t, to[0], to[1], [&](auto* image, auto* out) {
    using T = std::decay_t<decltype(*out)>;
    const auto place = [](double at, std::int64_t n) { return std::clamp<std::int64_t>(cast<std::int64_t>(at), 0, n - 1); };
    const auto source = [&](std::int64_t i, std::size_t d) {
      return align_corners ? scale[d] * double(i) : std::max(0.0, scale[d] * (double(i) + 0.5) - 0.5);
    };
    for (std::int64_t y = 0; y < to[0]; ++y)
      for (std::int64_t x = 0; x < to[1]; ++x) {
        if (!linear) {
          *out++ = image[place(double(y) * scale[0], h) * w + place(double(x) * scale[1], w)];
          continue;
        }
        const double fy = source(y, 0), fx = source(x, 1);
        const auto y0 = place(fy, h), x0 = place(fx, w), y1 = std::min(y0 + 1, h - 1), x1 = std::min(x0 + 1, w - 1);
        const double wy = fy - double(y0), wx = fx - double(x0);
        const auto at = [&](std::int64_t i, std::int64_t j) { return double(image[i * w + j]); };
        *out++ = cast<T>((1 - wy) * ((1 - wx) * at(y0, x0) + wx * at(y0, x1)) +
                         wy * ((1 - wx) * at(y1, x0) + wx * at(y1, x1)));
      }
  });
}

// A line is an image of height 1.
inline Tensor as_line(const Tensor& t) { return unsqueeze(t, -2); }
inline Value line_of(const Value& numbers, int neutral) {
  Sizes s = numbers.toInt32Vector();
  check(s.size() < 2, "a window over a line is a single int, not ", to_string(s));
  if (!s.empty()) s.insert(s.begin(), neutral);
  return Value::list_of(s);
}

inline std::vector<Definition> pooling_operators() {
  return {
      {"max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool "
       "ceil_mode=False)",
       [](Arguments& a) -> Value { return max_pool2d(a[0].toTensor(), Pool(a[1], a[2], a[3], a[4], a[5]), false); }},
      {"max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] "
       "dilation=1, bool ceil_mode=False)",
       [](Arguments& a) -> Value { return max_pool2d(a[0].toTensor(), Pool(a[1], a[2], a[3], a[4], a[5]), true); }},
      {"max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], int[1] dilation=[1], bool "
       "ceil_mode=False)",
       [](Arguments& a) -> Value {
         return squeeze(
             max_pool2d(as_line(a[0].toTensor()),
                        Pool(line_of(a[1], 1), line_of(a[2], 1), line_of(a[3], 0), line_of(a[4], 1), a[5]), false)
                 .toTensor(),
             -2);
       }},
      {"avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False, bool "
       "count_include_pad=True, int? divisor_override=None)",
       [](Arguments& a) -> Value {
         return avg_pool2d(a[0].toTensor(), Pool(a[1], a[2], a[3], 1, a[4]), a[5].toBool(), a[6]);
       }},
      {"avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], bool ceil_mode=False, bool "
       "count_include_pad=True)",
       [](Arguments& a) -> Value {
         return squeeze(
             avg_pool2d(as_line(a[0].toTensor()), Pool(line_of(a[1], 1), line_of(a[2], 1), line_of(a[3], 0), 1, a[4]),
                        a[5].toBool(), {}),
             -2);
       }},
      {"adaptive_avg_pool2d(Tensor self, int[2] output_size)",
       [](Arguments& a) -> Value { return adaptive_average(a[0].toTensor(), pair(a[1])); }},
      {"adaptive_avg_pool1d(Tensor self, int[1] output_size)",
       [](Arguments& a) -> Value {
         return squeeze(adaptive_average(as_line(a[0].toTensor()), pair(line_of(a[1], 1))), -2);
       }},
      {"adaptive_max_pool2d(Tensor self, int[2] output_size)",
       [](Arguments& a) -> Value {
         const Tensor& t = a[0].toTensor();
         const Sizes to = pair(a[1]);
         return Value::tuple({adaptive_largest<void>(t, to, false), adaptive_largest<std::int64_t>(t, to, true)});
       }},
      {"pad(Tensor self, int[] pad, str mode=\"constant\", float? value=None)",
       [](Arguments& a) -> Value { return pad(a[0].toTensor(), a[1].toInt32Vector(), a[2].toString(), a[3]); }},
      {"constant_pad_nd(Tensor self, int[] pad, Scalar value=0)",
       [](Arguments& a) -> Value { return constant_pad(a[0].toTensor(), a[1].toInt32Vector(), a[2].toDouble()); }},
      {"upsample_nearest2d(Tensor input, int[]? output_size, float[]? scale_factors)",
       [](Arguments& a) -> Value { return resize(a[0].toTensor(), a[1], a[2], false, false); }},
      {"upsample_bilinear2d(Tensor input, int[]? output_size, bool align_corners, float[]? scale_factors)",
       [](Arguments& a) -> Value { return resize(a[0].toTensor(), a[1], a[3], true, a[2].toBool()); }},
      {"im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride)",
       [](Arguments& a) -> Value {
         const Tensor& t = a[0].toTensor();
         check(t.dim() == 4, "im2col expects [N, C, H, W]");
         const Window window{pair(a[1]), pair(a[4]), pair(a[3]), pair(a[2])};
         const std::int64_t h = window.places(0, t.size(2)), w = window.places(1, t.size(3)),
                            depth = t.size(1) * product(window.kernel);
         return visit_compute(t.dtype(), [&](auto e) {
           using T = decltype(e);
           const Tensor x = for_compute(t), out = Tensor::empty({t.size(0), depth, h * w}, dtype_of<T>);
           for (std::int64_t i = 0; i < t.size(0); ++i)
             im2col(x.data<T>() + i * t.numel() / t.size(0), t.size(1), t.size(2), t.size(3), window, h, w,
                    out.data<T>() + i * depth * h * w);
           return to_dtype(out, t.dtype());
         });
       }},
  };
}

}  // namespace torchscript

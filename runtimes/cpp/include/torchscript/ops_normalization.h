// Softmax and the normalizations: batch, layer, group, instance, RMS.
//
// All but batch norm treat each row by itself: subtract a mean, divide by a spread, scale and shift. It mirrors
// aten/src/ATen/native/SoftMax.cpp, Normalization.cpp, layer_norm.cpp and group_norm.cpp.
//
// How the real one differs: means and variances are found in one pass (Welford), by vectorized kernels.
#pragma once

#include "ops_reductions.h"

namespace torchscript {

inline Tensor softmax(const Tensor& t, std::int64_t d, const Value& dtype, bool logarithm) {
  check_floating(dtype_or(dtype, t.dtype()), logarithm ? "log_softmax" : "softmax");
  return map_rows<void>(to_dtype(t, dtype_or(dtype, t.dtype())), d, [=](auto* row, std::int64_t n, auto* to) {
    using T = std::decay_t<decltype(*to)>;
    const double top = n > 0 ? double(*std::max_element(row, row + n)) : 0;
    double total = 0;
    for (std::int64_t i = 0; i < n; ++i) total += std::exp(double(row[i]) - top);
    const double log_total = std::log(total);
    for (std::int64_t i = 0; i < n; ++i)
      to[i] = logarithm ? cast<T>(double(row[i]) - top - log_total) : cast<T>(std::exp(double(row[i]) - top) / total);
  });
}

template <class T>
void normalize_row(const T* row, std::int64_t n, T* to, double eps) {
  const double mean = mean_row(row, n), scale = 1 / std::sqrt(variance_row(row, n, 0) + eps);
  for (std::int64_t i = 0; i < n; ++i) to[i] = cast<T>((double(row[i]) - mean) * scale);
}

// `normalized`: how many of the last dimensions form a row.
inline Tensor scale_and_shift(Tensor t, const Value& weight, const Value& bias) {
  if (!weight.isNone()) t = mul(t, weight);
  return bias.isNone() ? t : add(t, bias);
}

inline void check_normalized(const Tensor& t, const Sizes& normalized, const Value& weight, const Value& bias) {
  check_floating(t.dtype(), "norm");
  check(!normalized.empty(), "Expected normalized_shape to be at least 1-dimensional");
  check(t.dim() >= std::int64_t(normalized.size()) &&
            std::equal(normalized.rbegin(), normalized.rend(), t.sizes().rbegin()),
        "Given normalized_shape=", to_string(normalized),
        ", expected input with shape ending in it, but got input of size ", to_string(t.sizes()));
  for (const Value* parameter : {&weight, &bias})
    check(parameter->isNone() || parameter->toTensor().sizes() == normalized,
          "Expected weight and bias to be of the shape ", to_string(normalized));
}

inline Tensor layer_norm(const Tensor& t, const Sizes& normalized, const Value& weight, const Value& bias, double eps) {
  check_normalized(t, normalized, weight, bias);
  const Tensor rows = map_rows<void>(reshape(t, {-1, product(normalized)}), 1,
                                     [=](auto* row, std::int64_t n, auto* to) { normalize_row(row, n, to, eps); });
  return scale_and_shift(reshape(rows, t.sizes()), weight, bias);
}

inline Tensor rms_norm(const Tensor& t, const Sizes& normalized, const Value& weight, const Value& eps) {
  check_normalized(t, normalized, weight, {});
  const double epsilon = !eps.isNone()                 ? eps.toDouble()
                         : t.dtype() == Dtype::float64 ? std::numeric_limits<double>::epsilon()
                                                       : double(std::numeric_limits<float>::epsilon());
  const Tensor rows =
      map_rows<void>(reshape(t, {-1, product(normalized)}), 1, [=](auto* row, std::int64_t n, auto* to) {
        double total = 0;
        for (std::int64_t i = 0; i < n; ++i) total += double(row[i]) * double(row[i]);
        const double scale = 1 / std::sqrt(total / double(n) + epsilon);
        for (std::int64_t i = 0; i < n; ++i) to[i] = cast<std::decay_t<decltype(*to)>>(double(row[i]) * scale);
      });
  return scale_and_shift(reshape(rows, t.sizes()), weight, {});
}

// A vector with one number per channel, shaped so that it stretches over [N, C, ...].
inline Value per_channel(const Value& v, const Tensor& t) {
  if (v.isNone()) return v;
  check(v.toTensor().sizes() == Sizes{t.size(1)}, "a normalization of ", t.size(1), " channels needs as many numbers, not ",
        to_string(v.toTensor().sizes()));
  Sizes sizes(std::size_t(t.dim() - 1), 1);
  sizes[0] = t.size(1);
  return reshape(v.toTensor(), sizes);
}

inline Tensor group_norm(const Tensor& t, std::int64_t groups, const Value& weight, const Value& bias, double eps) {
  check_floating(t.dtype(), "norm");
  check(t.dim() >= 2 && groups > 0 && t.size(1) % groups == 0,
        "Expected number of channels in input to be divisible by num_groups");
  const Tensor rows = map_rows<void>(reshape(t, {t.size(0) * groups, -1}), 1,
                                     [=](auto* row, std::int64_t n, auto* to) { normalize_row(row, n, to, eps); });
  return scale_and_shift(reshape(rows, t.sizes()), per_channel(weight, t), per_channel(bias, t));
}

// In training the statistics come from the batch, and the running ones move towards them.
inline Tensor batch_norm(const Tensor& t, const Value& weight, const Value& bias, const Value& running_mean,
                         const Value& running_var, bool training, double momentum, double eps) {
  check_floating(t.dtype(), "batch_norm");
  check(t.dim() >= 2, "batch_norm expects an input with at least 2 dimensions");
  for (const Value* numbers : {&weight, &bias, &running_mean, &running_var}) per_channel(*numbers, t);
  Tensor average, spread;
  if (training) {
    Sizes dims = {0};
    for (std::int64_t d = 2; d < t.dim(); ++d) dims.push_back(d);
    const Value over = Value::list_of(dims);
    average = mean(t, over);
    spread = variance(t, over, 0, false);
    const auto move = [&](const Value& running, const Tensor& now) {
      if (!running.isNone()) copy_(running.toTensor(), add(mul(running, 1 - momentum), mul(now, momentum)));
    };
    move(running_mean, average);
    move(running_var, variance(t, over, 1, false));
  } else {
    average = running_mean.toTensor();
    spread = running_var.toTensor();
  }
  // (x - mean) / sqrt(var + eps) * weight + bias = x * scale + shift, one multiplication per element
  Tensor scale = pointwise(spread, Rule::same, [=](auto v) { return decltype(v)(1 / std::sqrt(double(v) + eps)); });
  if (!weight.isNone()) scale = mul(scale, weight);
  Tensor shift = sub(bias.isNone() ? full({}, 0, spread.dtype()) : bias.toTensor(), mul(average, scale));
  return add(mul(t, per_channel(scale, t)), per_channel(shift, t));
}

inline std::vector<Definition> normalizations() {
  return {
      {"softmax(Tensor self, int dim, int? dtype=None)",
       [](Arguments& a) -> Value { return softmax(a[0].toTensor(), a[1].toInt(), a[2], false); }},
      {"log_softmax(Tensor self, int dim, int? dtype=None)",
       [](Arguments& a) -> Value { return softmax(a[0].toTensor(), a[1].toInt(), a[2], true); }},
      {"layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool "
       "cudnn_enable=True)",
       [](Arguments& a) -> Value {
         return layer_norm(a[0].toTensor(), a[1].toIntVector(), a[2], a[3], a[4].toDouble());
       }},
      {"rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None)",
       [](Arguments& a) -> Value { return rms_norm(a[0].toTensor(), a[1].toIntVector(), a[2], a[3]); }},
      {"group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool "
       "cudnn_enabled=True)",
       [](Arguments& a) -> Value { return group_norm(a[0].toTensor(), a[1].toInt(), a[2], a[3], a[4].toDouble()); }},
      {"instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool "
       "use_input_stats, float momentum, float eps, bool cudnn_enabled)",
       [](Arguments& a) -> Value {
         check(a[5].toBool(), "instance_norm with running statistics is not known to this runtime");
         return group_norm(a[0].toTensor(), a[0].toTensor().size(1), a[1], a[2], a[7].toDouble());
       }},
      {"batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool "
       "training, float momentum, float eps, bool cudnn_enabled)",
       [](Arguments& a) -> Value {
         return batch_norm(a[0].toTensor(), a[1], a[2], a[3], a[4], a[5].toBool(), a[6].toDouble(), a[7].toDouble());
       }},
  };
}

inline Value dropout(Arguments& a) {
  check(!a[2].toBool() || a[1].toDouble() == 0,
        "dropout while training needs random numbers, which this runtime does not have");
  return a[0];
}

inline std::vector<Definition> dropouts() {
  std::vector<Definition> t;
  for (const char* name :
       {"dropout", "dropout_", "feature_dropout", "feature_dropout_", "alpha_dropout", "feature_alpha_dropout"})
    t.push_back({std::string(name) + "(Tensor input, float p, bool train)", dropout});
  return t;
}

}  // namespace torchscript

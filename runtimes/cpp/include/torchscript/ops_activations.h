// Activations: the functions between the layers of a network.
//
// It mirrors aten/src/ATen/native/Activation.cpp.
//
// How the real one differs: several have backward formulas and vectorized kernels of their own.
#pragma once

#include "pointwise.h"
#include "views.h"

namespace torchscript {

template <class T>
T sigmoid(T x) {
  return 1 / (1 + std::exp(-x));
}
template <class T>
T softplus(T x) {
  return x > 20 ? x : std::log1p(std::exp(x));
}
template <class T>
T elu(T x, double alpha, double scale, double input_scale) {
  return x > 0 ? T(x * scale) : T(alpha * scale * std::expm1(x * input_scale));
}

inline Tensor hardtanh(const Tensor& x, const Value& low, const Value& high) {
  return pointwise(x, Rule::same, [l = low.toDouble(), h = high.toDouble()](auto v) {
    const auto from = cast<decltype(v)>(l), to = cast<decltype(v)>(h);
    const auto at_least = v < from ? from : v;
    return at_least > to ? to : at_least;
  });
}

inline Tensor gelu(const Tensor& x, const std::string& approximate) {
  constexpr double root_half = 0.70710678118654752440, root_two_over_pi = 0.79788456080286535588;
  if (approximate == "none") {
    return pointwise(x, Rule::same, [=](auto v) {
      return decltype(v)(v * decltype(v)(0.5) * (1 + std::erf(v * decltype(v)(root_half))));
    });
  }
  check(approximate == "tanh", "approximate argument must be either none or tanh.");
  return pointwise(x, Rule::same, [=](auto v) {
    using T = decltype(v);
    return T(T(0.5) * v * (1 + std::tanh(T(root_two_over_pi) * (v + T(0.044715) * v * v * v))));
  });
}

inline Tensor prelu(const Tensor& x, Tensor weight) {  // a weight for each channel, dimension 1, or one for all
  if (weight.numel() != 1 && x.dim() > 1) {
    check(weight.numel() == x.size(1), "Mismatch of parameter numbers and input channel size.");
    Sizes sizes(static_cast<std::size_t>(x.dim()), 1);
    sizes[1] = weight.numel();
    weight = reshape(weight, sizes);
  }
  return pointwise(x, weight, Rule::floating, [](auto v, auto slope) { return v > 0 ? v : decltype(v)(v * slope); });
}

inline Tensor glu(const Tensor& x, std::int64_t dim) {
  check(x.dim() > 0, "glu does not support 0-dimensional tensors");
  const std::int64_t d = dim < 0 ? dim + x.dim() : dim;
  check(d >= 0 && d < x.dim(), "Dimension out of range: glu along " + std::to_string(dim));
  const std::int64_t half = x.size(d) / 2;
  check(x.size(d) % 2 == 0, "Halving dimension must be even, but dimension " + std::to_string(dim) + " is size " +
                                std::to_string(x.size(d)));
  return pointwise(narrow(x, d, 0, half), narrow(x, d, half, half), Rule::floating,
                   [](auto v, auto gate) { return decltype(v)(v * sigmoid(gate)); });
}

inline std::vector<Definition> floating_activations() {
  std::vector<Definition> t;
  unary(t, "silu", Rule::floating, [](auto x) { return x / (1 + std::exp(-x)); });
  unary(t, "mish", Rule::floating, [](auto x) { return x * std::tanh(softplus(x)); });
  unary(t, "log_sigmoid", Rule::floating,
        [](auto x) { return std::min(x, decltype(x)(0)) - std::log1p(std::exp(x > 0 ? -x : x)); });
  unary(t, "hardsigmoid", Rule::floating,
        [](auto x) { return std::min(std::max(x + 3, decltype(x)(0)), decltype(x)(6)) / 6; });
  unary(t, "hardswish", Rule::floating,
        [](auto x) { return x * std::min(std::max(x + 3, decltype(x)(0)), decltype(x)(6)) / 6; });
  unary(t, "selu", Rule::floating,
        [](auto x) { return elu(x, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1.0); });
  both(t, "elu", "(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1)", [](Arguments& a) -> Value {
    return pointwise(
        a[0].toTensor(), Rule::floating,
        [p = a[1].toDouble(), q = a[2].toDouble(), r = a[3].toDouble()](auto x) { return elu(x, p, q, r); });
  });
  both(t, "celu", "(Tensor self, Scalar alpha=1.)", [](Arguments& a) -> Value {
    check(a[1].toDouble() != 0, "ZeroDivisionError: alpha cannot be 0 for CELU");
    return pointwise(a[0].toTensor(), Rule::floating, [p = a[1].toDouble()](auto x) { return elu(x, p, 1.0, 1 / p); });
  });
  both(t, "leaky_relu", "(Tensor self, Scalar negative_slope=0.01)", [](Arguments& a) -> Value {
    return pointwise(a[0].toTensor(), Rule::floating,
                     [p = a[1].toDouble()](auto x) { return x > 0 ? x : decltype(x)(x * decltype(x)(p)); });
  });
  both(t, "gelu", "(Tensor self, *, str approximate=\"none\")",
       [](Arguments& a) -> Value { return gelu(a[0].toTensor(), a[1].toString()); });
  t.push_back({"hardshrink(Tensor self, Scalar lambd=0.5)", [](Arguments& a) -> Value {
                 return pointwise(a[0].toTensor(), Rule::floating, [l = a[1].toDouble()](auto x) {
                   return x >= -l && x <= l ? decltype(x)(0) : x;
                 });
               }});
  t.push_back({"softshrink(Tensor self, Scalar lambd=0.5)", [](Arguments& a) -> Value {
                 const double limit = a[1].toDouble();
                 check(limit >= 0, "lambda must be greater or equal to 0, but found to be " + std::to_string(limit) + ".");
                 return pointwise(a[0].toTensor(), Rule::floating, [l = limit](auto x) {
                   using T = decltype(x);
                   return x > l ? T(x - T(l)) : x < -l ? T(x + T(l)) : T(x * 0);
                 });
               }});
  t.push_back({"prelu(Tensor self, Tensor weight)",
               [](Arguments& a) -> Value { return prelu(a[0].toTensor(), a[1].toTensor()); }});
  t.push_back({"glu(Tensor self, int dim=-1)",
               [](Arguments& a) -> Value { return glu(a[0].toTensor(), a[1].toInt()); }});
  t.push_back({"softplus(Tensor self, Scalar beta=1, Scalar threshold=20)", [](Arguments& a) -> Value {
                 return pointwise(a[0].toTensor(), Rule::floating,
                                  [beta = a[1].toDouble(), limit = a[2].toDouble()](auto x) {
                                    using T = decltype(x);
                                    return x * beta > limit ? x : T(std::log1p(std::exp(T(x * beta))) / T(beta));
                                  });
               }});
  return t;
}

inline std::vector<Definition> activations() {
  std::vector<Definition> t = floating_activations();
  for (Definition& definition : t)
    definition.kernel = [name = Schema(definition.schema).name(), kernel = definition.kernel](Arguments& a) -> Value {
      check_floating(a[0].toTensor().dtype(), name);
      return kernel(a);
    };
  unary(t, "relu6", Rule::same, [](auto x) { return x < 0 ? decltype(x)(0) : x > 6 ? decltype(x)(6) : x; });
  both(t, "threshold", "(Tensor self, Scalar threshold, Scalar value)", [](Arguments& a) -> Value {
    return pointwise(a[0].toTensor(), Rule::same,
                     [p = a[1].toDouble(), q = a[2].toDouble()](auto x) { return x <= p ? cast<decltype(x)>(q) : x; });
  });
  both(t, "hardtanh", "(Tensor self, Scalar min_val=-1, Scalar max_val=1)",
       [](Arguments& a) -> Value { return hardtanh(a[0].toTensor(), a[1], a[2]); });
  return t;
}

}  // namespace torchscript

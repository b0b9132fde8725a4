// Element-wise arithmetic: what the type of a result is, and the loops that compute it.
//
// Numbers beside tensors do not count fully: int32 tensor + 1 stays int32, + 1.5 becomes float32, the default. Among tensors,
// one without dimensions counts as little, unless it is of a higher category (bool < int < float). The work is done in float,
// double or int64, and converted. It mirrors aten/src/ATen/native/TypeProperties.cpp (result_type) and BinaryOps.cpp.
//
// How the real one differs: it computes in each type by itself, vectorized, and leaves the layout of its inputs to the output.
#pragma once

#include "ops_numbers.h"

namespace torchscript {

enum class Rule { same, floating, truth };  // the type of the result: promoted, promoted and not whole, bool

inline Dtype dtype_of_value(const Value& v) {
  if (v.isTensor())
    return v.toTensor().is_wrapped_number() && is_floating(v.toTensor().dtype()) ? Dtype::float32
                                                                                 : v.toTensor().dtype();
  return v.isBool() ? Dtype::boolean : v.isInt() ? Dtype::int64 : Dtype::float32;
}
inline int category(Dtype d) { return d == Dtype::boolean ? 0 : is_floating(d) ? 2 : 1; }
inline int weight(const Value& v) {
  return !v.isTensor() || v.toTensor().is_wrapped_number() ? 0 : v.toTensor().dim() == 0 ? 1 : 2;
}

inline Dtype result_dtype(const Value& a, const Value& b) {
  const Dtype x = dtype_of_value(a), y = dtype_of_value(b);
  if (weight(a) == weight(b)) return promote(x, y);
  if (weight(a) > weight(b)) return category(x) >= category(y) ? x : y;
  return category(y) >= category(x) ? y : x;
}

inline Tensor scalar_tensor(const Value& v, Dtype dtype) {
  return v.isDouble() ? full({}, v.toDouble(), dtype) : full({}, v.toInt(), dtype);
}
inline Tensor operand(const Value& v, Dtype dtype) {
  return v.isTensor() ? to_dtype(v.toTensor(), dtype) : scalar_tensor(v, dtype);
}
inline const Sizes& sizes_of(const Value& v) {
  static const Sizes none;
  return v.isTensor() ? v.toTensor().sizes() : none;
}

template <class F>
Tensor pointwise(const Value& a, const Value& b, Rule rule, F f) {
  Dtype dtype = result_dtype(a, b);
  if (rule == Rule::floating && !is_floating(dtype)) dtype = Dtype::float32;
  const Sizes sizes = broadcast(sizes_of(a), sizes_of(b));
  return visit_compute(dtype, [&](auto e) {
    using T = decltype(e);
    const Tensor x = operand(a, dtype_of<T>), y = operand(b, dtype_of<T>);
    if constexpr (std::is_same_v<decltype(f(e, e)), bool>) {
      const Tensor out = Tensor::empty(sizes, Dtype::boolean);
      map2<Boolean, T>(out, x, y, f);
      return out;
    } else {
      const Tensor out = Tensor::empty(sizes, dtype_of<T>);
      map2<T, T>(out, x, y, [f](T p, T q) { return static_cast<T>(f(p, q)); });
      return to_dtype(out, dtype);
    }
  });
}

template <class F>
Tensor pointwise(const Tensor& a, Rule rule, F f) {
  const Dtype dtype = rule == Rule::floating && !is_floating(a.dtype()) ? Dtype::float32 : a.dtype();
  return visit_compute(dtype, [&](auto e) {
    using T = decltype(e);
    const Tensor x = to_dtype(a, dtype_of<T>);
    if constexpr (std::is_same_v<decltype(f(e)), bool>) {
      const Tensor out = Tensor::empty(a.sizes(), Dtype::boolean);
      map1<Boolean, T>(out, x, f);
      return out;
    } else {
      const Tensor out = Tensor::empty(a.sizes(), dtype_of<T>);
      map1<T, T>(out, x, [f](T p) { return static_cast<T>(f(p)); });
      return to_dtype(out, dtype);
    }
  });
}

template <class T, class = std::enable_if_t<std::is_floating_point_v<T>>>
T plus(T a, T b) {
  return a + b;
}
template <class T, class = std::enable_if_t<std::is_floating_point_v<T>>>
T minus(T a, T b) {
  return a - b;
}
template <class T, class = std::enable_if_t<std::is_floating_point_v<T>>>
T times(T a, T b) {
  return a * b;
}

inline Tensor mul(const Value& a, const Value& b) {
  return pointwise(a, b, Rule::same, [](auto x, auto y) { return times(x, y); });
}
inline Value scaled(const Value& v, const Value& alpha) {
  if (alpha.isDouble() && v.isTensor() && !is_floating(v.toTensor().dtype())) {
    const auto whole = cast<std::int64_t>(alpha.toDouble());
    check(double(whole) == alpha.toDouble(),
          "For integral input tensors, argument alpha must not be a floating point number.");
    return scaled(v, whole);
  }
  return equal(alpha, 1) ? v : v.isTensor() ? Value(mul(v, alpha)) : Value(v.toDouble() * alpha.toDouble());
}
inline Tensor add(const Value& a, const Value& b, const Value& alpha = 1) {
  return pointwise(a, scaled(b, alpha), Rule::same, [](auto x, auto y) { return plus(x, y); });
}
inline Tensor sub(const Value& a, const Value& b, const Value& alpha = 1) {
  return pointwise(a, scaled(b, alpha), Rule::same, [](auto x, auto y) { return minus(x, y); });
}
inline Tensor div(const Value& a, const Value& b) {
  return pointwise(a, b, Rule::floating,
                   [](auto x, auto y) { return y == 0 && std::is_integral_v<decltype(y)> ? y : x / y; });
}
// `x < y ? y : x` would lose a NaN on one side.
inline Tensor maximum(const Value& a, const Value& b) {
  return pointwise(a, b, Rule::same, [](auto x, auto y) { return x != x || x > y ? x : y; });
}
inline Tensor minimum(const Value& a, const Value& b) {
  return pointwise(a, b, Rule::same, [](auto x, auto y) { return x != x || x < y ? x : y; });
}

inline Tensor where(const Tensor& condition, const Value& a, const Value& b) {
  const Dtype dtype = result_dtype(a, b);
  const Sizes sizes = broadcast(condition.sizes(), broadcast(sizes_of(a), sizes_of(b)));
  const Tensor c = contiguous(expand(to_dtype(condition, Dtype::boolean), sizes));
  const Tensor x = contiguous(expand(operand(a, dtype), sizes)), y = contiguous(expand(operand(b, dtype), sizes));
  const Tensor out = Tensor::empty(sizes, dtype);
  visit(dtype, [&](auto e) {
    using T = decltype(e);
    const Boolean* truth = c.data<Boolean>();
    const T *p = x.data<T>(), *q = y.data<T>();
    T* to = out.data<T>();
    for (std::int64_t i = 0; i < out.numel(); ++i) to[i] = truth[i] ? p[i] : q[i];
  });
  return out;
}

// What an in-place operator does with its result.
inline Value write(const Tensor& self, const Tensor& result) {
  check(is_floating(self.dtype()) || !is_floating(result.dtype()), "result type ", name_of(result.dtype()),
        " can't be cast to the desired output type ", name_of(self.dtype()));
  copy_(self, result);
  return self;
}

// An operator and its in-place form, which writes the result into the first argument.
inline void both(std::vector<Definition>& table, const std::string& name, const std::string& signature,
                 const Kernel& kernel) {
  table.push_back({name + signature, kernel});
  table.push_back({name + "_" + signature,
                   [kernel](Arguments& a) -> Value { return write(a[0].toTensor(), kernel(a).toTensor()); }});
}

template <class F>
void unary(std::vector<Definition>& table, const char* name, Rule rule, F f) {
  both(table, name, "(Tensor self)", [=](Arguments& a) -> Value { return pointwise(a[0].toTensor(), rule, f); });
}

}  // namespace torchscript

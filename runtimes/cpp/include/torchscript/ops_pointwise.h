// Element-wise operators, each with its in-place form: arithmetic, comparisons, functions, activations.
//
// It mirrors aten/src/ATen/native/BinaryOps.cpp, UnaryOps.cpp and Activation.cpp.
//
// How the real one differs: there are some 200 of them, structured by what they are in native_functions.yaml.
#pragma once

#include "pointwise.h"

namespace torchscript {

inline Tensor divide_rounded(const Value& a, const Value& b, const Value& mode) {
  if (mode.isNone()) return div(a, b);
  if (mode.toString() == "floor") return pointwise(a, b, Rule::same, [](auto x, auto y) { return floor_divide(x, y); });
  check(mode.toString() == "trunc", "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '",
        mode.toString(), "'");
  return pointwise(a, b, Rule::same, [](auto x, auto y) {
    if constexpr (std::is_integral_v<decltype(x)>) {
      return y == -1 ? minus(std::int64_t(0), x) : (check(y != 0, "ZeroDivisionError"), x / y);
    } else {
      return std::trunc(x / y);
    }
  });
}

inline void check_one_dtype(const Arguments& a) {
  check(a[0].toTensor().dtype() == a[1].toTensor().dtype() && a[0].toTensor().dtype() == a[2].toTensor().dtype(),
        "addcmul and addcdiv of several dtypes are not known to this runtime");
}

inline std::vector<Definition> pointwise_arithmetic() {
  std::vector<Definition> t;
  both(t, "add", "(Tensor self, Operand other, Scalar alpha=1)",
       [](Arguments& a) -> Value { return add(a[0], a[1], a[2]); });
  both(t, "sub", "(Tensor self, Operand other, Scalar alpha=1)",
       [](Arguments& a) -> Value { return sub(a[0], a[1], a[2]); });
  both(t, "mul", "(Tensor self, Operand other)", [](Arguments& a) -> Value { return mul(a[0], a[1]); });
  both(t, "div", "(Tensor self, Operand other, *, str? rounding_mode=None)",
       [](Arguments& a) -> Value { return divide_rounded(a[0], a[1], a[2]); });
  both(t, "floor_divide", "(Tensor self, Operand other)",
       [](Arguments& a) -> Value { return divide_rounded(a[0], a[1], "floor"); });
  both(t, "remainder", "(Operand self, Operand other)", [](Arguments& a) -> Value {
    return pointwise(a[0], a[1], Rule::same, [](auto x, auto y) { return remainder(x, y); });
  });
  both(t, "fmod", "(Tensor self, Operand other)", [](Arguments& a) -> Value {
    return pointwise(a[0], a[1], Rule::same, [](auto x, auto y) {
      if constexpr (std::is_integral_v<decltype(x)>) {
        return y == -1 ? 0 : (check(y != 0, "ZeroDivisionError"), x % y);
      } else {
        return std::fmod(x, y);
      }
    });
  });
  both(t, "pow", "(Operand self, Operand exponent)", [](Arguments& a) -> Value {
    check(is_floating(result_dtype(a[0], a[1])) || !a[1].isInt() || a[1].toInt() >= 0,
          "Integers to negative integer powers are not allowed.");
    return pointwise(a[0], a[1], Rule::same, [](auto x, auto y) { return power(x, y); });
  });
  t.push_back({"rsub(Tensor self, Operand other, Scalar alpha=1)",
               [](Arguments& a) -> Value { return sub(a[1], a[0], a[2]); }});
  both(t, "atan2", "(Tensor self, Tensor other)", [](Arguments& a) -> Value {
    return pointwise(a[0], a[1], Rule::floating, [](auto y, auto x) { return std::atan2(y, x); });
  });
  t.push_back({"maximum(Tensor self, Tensor other)", [](Arguments& a) -> Value { return maximum(a[0], a[1]); }});
  t.push_back({"minimum(Tensor self, Tensor other)", [](Arguments& a) -> Value { return minimum(a[0], a[1]); }});
  t.push_back({"max(Tensor self, Tensor other)", [](Arguments& a) -> Value { return maximum(a[0], a[1]); }});
  t.push_back({"min(Tensor self, Tensor other)", [](Arguments& a) -> Value { return minimum(a[0], a[1]); }});
  both(t, "clamp", "(Tensor self, Operand? min=None, Operand? max=None)", [](Arguments& a) -> Value {
    Value out = a[0];
    if (!a[1].isNone()) out = maximum(out, a[1]);
    if (!a[2].isNone()) out = minimum(out, a[2]);
    return out.toTensor().is(a[0].toTensor()) ? Value(clone(out.toTensor())) : out;
  });
  both(t, "clamp_min", "(Tensor self, Operand min)", [](Arguments& a) -> Value { return maximum(a[0], a[1]); });
  both(t, "clamp_max", "(Tensor self, Operand max)", [](Arguments& a) -> Value { return minimum(a[0], a[1]); });
  both(t, "lerp", "(Tensor self, Tensor end, Operand weight)",
       [](Arguments& a) -> Value { return add(a[0], mul(sub(a[1], a[0]), a[2])); });
  both(t, "addcmul", "(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1)",
       [](Arguments& a) -> Value { return check_one_dtype(a), add(a[0], mul(a[1], a[2]), a[3]); });
  both(t, "addcdiv", "(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1)",
       [](Arguments& a) -> Value { return check_one_dtype(a), add(a[0], div(a[1], a[2]), a[3]); });
  t.push_back({"where(Tensor condition, Operand self, Operand other)",
               [](Arguments& a) -> Value { return where(a[0].toTensor(), a[1], a[2]); }});
  both(t, "masked_fill", "(Tensor self, Tensor mask, Operand value)", [](Arguments& a) -> Value {
    const Tensor& self = a[0].toTensor();
    check(a[1].toTensor().dtype() == Dtype::boolean, "masked_fill_ only supports boolean masks, but got mask with dtype ",
          name_of(a[1].toTensor().dtype()));
    return where(a[1].toTensor(), operand(a[2], self.dtype()), self);
  });
  return t;
}

template <class F>
void compare(std::vector<Definition>& t, const char* name, F f) {
  both(t, name, "(Tensor self, Operand other)",
       [=](Arguments& a) -> Value { return pointwise(a[0], a[1], Rule::truth, f); });
}

// For bools these are the logical ones: of 0 and 1 they leave 0 and 1.
template <class F>
void bitwise(std::vector<Definition>& t, const char* name, F f) {
  const Kernel kernel = [=](Arguments& a) -> Value {
    check(!is_floating(result_dtype(a[0], a[1])), "bitwise operators are not implemented for floats");
    return pointwise(a[0], a[1], Rule::same,
                     [=](auto x, auto y) { return static_cast<decltype(x)>(f(std::int64_t(x), std::int64_t(y))); });
  };
  both(t, std::string("bitwise_") + name, "(Operand self, Operand other)", kernel);
  t.push_back({"__" + std::string(name) + "__(Tensor self, Operand other)", kernel});
}

inline std::vector<Definition> pointwise_comparisons() {
  std::vector<Definition> t;
  compare(t, "eq", [](auto x, auto y) { return x == y; });
  compare(t, "ne", [](auto x, auto y) { return x != y; });
  compare(t, "lt", [](auto x, auto y) { return x < y; });
  compare(t, "le", [](auto x, auto y) { return x <= y; });
  compare(t, "gt", [](auto x, auto y) { return x > y; });
  compare(t, "ge", [](auto x, auto y) { return x >= y; });
  compare(t, "logical_and", [](auto x, auto y) { return x != 0 && y != 0; });
  compare(t, "logical_or", [](auto x, auto y) { return x != 0 || y != 0; });
  compare(t, "logical_xor", [](auto x, auto y) { return (x != 0) != (y != 0); });
  unary(t, "logical_not", Rule::truth, [](auto x) { return x == 0; });
  unary(t, "isnan", Rule::truth, [](auto x) { return x != x; });
  unary(t, "isinf", Rule::truth, [](auto x) { return std::isinf(double(x)); });
  unary(t, "isfinite", Rule::truth, [](auto x) { return std::isfinite(double(x)); });
  bitwise(t, "and", [](std::int64_t x, std::int64_t y) { return x & y; });
  bitwise(t, "or", [](std::int64_t x, std::int64_t y) { return x | y; });
  bitwise(t, "xor", [](std::int64_t x, std::int64_t y) { return x ^ y; });
  bitwise(t, "lshift",
          [](std::int64_t x, std::int64_t y) { return y < 0 || y > 63 ? 0 : wrapping(std::uint64_t(x) << y); });
  bitwise(t, "rshift", [](std::int64_t x, std::int64_t y) { return x >> (y < 0 || y > 63 ? 63 : y); });
  t.push_back({"bitwise_not(Tensor self)", [](Arguments& a) -> Value {
                 check(!is_floating(a[0].toTensor().dtype()), "bitwise operators are not implemented for floats");
                 if (a[0].toTensor().dtype() == Dtype::boolean)
                   return pointwise(a[0].toTensor(), Rule::truth, [](auto x) { return x == 0; });
                 return pointwise(a[0].toTensor(), Rule::same,
                                  [](auto x) { return static_cast<decltype(x)>(~std::int64_t(x)); });
               }});
  t.push_back({"isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False)",
               [](Arguments& a) -> Value {
                 const double rtol = a[2].toDouble(), atol = a[3].toDouble();
                 check(rtol >= 0 && atol >= 0, "rtol and atol must be greater than or equal to zero");
                 const bool nan = a[4].toBool();
                 return pointwise(a[0], a[1], Rule::truth, [=](auto x, auto y) {
                   if (x != x || y != y) return nan && x != x && y != y;
                   return x == y || (std::isfinite(double(y)) &&
                                     std::fabs(double(x) - double(y)) <= atol + rtol * std::fabs(double(y)));
                 });
               }});
  return t;
}

inline std::vector<Definition> pointwise_functions() {
  std::vector<Definition> t;
  unary(t, "neg", Rule::same, [](auto x) { return minus(decltype(x)(0), x); });
  t[0].kernel = [](Arguments& a) -> Value {
    return pointwise(a[0].toTensor(), Rule::same,
                     [](auto x) { return std::is_integral_v<decltype(x)> ? minus(decltype(x)(0), x) : -x; });
  };
  unary(t, "abs", Rule::same, [](auto x) { return x < 0 ? minus(decltype(x)(0), x) : x == 0 ? decltype(x)(0) : x; });
  t.push_back({"prim::abs(Tensor x)", t[2].kernel});
  unary(t, "sign", Rule::same, [](auto x) { return decltype(x)((x > 0) - (x < 0)); });
  both(t, "square", "(Tensor self)", [](Arguments& a) -> Value {  // a power, which of bools is an int
    return mul(a[0], a[0].toTensor().dtype() == Dtype::boolean ? Value(to_dtype(a[0].toTensor(), Dtype::int64)) : a[0]);
  });
  unary(t, "relu", Rule::same, [](auto x) { return x > 0 || x != x ? x : decltype(x)(0); });
  unary(t, "floor", Rule::same,
        [](auto x) { return std::is_integral_v<decltype(x)> ? x : decltype(x)(std::floor(x)); });
  unary(t, "ceil", Rule::same, [](auto x) { return std::is_integral_v<decltype(x)> ? x : decltype(x)(std::ceil(x)); });
  unary(t, "trunc", Rule::same,
        [](auto x) { return std::is_integral_v<decltype(x)> ? x : decltype(x)(std::trunc(x)); });
  unary(t, "frac", Rule::same,
        [](auto x) { return std::is_integral_v<decltype(x)> ? x : decltype(x)(x - std::trunc(x)); });
  both(t, "round", "(Tensor self, *, int decimals=0)", [](Arguments& a) -> Value {
    const double scale = std::pow(10.0, double(a[1].toInt()));
    return pointwise(a[0].toTensor(), Rule::same, [=](auto x) {
      return std::is_integral_v<decltype(x)> ? x : decltype(x)(std::nearbyint(x * scale) / scale);
    });
  });
  unary(t, "reciprocal", Rule::floating, [](auto x) { return x == 0 && std::is_integral_v<decltype(x)> ? x : 1 / x; });
  unary(t, "exp", Rule::floating, [](auto x) { return std::exp(x); });
  unary(t, "exp2", Rule::floating, [](auto x) { return std::exp2(x); });
  unary(t, "expm1", Rule::floating, [](auto x) { return std::expm1(x); });
  unary(t, "log", Rule::floating, [](auto x) { return std::log(x); });
  unary(t, "log2", Rule::floating, [](auto x) { return std::log2(x); });
  unary(t, "log10", Rule::floating, [](auto x) { return std::log10(x); });
  unary(t, "log1p", Rule::floating, [](auto x) { return std::log1p(x); });
  unary(t, "sqrt", Rule::floating, [](auto x) { return std::sqrt(x); });
  unary(t, "rsqrt", Rule::floating, [](auto x) { return 1 / std::sqrt(x); });
  unary(t, "sin", Rule::floating, [](auto x) { return std::sin(x); });
  unary(t, "cos", Rule::floating, [](auto x) { return std::cos(x); });
  unary(t, "tan", Rule::floating, [](auto x) { return std::tan(x); });
  unary(t, "asin", Rule::floating, [](auto x) { return std::asin(x); });
  unary(t, "acos", Rule::floating, [](auto x) { return std::acos(x); });
  unary(t, "atan", Rule::floating, [](auto x) { return std::atan(x); });
  unary(t, "sinh", Rule::floating, [](auto x) { return std::sinh(x); });
  unary(t, "cosh", Rule::floating, [](auto x) { return std::cosh(x); });
  unary(t, "tanh", Rule::floating, [](auto x) { return std::tanh(x); });
  unary(t, "erf", Rule::floating, [](auto x) { return std::erf(x); });
  unary(t, "erfc", Rule::floating, [](auto x) { return std::erfc(x); });
  unary(t, "sigmoid", Rule::floating, [](auto x) { return 1 / (1 + std::exp(-x)); });
  t.push_back(
      {"nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None)", [](Arguments& a) -> Value {
         return pointwise(a[0].toTensor(), Rule::same, [&](auto x) {
           using T = decltype(x);
           if (x != x) return a[1].isNone() ? T(0) : T(a[1].toDouble());
           if (!std::isinf(double(x))) return x;
           const Value& chosen = x > 0 ? a[2] : a[3];
           return chosen.isNone() ? (x > 0 ? std::numeric_limits<T>::max() : std::numeric_limits<T>::lowest())
                                  : T(chosen.toDouble());
         });
       }});
  return t;
}

}  // namespace torchscript

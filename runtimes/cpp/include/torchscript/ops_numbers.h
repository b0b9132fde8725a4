// Operators on Python's numbers: int, float and bool.
//
// The same name, `torch.add`, stands for tensors and for numbers; which is meant is seen from the values. An int is 64 bits and
// wraps around; `//` and `%` round towards minus infinity as in Python, unlike C++'s. It mirrors
// torch/csrc/jit/runtime/register_prim_ops.cpp.
//
// How the real one differs: each pair of types has a signature of its own (add.int, add.int_float, ...), and there are complex
// numbers.
#pragma once

#include <cerrno>

#include "schema.h"

namespace torchscript {

template <class T, class = std::enable_if_t<std::is_floating_point_v<T>>>
T remainder(T a, T b) {
  const T r = std::fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
template <class T, class = std::enable_if_t<std::is_floating_point_v<T>>>
T floor_divide(T a, T b) {
  if (b == 0) return a / b;
  const T rest = std::fmod(a, b);
  const T quotient = (a - rest) / b - (rest != 0 && (rest < 0) != (b < 0) ? 1 : 0);
  return std::floor(quotient + T(0.5));
}
template <class T, class = std::enable_if_t<std::is_floating_point_v<T>>>
T power(T a, T b) {
  return std::pow(a, b);
}

// How many numbers `range(low, high, step)` has.
inline std::int64_t range_length(std::int64_t low, std::int64_t high, std::int64_t step) {
  check(step != 0, "range() arg 3 must not be zero");
  if (step > 0 ? low >= high : low <= high) return 0;
  const std::uint64_t distance = step > 0 ? std::uint64_t(high) - std::uint64_t(low) : std::uint64_t(low) - std::uint64_t(high);
  return plus(1, wrapping((distance - 1) / (step > 0 ? std::uint64_t(step) : 0 - std::uint64_t(step))));
}

inline bool both_whole(const Value& a, const Value& b) { return !a.isDouble() && !b.isDouble(); }

// int with int by one function, everything else by another.
template <class Whole, class Real>
Definition arithmetic(const char* name, Whole whole, Real real) {
  return {std::string(name) + "(Scalar a, Scalar b)", [=](Arguments& a) -> Value {
            if (both_whole(a[0], a[1])) return whole(a[0].toInt(), a[1].toInt());
            return real(a[0].toDouble(), a[1].toDouble());
          }};
}

template <class F>
Definition comparison(const char* name, F f) {
  return {std::string(name) + "(Scalar a, Scalar b)", [=](Arguments& a) -> Value {
            return both_whole(a[0], a[1]) ? f(a[0].toInt(), a[1].toInt()) : f(a[0].toDouble(), a[1].toDouble());
          }};
}

template <class F>
Definition function_of_float(const char* name, F f) {
  return {std::string(name) + "(Scalar a)", [=](Arguments& a) -> Value { return f(a[0].toDouble()); }};
}

template <class F>
Definition bits(const char* name, F f) {
  return {std::string(name) + "(Scalar a, Scalar b)", [=](Arguments& a) -> Value {
            const std::int64_t value = f(a[0].toInt(), a[1].toInt());
            return a[0].isBool() && a[1].isBool() ? Value(value != 0) : Value(value);
          }};
}

inline Value parse_int(const std::string& text) {
  char* end = nullptr;
  errno = 0;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  check(!text.empty() && end == text.c_str() + text.size() && errno == 0, "ValueError: invalid literal for int(): '", text,
        "'");
  return std::int64_t(value);
}
inline Value parse_float(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  check(!text.empty() && end == text.c_str() + text.size(), "ValueError: could not convert string to float: '", text, "'");
  return value;
}

inline std::vector<Definition> number_arithmetic() {
  using I = std::int64_t;
  return {
      arithmetic(
          "add", [](I a, I b) { return plus(a, b); },
          [](double a, double b) { return a + b; }),
      arithmetic(
          "sub", [](I a, I b) { return minus(a, b); },
          [](double a, double b) { return a - b; }),
      arithmetic(
          "mul", [](I a, I b) { return times(a, b); },
          [](double a, double b) { return a * b; }),
      arithmetic(
          "floordiv", [](I a, I b) { return floor_divide(a, b); },
          [](double a, double b) { return std::floor(a / b); }),
      arithmetic(
          "remainder", [](I a, I b) { return remainder(a, b); }, [](double a, double b) { return remainder(a, b); }),
      arithmetic(
          "fmod", [](I a, I b) { return std::fmod(double(a), double(b)); },
          [](double a, double b) { return std::fmod(a, b); }),
      arithmetic(
          "pow", [](I a, I b) { return std::pow(double(a), double(b)); },
          [](double a, double b) { return std::pow(a, b); }),
      arithmetic(
          "prim::min", [](I a, I b) { return std::min(a, b); }, [](double a, double b) { return b < a ? b : a; }),
      arithmetic(
          "prim::max", [](I a, I b) { return std::max(a, b); }, [](double a, double b) { return b > a ? b : a; }),
      {"div(Scalar a, Scalar b)",
       [](Arguments& a) -> Value {
         check(a[1].toDouble() != 0, "ZeroDivisionError: float division by zero");
         return a[0].toDouble() / a[1].toDouble();
       }},
      {"divmod(Scalar a, Scalar b)",
       [](Arguments& a) -> Value {
         if (both_whole(a[0], a[1]))
           return Value::tuple({floor_divide(a[0].toInt(), a[1].toInt()), remainder(a[0].toInt(), a[1].toInt())});
         return Value::tuple(
             {floor_divide(a[0].toDouble(), a[1].toDouble()), remainder(a[0].toDouble(), a[1].toDouble())});
       }},
      {"neg(Scalar a)",
       [](Arguments& a) -> Value {
         return a[0].isDouble() ? Value(-a[0].toDouble()) : Value(minus(0, a[0].toInt()));
       }},
      {"prim::abs(Scalar a)",
       [](Arguments& a) -> Value {
         return a[0].isDouble() ? Value(std::fabs(a[0].toDouble()))
                                 : Value(a[0].toInt() < 0 ? minus(0, a[0].toInt()) : a[0].toInt());
       }},
      bits("__and__", [](I a, I b) { return a & b; }),
      bits("__or__", [](I a, I b) { return a | b; }),
      bits("__xor__", [](I a, I b) { return a ^ b; }),
      bits("__lshift__", [](I a, I b) { return wrapping(std::uint64_t(a) << (b & 63)); }),  // as processors do
      bits("__rshift__", [](I a, I b) { return a >> (b & 63); }),
      {"bitwise_not(int a)", [](Arguments& a) -> Value { return ~a[0].toInt(); }},
      {"__not__(bool self)", [](Arguments& a) -> Value { return !a[0].toBool(); }},
  };
}

// `a is b`: of what is shared by reference, the same object.
inline bool is_same(const Value& a, const Value& b) {
  return a.identity() != nullptr ? a.identity() == b.identity() : a.same_kind(b) && equal(a, b);
}

inline std::vector<Definition> number_comparisons() {
  return {
      comparison("eq", [](auto a, auto b) { return a == b; }),
      comparison("ne", [](auto a, auto b) { return a != b; }),
      comparison("lt", [](auto a, auto b) { return a < b; }),
      comparison("le", [](auto a, auto b) { return a <= b; }),
      comparison("gt", [](auto a, auto b) { return a > b; }),
      comparison("ge", [](auto a, auto b) { return a >= b; }),
      {"__is__(any self, any obj)",
       [](Arguments& a) -> Value {
         return is_same(a[0], a[1]);
       }},
      {"__isnot__(any self, any obj)",
       [](Arguments& a) -> Value {
         return !is_same(a[0], a[1]);
       }},
  };
}

inline std::vector<Definition> number_functions() {
  return {
      function_of_float("sqrt", [](double x) { return std::sqrt(x); }),
      function_of_float("exp", [](double x) { return std::exp(x); }),
      function_of_float("expm1", [](double x) { return std::expm1(x); }),
      function_of_float("log", [](double x) { return std::log(x); }),
      function_of_float("log2", [](double x) { return std::log2(x); }),
      function_of_float("log10", [](double x) { return std::log10(x); }),
      function_of_float("log1p", [](double x) { return std::log1p(x); }),
      function_of_float("sin", [](double x) { return std::sin(x); }),
      function_of_float("cos", [](double x) { return std::cos(x); }),
      function_of_float("tan", [](double x) { return std::tan(x); }),
      function_of_float("asin", [](double x) { return std::asin(x); }),
      function_of_float("acos", [](double x) { return std::acos(x); }),
      function_of_float("atan", [](double x) { return std::atan(x); }),
      function_of_float("sinh", [](double x) { return std::sinh(x); }),
      function_of_float("cosh", [](double x) { return std::cosh(x); }),
      function_of_float("tanh", [](double x) { return std::tanh(x); }),
      function_of_float("erf", [](double x) { return std::erf(x); }),
      function_of_float("fabs", [](double x) { return std::fabs(x); }),
      function_of_float("degrees", [](double x) { return x * 180 / 3.14159265358979323846; }),
      function_of_float("radians", [](double x) { return x * 3.14159265358979323846 / 180; }),
      function_of_float("floor", [](double x) { return cast<std::int64_t>(std::floor(x)); }),
      function_of_float("ceil", [](double x) { return cast<std::int64_t>(std::ceil(x)); }),
      function_of_float("round", [](double x) { return std::nearbyint(x); }),
      function_of_float("isnan", [](double x) { return std::isnan(x); }),
      function_of_float("isinf", [](double x) { return std::isinf(x); }),
      function_of_float("isfinite", [](double x) { return std::isfinite(x); }),
      {"log(Scalar a, Scalar base)",
       [](Arguments& a) -> Value { return std::log(a[0].toDouble()) / std::log(a[1].toDouble()); }},
      {"atan2(Scalar a, Scalar b)", [](Arguments& a) -> Value { return std::atan2(a[0].toDouble(), a[1].toDouble()); }},
      {"Int(Scalar a)",
       [](Arguments& a) -> Value { return a[0].isDouble() ? cast<std::int64_t>(a[0].toDouble()) : a[0].toInt(); }},
      {"Int(str a)", [](Arguments& a) -> Value { return parse_int(a[0].toString()); }},
      {"Int(Tensor a)", [](Arguments& a) -> Value { return a[0].toInt(); }},
      {"IntImplicit(Tensor a)", [](Arguments& a) -> Value { return a[0].toInt(); }},
      {"Float(Scalar a)", [](Arguments& a) -> Value { return a[0].toDouble(); }},
      {"Float(str a)", [](Arguments& a) -> Value { return parse_float(a[0].toString()); }},
      {"Float(Tensor a)", [](Arguments& a) -> Value { return a[0].toDouble(); }},
      {"FloatImplicit(Tensor a)", [](Arguments& a) -> Value { return a[0].toDouble(); }},
      {"Bool(Scalar a)", [](Arguments& a) -> Value { return a[0].toDouble() != 0; }},
      {"Bool(Tensor a)", [](Arguments& a) -> Value { return a[0].toBool(); }},
      {"__range_length(int lo, int hi, int step)",
       [](Arguments& a) -> Value {
         return range_length(a[0].toInt(), a[1].toInt(), a[2].toInt());
       }},
      {"__derive_index(int index, int start, int step)",
       [](Arguments& a) -> Value { return plus(a[1].toInt(), times(a[0].toInt(), a[2].toInt())); }},
  };
}

}  // namespace torchscript

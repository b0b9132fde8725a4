// What a number in memory can be.
//
// `Dtype` numbers the types as PyTorch does, because archives hold these numbers (`torch.zeros([3], dtype=6)`). `visit` is
// the bridge from a type known when the program runs to a template parameter known when it is compiled: it calls a function
// with an example of the type. It mirrors c10/core/ScalarType.h and the AT_DISPATCH macros of aten/src/ATen/Dispatch.h.
//
// How the real one differs: it has more than 40 types (half, bfloat16, complex, quantized, 8-bit and 4-bit floats).
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "error.h"

namespace torchscript {

enum class Dtype : std::int64_t {
  uint8 = 0,
  int8 = 1,
  int16 = 2,
  int32 = 3,
  int64 = 4,
  float32 = 6,
  float64 = 7,
  boolean = 11
};

// A bool in memory is one byte, and any byte but 0 is true, whoever wrote the file.
struct Boolean {
  std::uint8_t byte = 0;
  Boolean() = default;
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  Boolean(T value) : byte(value != 0) {}
  operator bool() const { return byte != 0; }
};

template <class F>
decltype(auto) visit(Dtype dtype, F&& f) {
  switch (dtype) {
    case Dtype::uint8: return f(std::uint8_t{});
    case Dtype::int8: return f(std::int8_t{});
    case Dtype::int16: return f(std::int16_t{});
    case Dtype::int32: return f(std::int32_t{});
    case Dtype::int64: return f(std::int64_t{});
    case Dtype::float32: return f(float{});
    case Dtype::float64: return f(double{});
    case Dtype::boolean: return f(Boolean{});
  }
  fail("dtype ", static_cast<std::int64_t>(dtype), " is not known to this runtime");
}

// Arithmetic is done in three types only: float32, float64, and int64 for everything whole.
template <class F>
decltype(auto) visit_compute(Dtype dtype, F&& f) {
  switch (dtype) {
    case Dtype::float32: return f(float{});
    case Dtype::float64: return f(double{});
    default: return f(std::int64_t{});
  }
}

template <class T>
constexpr Dtype dtype_of = std::is_same_v<T, float>          ? Dtype::float32
                           : std::is_same_v<T, double>       ? Dtype::float64
                           : std::is_same_v<T, std::int64_t> ? Dtype::int64
                           : std::is_same_v<T, std::int32_t> ? Dtype::int32
                           : std::is_same_v<T, std::int16_t> ? Dtype::int16
                           : std::is_same_v<T, std::int8_t>  ? Dtype::int8
                           : std::is_same_v<T, std::uint8_t> ? Dtype::uint8
                                                             : Dtype::boolean;

inline bool is_floating(Dtype d) { return d == Dtype::float32 || d == Dtype::float64; }
inline Dtype compute_dtype(Dtype d) { return is_floating(d) ? d : Dtype::int64; }
inline std::int64_t element_size(Dtype dtype) {
  return visit(dtype, [](auto e) { return std::int64_t(sizeof(e)); });
}

inline Dtype dtype_from_number(std::int64_t number) {
  const auto dtype = static_cast<Dtype>(number);
  element_size(dtype);  // complains about those that are not known
  return dtype;
}

inline const char* name_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::uint8: return "uint8";
    case Dtype::int8: return "int8";
    case Dtype::int16: return "int16";
    case Dtype::int32: return "int32";
    case Dtype::int64: return "int64";
    case Dtype::float32: return "float32";
    case Dtype::float64: return "float64";
    case Dtype::boolean: return "bool";
  }
  return "?";
}

// For what whole numbers cannot hold the result of, and PyTorch has no kernel either.
inline void check_floating(Dtype d, const std::string& what) {
  check(is_floating(d), '"', what, "\" not implemented for '", name_of(d), "'");
}

// Which of two types can hold both: bool < uint8, int8 < int16 < int32 < int64 < float32 < float64.
inline Dtype promote(Dtype a, Dtype b) {
  if (a == b) return a;
  if ((a == Dtype::uint8 && b == Dtype::int8) || (a == Dtype::int8 && b == Dtype::uint8)) return Dtype::int16;
  if (a == Dtype::boolean) return b;
  if (b == Dtype::boolean) return a;
  return a < b ? b : a;
}

// Conversion of one element. A float outside the range of an integer has no defined result in C++; the lowest number is ours.
template <class To, class From>
To cast(From value) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (!(value >= -9.2233720368547758e18 && value < 9.2233720368547758e18))
      return static_cast<To>(std::numeric_limits<std::int64_t>::min());
    return static_cast<To>(static_cast<std::int64_t>(value));
  } else if constexpr (std::is_same_v<From, Boolean>) {
    return To(bool(value));
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace torchscript

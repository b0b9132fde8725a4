// Whole numbers of 64 bits, for which C++ leaves open what is too large and what is divided by zero.
//
// `plus`, `minus` and `times` wrap around, as PyTorch's do; quotients round towards minus infinity, as Python's do; and `room_for` is
// asked before memory is: how many things there are, and how large each is, may come from a file that was made to harm. It mirrors
// c10/util/safe_numerics.h and the checks of aten/src/ATen/EmptyTensor.cpp.
//
// How the real one differs: it asks the operating system for whatever a model wants.
#pragma once

#include <cstddef>
#include <cstdint>

#include "error.h"

namespace torchscript {

inline std::int64_t wrapping(std::uint64_t v) { return static_cast<std::int64_t>(v); }
inline std::int64_t plus(std::int64_t a, std::int64_t b) { return wrapping(std::uint64_t(a) + std::uint64_t(b)); }
inline std::int64_t minus(std::int64_t a, std::int64_t b) { return wrapping(std::uint64_t(a) - std::uint64_t(b)); }
inline std::int64_t times(std::int64_t a, std::int64_t b) { return wrapping(std::uint64_t(a) * std::uint64_t(b)); }

inline std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  check(b != 0, "ZeroDivisionError: integer division or modulo by zero");
  if (b == -1) return minus(0, a);
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}
inline std::int64_t remainder(std::int64_t a, std::int64_t b) {
  check(b != 0, "ZeroDivisionError: integer division or modulo by zero");
  if (b == -1) return 0;
  const std::int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
inline std::int64_t power(std::int64_t a, std::int64_t b) {
  if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
  std::int64_t result = 1;
  for (; b > 0; b >>= 1, a = times(a, a))
    if (b & 1) result = times(result, a);
  return result;
}

// What one value may take, a tensor, a list or a string, in bytes. A program may set it before it loads a model.
inline std::int64_t most_bytes = std::int64_t(1) << 32;

// n, as the number of things of `size` bytes that one value shall hold.
inline std::size_t room_for(std::int64_t n, std::int64_t size = 1) {
  check(n >= 0 && n <= most_bytes / size, "a value of ", n, " times ", size, " bytes is more than the ", most_bytes,
        " bytes that one may have (torchscript::most_bytes)");
  return static_cast<std::size_t>(n);
}

}  // namespace torchscript

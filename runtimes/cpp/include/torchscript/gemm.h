// Multiplying matrices: C += A B, in blocks that fit the caches.
//
// The straightforward triple loop waits for memory most of the time. So B is copied ("packed") in panels 16 columns wide and A
// in panels 6 rows high, each laid out in the order it will be read, and the kernel computes a 6 x 16 tile of C in registers:
// each number that is fetched takes part in many multiplications. With GCC and Clang a row of the tile is a vector. It mirrors
// what aten/src/ATen/native/CPUBlas.cpp gets from a BLAS library (MKL, OpenBLAS).
//
// How the real one differs: those kernels are written in assembly for each processor, and use several threads.
#pragma once

#include "tensor.h"

namespace torchscript {

template <class T>
class Gemm {
 public:
  // A is m x k, B is k x n, C is m x n; the strides of A and B are free, rows of C are contiguous and ldc apart.
  struct Matrix {
    const T* data;
    std::int64_t row_stride, column_stride;
    T at(std::int64_t i, std::int64_t j) const { return data[i * row_stride + j * column_stride]; }
  };

  static void add(std::int64_t m, std::int64_t n, std::int64_t k, Matrix a, Matrix b, T* c, std::int64_t ldc) {
    std::vector<T> packed_a, packed_b;
    for (std::int64_t p = 0; p < k; p += depth) {
      const std::int64_t kb = std::min(depth, k - p);
      for (std::int64_t j = 0; j < n; j += width) {
        const std::int64_t nb = std::min(width, n - j);
        pack<columns>(packed_b, nb, kb, [&](std::int64_t column, std::int64_t i) { return b.at(p + i, j + column); });
        for (std::int64_t i = 0; i < m; i += height) {
          const std::int64_t mb = std::min(height, m - i);
          pack<rows>(packed_a, mb, kb, [&](std::int64_t row, std::int64_t l) { return a.at(i + row, p + l); });
          multiply_block(mb, nb, kb, packed_a.data(), packed_b.data(), c + i * ldc + j, ldc);
        }
      }
    }
  }

 private:
  static constexpr std::int64_t rows = 6, columns = 64 / sizeof(T);      // the tile in registers
  static constexpr std::int64_t depth = 256, height = 96, width = 1024;  // the blocks in the caches

  // Panels of N lines, one number of each line after the other; missing lines are zeros.
  template <std::int64_t N, class Get>
  static void pack(std::vector<T>& out, std::int64_t lines, std::int64_t k, Get get) {
    out.resize(std::size_t((lines + N - 1) / N * N * k));
    T* to = out.data();
    for (std::int64_t first = 0; first < lines; first += N) {
      const std::int64_t present = std::min(N, lines - first);
      for (std::int64_t i = 0; i < k; ++i) {
        for (std::int64_t line = 0; line < present; ++line) *to++ = get(first + line, i);
        for (std::int64_t line = present; line < N; ++line) *to++ = 0;
      }
    }
  }

  static void multiply_block(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, const T* b, T* c,
                             std::int64_t ldc) {
    for (std::int64_t j = 0; j < n; j += columns)
      for (std::int64_t i = 0; i < m; i += rows)
        multiply_tile(k, a + i * k, b + j * k, c + i * ldc + j, ldc, std::min(rows, m - i), std::min(columns, n - j));
  }

  static void multiply_tile(std::int64_t k, const T* a, const T* b, T* c, std::int64_t ldc, std::int64_t m,
                            std::int64_t n) {
    alignas(64) T tile[rows][columns];
#if defined(__GNUC__)
    typedef T Line
        __attribute__((vector_size(64)));  // one row of the tile; the compiler maps it to the registers there are
    Line sums[rows] = {};
    for (std::int64_t p = 0; p < k; ++p, a += rows, b += columns) {
      Line line;
      std::memcpy(&line, b, sizeof line);
      sums[0] += line * a[0];  // written out, so that all six stay in registers
      sums[1] += line * a[1];
      sums[2] += line * a[2];
      sums[3] += line * a[3];
      sums[4] += line * a[4];
      sums[5] += line * a[5];
    }
    std::memcpy(tile, sums, sizeof tile);
#else
    std::fill_n(&tile[0][0], rows * columns, T(0));
    for (std::int64_t p = 0; p < k; ++p, a += rows, b += columns)
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j) tile[i][j] += a[i] * b[j];
#endif
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) c[i * ldc + j] += tile[i][j];
  }
};

}  // namespace torchscript

/**
 * The matrix product on flat arrays, blocked for the caches: C = A B (BLAS's gemm; the blocking is Goto's and BLIS's).
 *
 * B is cut into blocks of BLOCK_K rows by BLOCK_N columns that stay in the cache, and packed into strips of 4 columns; of A, 4 rows
 * at a time are packed alike. The innermost loop then reads both in order and keeps a 4 by 4 tile of C in 16 local variables. Sums
 * are doubles: JavaScript computes in double precision anyway, and so packing converts float32 only once.
 *
 * How the real one differs: MKL's kernels use SIMD registers, several threads, and float32 sums. There is no SIMD in JavaScript.
 */
"use strict";

const BLOCK_K = 256;
const BLOCK_N = 512;

/**
 * c[m, n] += a[m, k] b[k, n], row-major and contiguous, from the given offsets.
 * @param {Float32Array|Float64Array} c
 */
function gemm(m, n, k, a, aAt, b, bAt, c, cAt) {
  const stripB = new Float64Array(Math.min(BLOCK_K, k) * Math.min(BLOCK_N, (n + 3) & ~3));
  const stripA = new Float64Array(4 * Math.min(BLOCK_K, k));
  const tile = new Float64Array(16);
  for (let k0 = 0; k0 < k; k0 += BLOCK_K) {
    const depth = Math.min(BLOCK_K, k - k0);
    for (let n0 = 0; n0 < n; n0 += BLOCK_N) {
      const width = Math.min(BLOCK_N, n - n0);
      packColumns(b, bAt + k0 * n + n0, n, depth, width, stripB);
      for (let i = 0; i < m; i += 4) {
        const rows = Math.min(4, m - i);
        packRows(a, aAt + i * k + k0, k, depth, rows, stripA);
        for (let j = 0; j < width; j += 4) {
          multiplyTile(stripA, stripB, j * depth, depth, tile);
          addTile(tile, c, cAt + i * n + n0 + j, n, rows, Math.min(4, width - j));
        }
      }
    }
  }
}

/** Strips of 4 columns, one after the other, each in the order in which the kernel reads it; missing columns are zeros. */
function packColumns(b, from, stride, depth, width, strip) {
  let at = 0;
  for (let j = 0; j < width; j += 4) {
    const columns = Math.min(4, width - j);
    for (let p = 0; p < depth; p++) {
      const row = from + p * stride + j;
      for (let q = 0; q < 4; q++) strip[at++] = q < columns ? b[row + q] : 0;
    }
  }
}

function packRows(a, from, stride, depth, rows, strip) {
  for (let q = 0; q < 4; q++) {
    const row = from + q * stride;
    if (q < rows) for (let p = 0; p < depth; p++) strip[p * 4 + q] = a[row + p];
    else for (let p = 0; p < depth; p++) strip[p * 4 + q] = 0;
  }
}

// prettier-ignore
/** tile = (4 by depth) times (depth by 4) */
function multiplyTile(a, b, bAt, depth, tile) {
  let c00 = 0, c01 = 0, c02 = 0, c03 = 0;
  let c10 = 0, c11 = 0, c12 = 0, c13 = 0;
  let c20 = 0, c21 = 0, c22 = 0, c23 = 0;
  let c30 = 0, c31 = 0, c32 = 0, c33 = 0;
  for (let p = 0, i = 0, j = bAt; p < depth; p++, i += 4, j += 4) {
    const b0 = b[j], b1 = b[j + 1], b2 = b[j + 2], b3 = b[j + 3];
    const a0 = a[i], a1 = a[i + 1], a2 = a[i + 2], a3 = a[i + 3];
    c00 += a0 * b0; c01 += a0 * b1; c02 += a0 * b2; c03 += a0 * b3;
    c10 += a1 * b0; c11 += a1 * b1; c12 += a1 * b2; c13 += a1 * b3;
    c20 += a2 * b0; c21 += a2 * b1; c22 += a2 * b2; c23 += a2 * b3;
    c30 += a3 * b0; c31 += a3 * b1; c32 += a3 * b2; c33 += a3 * b3;
  }
  tile[0] = c00; tile[1] = c01; tile[2] = c02; tile[3] = c03;
  tile[4] = c10; tile[5] = c11; tile[6] = c12; tile[7] = c13;
  tile[8] = c20; tile[9] = c21; tile[10] = c22; tile[11] = c23;
  tile[12] = c30; tile[13] = c31; tile[14] = c32; tile[15] = c33;
}

function addTile(tile, c, at, stride, rows, columns) {
  for (let q = 0; q < rows; q++) {
    for (let r = 0; r < columns; r++) c[at + q * stride + r] += tile[q * 4 + r];
  }
}

module.exports = { gemm };

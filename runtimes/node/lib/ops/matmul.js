/**
 * Products of vectors, matrices and stacks of matrices (`aten/src/ATen/native/LinearAlgebra.cpp`, `Linear.cpp`).
 *
 * Everything comes down to `bmm`, stacks of matrices, which calls the blocked product for floating point and a plain triple loop for
 * integers. `matmul` decides by the number of dimensions, and broadcasts the leading ones.
 *
 * How the real one differs: transposed operands go to BLAS as they are; here they are copied into row-major order first.
 */
"use strict";

const { Tensor, flat } = require("../tensor/tensor");
const { op } = require("../script/operators");
const { broadcast, numel, text } = require("../tensor/geometry");
const { add, multiply } = require("./binary");
const { gemm } = require("./gemm");

/** [b, m, k] times [b, k, n] */
function bmm(a, b) {
  if (a.dtype !== b.dtype)
    throw new TypeError(`expected m1 and m2 to have the same dtype, but got: ${a.dtype.name} != ${b.dtype.name}`);
  const [batches, m, k] = a.sizes;
  const n = b.sizes[2];
  if (b.sizes[0] !== batches || b.sizes[1] !== k) {
    throw new RangeError(`mat1 and mat2 shapes cannot be multiplied (${m}x${k} and ${b.sizes[1]}x${n})`);
  }
  const c = Tensor.zeros([batches, m, n], a.dtype);
  const [x, y, z] = [flat(a), flat(b), c.storage.array];
  const product = a.dtype.category === 2 ? gemm : plainProduct;
  for (let i = 0; i < batches; i++) product(m, n, k, x, i * m * k, y, i * k * n, z, i * m * n);
  return c;
}

/** The same for integers, whose sums must wrap and not round. */
function plainProduct(m, n, k, a, aAt, b, bAt, c, cAt) {
  for (let i = 0; i < m; i++) {
    for (let p = 0; p < k; p++) {
      for (let j = 0; j < n; j++) c[cAt + i * n + j] += a[aAt + i * k + p] * b[bAt + p * n + j];
    }
  }
}

function mm(a, b) {
  if (a.dim !== 2 || b.dim !== 2) throw new RangeError("self must be a matrix");
  return bmm(a.reshape([1, ...a.sizes]), b.reshape([1, ...b.sizes])).reshape([a.sizes[0], b.sizes[1]]);
}

function matmul(a, b) {
  if (a.dim === 0 || b.dim === 0) {
    throw new RangeError(`both arguments to matmul need to be at least 1D, but they are ${a.dim}D and ${b.dim}D`);
  }
  const left = a.dim === 1 ? a.reshape([1, a.sizes[0]]) : a;
  const right = b.dim === 1 ? b.reshape([b.sizes[0], 1]) : b;
  const [m, k] = left.sizes.slice(-2);
  const [k2, n] = right.sizes.slice(-2);
  if (k !== k2) throw new RangeError(`mat1 and mat2 shapes cannot be multiplied (${m}x${k} and ${k2}x${n})`);
  let product;
  let batch = left.sizes.slice(0, -2);
  if (right.dim === 2) {
    product = mm(left.reshape([numel(batch) * m, k]), right); // rows of all matrices at once
  } else {
    batch = broadcast(batch, right.sizes.slice(0, -2));
    const stack = (t) => t.expand([...batch, ...t.sizes.slice(-2)]).reshape([numel(batch), ...t.sizes.slice(-2)]);
    product = bmm(stack(left), stack(right));
  }
  const sizes = [...batch];
  if (a.dim > 1) sizes.push(m);
  if (b.dim > 1) sizes.push(n);
  return product.reshape(sizes);
}

function linear(x, weight, bias) {
  const k = weight.sizes[weight.dim - 1];
  if (x.sizes[x.dim - 1] !== k) {
    throw new RangeError(
      `mat1 and mat2 shapes cannot be multiplied (${numel(x.sizes.slice(0, -1))}x${x.sizes[x.dim - 1]} and ${k}x${weight.sizes[0]})`,
    );
  }
  const product = matmul(x, weight.dim === 1 ? weight : weight.transpose(0, 1));
  return bias === null ? product : add(product, bias);
}

/** beta * self + alpha * product */
function combined(self, product, beta, alpha) {
  if (product.dtype.category < 2 && [beta, alpha].some((x) => !Number.isInteger(Number(x))))
    throw new TypeError("For integral input tensors, alpha and beta must not be floating point numbers.");
  const times = (t, x) => {
    if (Number(x) === 0) return Tensor.zeros(t.sizes, t.dtype); // what a factor of 0 leaves out may be NaN
    return Number(x) === 1 ? t : multiply(t, t.dtype.category < 2 ? BigInt(Number(x)) : Number(x));
  };
  return add(times(product, alpha), times(self, beta));
}

op("matmul(Tensor self, Tensor other)", matmul);
op("linear(Tensor input, Tensor weight, Tensor? bias=None)", linear);
op("mm(Tensor self, Tensor mat2)", mm);
op("bmm(Tensor self, Tensor mat2)", (a, b) => {
  if (a.dim !== 3 || b.dim !== 3) throw new RangeError(`batch1 must be a 3D tensor, got ${text(a.sizes)} and ${text(b.sizes)}`);
  return bmm(a, b);
});
op("mv(Tensor self, Tensor vec)", matmul);
op("dot(Tensor self, Tensor tensor)", (a, b) => {
  if (a.dim !== 1 || b.dim !== 1) throw new RangeError(`1D tensors expected, but got ${a.dim}D and ${b.dim}D tensors`);
  return matmul(a, b);
});
op("outer(Tensor self, Tensor vec2)", (a, b) => multiply(a.reshape([a.numel, 1]), b));
op("ger(Tensor self, Tensor vec2)", (a, b) => multiply(a.reshape([a.numel, 1]), b));
op("addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1)", (self, a, b, beta, alpha) =>
  combined(self, mm(a, b), beta, alpha),
);
op("addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1)", (self, a, b, beta, alpha) =>
  combined(self, matmul(a, b), beta, alpha),
);
op("baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1)", (self, a, b, beta, alpha) =>
  combined(self, bmm(a, b), beta, alpha),
);

module.exports = { matmul, linear, mm, bmm };

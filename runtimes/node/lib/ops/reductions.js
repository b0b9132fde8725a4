/**
 * Many elements to one: sums, means, extrema, norms (`aten/src/ATen/native/ReduceOps.cpp`).
 *
 * Sums are accumulated in double precision, or in BigInt for integers. `max` and `min` along a dimension also say where; among equal
 * elements the first wins, and NaN beats every number.
 *
 * How the real one differs: float32 sums are accumulated in float32, pairwise; reductions are vectorised and parallel.
 */
"use strict";

const dt = require("../tensor/dtype");
const { op } = require("../script/operators");
const { Tuple } = require("../script/values");
const { floating } = require("../tensor/compute");
const { reduce, mapRows } = require("./rows");

const sumKernel = (zero) => (values, start, length) => {
  let sum = zero;
  for (let i = start; i < start + length; i++) sum += values[i];
  return sum;
};

function sum(t, dims, keepdim = false, dtype = null) {
  const type = dtype || (t.dtype.category < 2 ? dt.int64 : t.dtype);
  return reduce(t, dims, keepdim, type, type, sumKernel(type === dt.int64 ? 0n : 0));
}

function mean(t, dims, keepdim = false, dtype = null) {
  const type = dtype || t.dtype;
  if (type.category < 2)
    throw new TypeError(
      `mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: ${type.legacy}`,
    );
  return reduce(t, dims, keepdim, type, type, (values, start, length) => sumKernel(0)(values, start, length) / length);
}

function prod(t, dims, keepdim = false, dtype = null) {
  const type = dtype || (t.dtype.category < 2 ? dt.int64 : t.dtype);
  return reduce(t, dims, keepdim, type, type, (values, start, length) => {
    let product = type === dt.int64 ? 1n : 1;
    for (let i = start; i < start + length; i++) product *= values[i];
    return product;
  });
}

/** Mean and sum of squared distances from it, of one row. */
function moments(values, start, length) {
  const average = sumKernel(0)(values, start, length) / length;
  let squares = 0;
  for (let i = start; i < start + length; i++) squares += (values[i] - average) ** 2;
  return [average, squares];
}

function variance(t, dims, correction, keepdim, finish = (x) => x) {
  if (t.dtype.category < 2) throw new TypeError("std and var only support floating point and complex dtypes");
  const kernel = (values, start, length) => finish(moments(values, start, length)[1] / Math.max(0, length - correction));
  return reduce(t, dims, keepdim, t.dtype, t.dtype, kernel);
}

op("sum(Tensor self, *, ScalarType? dtype=None)", (t, dtype) => sum(t, null, false, dtype));
op("sum(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None)", sum);
op("mean(Tensor self, *, ScalarType? dtype=None)", (t, dtype) => mean(t, null, false, dtype));
op("mean(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None)", mean);
op("prod(Tensor self, *, ScalarType? dtype=None)", (t, dtype) => prod(t, null, false, dtype));
op("prod(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None)", (t, dim, keepdim, dtype) =>
  prod(t, [dim], keepdim, dtype),
);

for (const [name, finish] of [
  ["var", (x) => x],
  ["std", Math.sqrt],
]) {
  op(`${name}(Tensor self, bool unbiased=True)`, (t, unbiased) => variance(t, null, unbiased ? 1 : 0, false, finish));
  op(`${name}(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False)`, (t, dim, unbiased, keepdim) =>
    variance(t, dim, unbiased ? 1 : 0, keepdim, finish),
  );
  op(`${name}(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False)`, (t, dim, correction, keepdim) =>
    variance(t, dim, correction === null ? 1 : Number(correction), keepdim, finish),
  );
}

op("var_mean(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False)", (t, dim, correction, keepdim) =>
  Tuple.of(variance(t, dim, correction === null ? 1 : Number(correction), keepdim), mean(t, dim, keepdim)),
);

/** Where the extreme element of a row is: `wins(a, b)` says that a replaces b. */
const extremum = (wins) => (values, start, length) => {
  let best = start;
  for (let i = start + 1; i < start + length; i++) {
    if (Number.isNaN(values[best])) break;
    if (wins(values[i], values[best]) || Number.isNaN(values[i])) best = i;
  }
  return best;
};

for (const [name, wins] of [
  ["max", (a, b) => a > b],
  ["min", (a, b) => a < b],
]) {
  const where = extremum(wins);
  const whole = (t, dims, keepdim) =>
    reduce(nonempty(t, name), dims, keepdim, t.dtype, t.dtype, (v, start, n) => v[where(v, start, n)]);
  op(`${name}(Tensor self)`, (t) => whole(t, null, false));
  op(`a${name}(Tensor self, int[1] dim=[], bool keepdim=False)`, whole);
  op(`${name}(Tensor self, int dim, bool keepdim=False)`, (t, dim, keepdim) =>
    Tuple.of(
      whole(t, [dim], keepdim),
      reduce(t, [dim], keepdim, t.dtype, dt.int64, (v, start, n) => BigInt(where(v, start, n) - start)),
    ),
  );
  op(`arg${name}(Tensor self, int? dim=None, bool keepdim=False)`, (t, dim, keepdim) =>
    reduce(nonempty(t, `arg${name}`), dim === null ? null : [dim], keepdim, t.dtype, dt.int64, (v, start, n) =>
      BigInt(where(v, start, n) - start),
    ),
  );
}

function nonempty(t, name) {
  if (t.numel === 0)
    throw new RangeError(
      `${name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.`,
    );
  return t;
}

for (const [name, test] of [
  ["any", (v, a, n) => v.subarray(a, a + n).some(Boolean)],
  ["all", (v, a, n) => v.subarray(a, a + n).every(Boolean)],
]) {
  const run = (t, dims, keepdim = false) => reduce(t, dims, keepdim, t.dtype, t.dtype === dt.uint8 ? dt.uint8 : dt.bool, test);
  op(`${name}(Tensor self)`, (t) => run(t, null));
  op(`${name}(Tensor self, int dim, bool keepdim=False)`, (t, dim, keepdim) => run(t, [dim], keepdim));
  op(`${name}(Tensor self, int[]? dim=None, bool keepdim=False)`, run);
}

op("count_nonzero(Tensor self, int? dim=None)", (t, dim) =>
  reduce(t, dim === null ? null : [dim], false, t.dtype, dt.int64, (v, a, n) =>
    BigInt(v.subarray(a, a + n).filter((x) => x != 0).length), // eslint-disable-line eqeqeq -- 0n too, and NaN is none
  ),
);

function logsumexp(t, dims, keepdim) {
  return reduce(t, dims, keepdim, floating(t.dtype), floating(t.dtype), (values, start, length) => {
    let largest = -Infinity;
    for (let i = start; i < start + length; i++) largest = Math.max(largest, values[i]);
    if (!Number.isFinite(largest)) return largest;
    let total = 0;
    for (let i = start; i < start + length; i++) total += Math.exp(values[i] - largest);
    return largest + Math.log(total);
  });
}

op("logsumexp(Tensor self, int[1] dim, bool keepdim=False)", logsumexp);

/** The p-norm of rows: `inf` is the largest absolute value, 0 counts what is not zero. */
function norm(t, p, dims, keepdim, dtype) {
  const type = dtype || t.dtype;
  return reduce(t, dims, keepdim, type, type, (values, start, length) => {
    let total = p === -Infinity ? Infinity : 0;
    for (let i = start; i < start + length; i++) {
      const x = Math.abs(values[i]);
      if (p === Infinity) total = Math.max(total, x);
      else if (p === -Infinity) total = Math.min(total, x);
      else if (p === 0) total += x !== 0 ? 1 : 0;
      else total += p === 2 ? x * x : x ** p;
    }
    return p === 2 ? Math.sqrt(total) : Number.isFinite(p) && p !== 0 ? total ** (1 / p) : total;
  });
}

op("norm(Tensor self, Scalar p=2)", (t, p) => norm(t, Number(p), null, false, null));
op("norm(Tensor self, Scalar? p, int[1] dim, bool keepdim=False)", (t, p, dim, keepdim) =>
  norm(t, p === null ? 2 : Number(p), dim, keepdim, null),
);
op("norm(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype)", (t, p, dim, keepdim, dtype) =>
  norm(t, p === null ? 2 : Number(p), dim, keepdim, dtype),
);
op(
  "linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)",
  (t, ord, dim, keepdim, dtype) => norm(t, Number(ord), dim, keepdim, dtype),
);

for (const [name, start, step] of [
  ["cumsum", 0, (a, b) => a + b],
  ["cumprod", 1, (a, b) => a * b],
]) {
  op(`${name}(Tensor self, int dim, *, ScalarType? dtype=None)`, (t, dim, dtype) => {
    const type = dtype || (t.dtype.category < 2 ? dt.int64 : t.dtype);
    return running(t, dim, type, type === dt.int64 ? BigInt(start) : start, step);
  });
}

function running(t, dim, type, initial, step) {
  const kernel = (values, start, length, [out], at) => {
    let total = initial;
    for (let i = 0; i < length; i++) out[at + i] = total = step(total, values[start + i]);
  };
  return mapRows(t, dim, type, [type], kernel)[0];
}

module.exports = { sum, mean, moments };

/**
 * Tensors as rows along one or several dimensions, which is how reductions, softmax and sorting work on them.
 *
 * The dimensions in question are moved to the end and the rest flattened: then each row is a contiguous piece of an array, and what
 * comes out is moved back. (`aten/src/ATen/native/ReduceOpsUtils.h` prepares reductions; kernels there walk strides instead.)
 *
 * How the real one differs: nothing is moved; a reduction is a TensorIterator whose output has stride 0 along reduced dimensions.
 */
"use strict";

const { Tensor, flat } = require("../tensor/tensor");
const { wrapDim, numel } = require("../tensor/geometry");

/** Distinct wrapped dimensions; none or an empty list means all of them. */
function whichDims(dims, rank) {
  if (dims === null || dims === undefined || dims.length === 0) return Array.from({ length: rank }, (_, d) => d);
  const wrapped = dims.map((d) => wrapDim(d, rank)).filter((d) => d < rank);
  const twice = wrapped.find((d, i) => wrapped.indexOf(d) !== i);
  if (twice !== undefined) throw new RangeError(`dim ${twice} appears multiple times in the list of dims`);
  return wrapped;
}

/**
 * Rows along `dims` as `type`: the values, how many rows, how long each.
 * @returns {{values: any, rows: number, length: number, kept: number[], dims: number[]}}
 */
function rowsAlong(t, dims, type = t.dtype) {
  const kept = t.sizes.map((_, d) => d).filter((d) => !dims.includes(d));
  const moved = t.permute([...kept, ...dims.slice().sort((a, b) => a - b)]);
  const length = numel(dims.map((d) => t.sizes[d]));
  return { values: flat(moved, type), rows: numel(kept.map((d) => t.sizes[d])), length, kept, dims };
}

/** One result per row: `kernel(values, start, length)`. */
function reduce(t, dims, keepdim, type, result, kernel) {
  const over = whichDims(dims, t.dim);
  const { values, rows, length } = rowsAlong(t, over, type);
  const out = result.make(rows);
  for (let r = 0; r < rows; r++) out[r] = kernel(values, r * length, length);
  return Tensor.of(out, result, reducedSizes(t.sizes, over, keepdim));
}

function reducedSizes(sizes, dims, keepdim) {
  if (keepdim) return sizes.map((n, d) => (dims.includes(d) ? 1 : n));
  return sizes.filter((_, d) => !dims.includes(d));
}

/** A row of results per row: `kernel(values, start, length, out, outStart)` fills `outLength` of them. */
function mapRows(t, dim, type, results, kernel, outLength = t.dim ? t.sizes[wrapDim(dim, t.dim)] : 1) {
  if (t.dim === 0) return mapRows(t.reshape([1]), wrapDim(dim, 0), type, results, kernel, outLength).map((r) => r.reshape([]));
  const d = wrapDim(dim, t.dim);
  const { values, rows, length, kept } = rowsAlong(t, [d], type);
  const outs = results.map((dtype) => dtype.make(rows * outLength));
  for (let r = 0; r < rows; r++) kernel(values, r * length, length, outs, r * outLength);
  const sizes = [...kept.map((k) => t.sizes[k]), outLength];
  const back = t.sizes.map((_, k) => (k === d ? t.dim - 1 : k < d ? k : k - 1));
  return outs.map((out, i) => Tensor.of(out, results[i], sizes).permute(back));
}

module.exports = { whichDims, rowsAlong, reduce, reducedSizes, mapRows };

/**
 * Element-by-element computation: result dtypes, broadcasting, and the loops (`aten/src/ATen/TensorIterator.cpp`,
 * `aten/src/ATen/native/TypeProperties.cpp`).
 *
 * An operand is a tensor or a plain number. Operands are brought to one dtype and one list of sizes; then a kernel, a function of
 * two elements, runs over flat arrays. Kernels written with operators only (`a + b`) serve numbers and BigInts alike.
 *
 * How the real one differs: TensorIterator coalesces dimensions and walks strides without copying, in parallel, with SIMD kernels.
 */
"use strict";

const dt = require("./dtype");
const { Tensor, flat } = require("./tensor");
const { broadcast, numel } = require("./geometry");

/** @typedef {Tensor|number|bigint|boolean} Operand */

const scalarType = (x) => (typeof x === "boolean" ? dt.bool : typeof x === "bigint" ? dt.int64 : dt.float32);

/**
 * The dtype that operands compute in: tensors with dimensions come before 0-dimensional ones, and those before numbers. A number may
 * have become a tensor in a trace, where `x + 1.5` adds a constant: such a tensor counts as the number it was (`isNumber`).
 */
function resultType(...operands) {
  const ranks = [null, null, null];
  for (const x of operands) {
    const number = !(x instanceof Tensor) || x.isNumber;
    const rank = number ? 2 : x.dim > 0 ? 0 : 1;
    const type = number ? scalarType(x instanceof Tensor ? x.item() : x) : x.dtype;
    ranks[rank] = ranks[rank] ? dt.promote(ranks[rank], type) : type;
  }
  return combine(combine(ranks[0], ranks[1]), ranks[2]);
}

/** A lower rank counts only if its category is higher: an int64 tensor plus 1.5 is float32, a float32 one plus a float64 scalar stays. */
function combine(higher, lower) {
  if (!higher || !lower) return higher || lower;
  return lower.category > higher.category ? dt.promote(higher, lower) : higher;
}

/** `type` itself if it is floating, otherwise the default dtype. */
const floating = (type) => (type.category === 2 ? type : dt.float32);

const sizesOf = (x) => (x instanceof Tensor ? x.sizes : []);

/** The elements of an operand, and 1 or 0: how far to step for each result. */
function source(x, sizes, type) {
  if (!(x instanceof Tensor)) return [[dt.cast(x, type)], 0];
  if (x.numel === 1) return [flat(x, type), 0];
  return [flat(x.sizes === sizes ? x : x.expand(sizes), type), 1];
}

/**
 * Applies `kernel` to pairs of elements.
 * @param {Operand} a
 * @param {Operand} b
 * @param {(a: any, b: any) => any} kernel
 * @param {dt.DType} [type]  to compute in
 * @param {dt.DType} [result]  of the result
 */
function binary(a, b, kernel, type = resultType(a, b), result = type) {
  const sizes = broadcast(sizesOf(a), sizesOf(b));
  const n = numel(sizes);
  const [x, dx] = source(a, sizes, type);
  const [y, dy] = source(b, sizes, type);
  const out = result.make(n);
  for (let i = 0, j = 0, k = 0; i < n; i++, j += dx, k += dy) out[i] = kernel(x[j], y[k]);
  return Tensor.of(out, result, sizes);
}

/** Applies `kernel` to every element. */
function unary(t, kernel, type = t.dtype, result = type) {
  const x = flat(t, type);
  const out = result.make(x.length);
  for (let i = 0; i < x.length; i++) out[i] = kernel(x[i]);
  return Tensor.of(out, result, t.sizes);
}

/** Picks the kernel for numbers or the one for BigInts. */
const exactly = (type, numbers, bigints) => (type === dt.int64 ? bigints : numbers);

/** Writes a fresh result into `self`, which must be able to hold its category and its sizes. */
function into(self, result) {
  if (result.dtype.category > self.dtype.category) {
    throw new TypeError(`result type ${result.dtype.legacy} can't be cast to the desired output type ${self.dtype.legacy}`);
  }
  if (result.sizes.join() !== self.sizes.join()) {
    throw new RangeError(
      `output with shape [${self.sizes.join(", ")}] doesn't match the broadcast shape [${result.sizes.join(", ")}]`,
    );
  }
  return self.copy_(result);
}

module.exports = { resultType, floating, binary, unary, exactly, into, scalarType };

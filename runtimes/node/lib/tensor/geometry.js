/**
 * Sizes, strides and dimensions (`aten/src/ATen/ExpandUtils.h`, `c10/core/WrapDimMinimal.h`).
 *
 * Nothing here touches elements: these functions only compute with lists of numbers.
 *
 * How the real one differs: sizes may be symbolic, and memory formats such as channels-last have their own notion of contiguous.
 */
"use strict";

/** How many elements these sizes have. */
const numel = (sizes) => sizes.reduce((a, b) => a * b, 1);

/** Strides of a row-major tensor. */
function contiguousStrides(sizes) {
  const strides = new Array(sizes.length);
  for (let d = sizes.length - 1, s = 1; d >= 0; d--) {
    strides[d] = s;
    s *= Math.max(sizes[d], 1);
  }
  return strides;
}

/** Whether elements lie one after the other in row-major order. */
function isContiguous(sizes, strides) {
  for (let d = sizes.length - 1, s = 1; d >= 0; d--) {
    if (sizes[d] === 0) return true;
    if (sizes[d] !== 1 && strides[d] !== s) return false;
    s *= sizes[d];
  }
  return true;
}

/** A dimension counted from the front: -1 is the last. */
function wrapDim(dim, rank) {
  const n = Math.max(rank, 1);
  if (dim < -n || dim >= n) {
    throw new RangeError(`Dimension out of range (expected to be in range of [${-n}, ${n - 1}], but got ${dim})`);
  }
  return dim < 0 ? dim + n : dim;
}

/** The sizes that all of these expand to; missing leading dimensions and dimensions of size 1 stretch. */
function broadcast(...shapes) {
  const rank = Math.max(0, ...shapes.map((s) => s.length));
  const result = new Array(rank).fill(1);
  for (const shape of shapes) {
    shape.forEach((n, i) => {
      const d = rank - shape.length + i;
      if (n !== 1 && result[d] !== 1 && n !== result[d]) {
        throw new RangeError(
          `The size of tensor a (${result[d]}) must match the size of tensor b (${n}) at non-singleton dimension ${d}`,
        );
      }
      if (n !== 1) result[d] = n;
    });
  }
  return result;
}

/** Sizes with their one -1 replaced by what makes `total` elements. */
function inferSizes(sizes, total) {
  const holes = sizes.filter((n) => n === -1).length;
  const known = numel(sizes.filter((n) => n !== -1));
  const fits = holes === 0 ? known === total : known > 0 && total % known === 0;
  if (holes > 1) throw new RangeError("only one dimension can be inferred");
  if (holes === 1 && known === 0 && total === 0) {
    throw new RangeError(
      `cannot reshape tensor of 0 elements into shape ${text(sizes)} because the unspecified dimension size -1 can be any value and is ambiguous`,
    );
  }
  if (!fits || sizes.some((n) => n < -1)) throw new RangeError(`shape '${text(sizes)}' is invalid for input of size ${total}`);
  return sizes.map((n) => (n === -1 ? total / known : n));
}

/** Strides that show the same elements under new sizes without copying, or null (`computeStride` of TensorUtils.cpp). */
function viewStrides(sizes, strides, wanted) {
  if (numel(sizes) === 0) return contiguousStrides(wanted);
  const result = new Array(wanted.length);
  let d = wanted.length - 1;
  let inChunk = 1; // elements of the run of dimensions that lie evenly in memory
  let base = strides.length ? strides[strides.length - 1] : 1;
  let left = 1;
  for (let s = sizes.length - 1; s >= 0; s--) {
    inChunk *= sizes[s];
    if (s === 0 || (sizes[s - 1] !== 1 && strides[s - 1] !== inChunk * base)) {
      while (d >= 0 && (left < inChunk || wanted[d] === 1)) {
        result[d] = left * base;
        left *= wanted[d];
        d--;
      }
      if (left !== inChunk) return null;
      if (s > 0) base = strides[s - 1];
      inChunk = 1;
      left = 1;
    }
  }
  while (d >= 0) result[d--] = 1;
  return result;
}

/**
 * Throws unless every element lies in a storage of `room` elements. Whatever view an operator computes, this is where it is found
 * out: a typed array answers undefined where it has no element, which would become NaN.
 */
function checkReach(sizes, strides, offset, room) {
  const isPlace = (n) => Number.isSafeInteger(n) && n >= 0;
  if (!sizes.every(isPlace) || !isPlace(offset) || sizes.length !== strides.length || sizes.length > 64)
    throw new RangeError(`sizes ${text(sizes)}, strides ${text(strides)} and offset ${offset} describe no tensor`);
  if (sizes.includes(0)) return;
  const last = sizes.reduce((at, n, d) => (n === 1 ? at : strides[d] >= 0 ? at + (n - 1) * strides[d] : NaN), offset);
  if (!(last < room && numel(sizes) <= 2 ** 46))
    throw new RangeError(`sizes ${text(sizes)}, strides ${text(strides)} and offset ${offset} reach beyond ${room} elements`);
}

/** An expanded tensor has several elements in one place: which of them would a write to it leave there? */
function checkNoOverlap(sizes, strides) {
  if (sizes.some((n, d) => n > 1 && strides[d] === 0))
    throw new RangeError(
      "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please clone() the tensor before performing the operation.",
    );
}

/** `[1, 3, 224, 224]` */
const text = (sizes) => `[${sizes.join(", ")}]`;

module.exports = {
  numel,
  contiguousStrides,
  isContiguous,
  wrapDim,
  broadcast,
  inferSizes,
  viewStrides,
  checkReach,
  checkNoOverlap,
  text,
};

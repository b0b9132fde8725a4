/**
 * Sums over repeated letters: `einsum("ij,kj->ik", [a, b])` (`aten/src/ATen/native/Linear.cpp`).
 *
 * Every operand is spread out over all letters of the equation, in one order; they are multiplied, and the letters that the result
 * does not name are summed away.
 *
 * How the real one differs: it orders the contractions and does each as a batched matrix product, which needs far less memory.
 */
"use strict";

const { op } = require("../script/operators");
const { multiply } = require("./binary");
const { sum } = require("./reductions");

function einsum(equation, tensors) {
  const [left, right] = equation.replace(/\s/g, "").split("->");
  const terms = left.split(",");
  if (equation.includes(".")) throw new RangeError("einsum with ... is not known to this runtime");
  if (terms.length !== tensors.length)
    throw new RangeError("einsum(): more operands were provided than specified in the equation");
  const all = [...new Set(left.replace(/,/g, ""))].sort();
  const once = all.filter((letter) => left.split(letter).length === 2).join("");
  const kept = [...(right === undefined ? once : right)];
  const order = [...kept, ...all.filter((letter) => !kept.includes(letter))];
  const spread = tensors.map((t, i) => spreadOut(t, terms[i], order));
  const product = spread.reduce((a, b) => multiply(a, b));
  const gone = order.slice(kept.length).map((_, i) => kept.length + i);
  return gone.length ? sum(product, gone, false, product.dtype) : product;
}

/** The operand with one dimension per letter of `order`: of size 1 where it has not the letter, a diagonal where it has it twice. */
function spreadOut(t, letters, order) {
  if (letters.length !== t.dim)
    throw new RangeError(`einsum(): the subscripts ${letters} do not match an operand of ${t.dim} dimensions`);
  const along = (letter) => [...letters].map((l, d) => (l === letter ? d : -1)).filter((d) => d >= 0);
  const sizes = order.map((letter) => (along(letter).length ? t.sizes[along(letter)[0]] : 1));
  const strides = order.map((letter) => along(letter).reduce((s, d) => s + t.strides[d], 0));
  return t.asStrided(sizes, strides, t.offset);
}

op("einsum(str equation, Tensor[] tensors, *, int[]? path=None)", einsum);

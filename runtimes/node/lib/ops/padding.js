/**
 * Borders around tensors (`aten/src/ATen/native/PadNd.cpp`).
 *
 * Widths come in pairs from the last dimension backwards: (left, right, top, bottom). Negative widths crop. Every mode is a choice
 * of which element stands at a position outside: a constant, the nearest, the mirrored or the one from the other side.
 *
 * How the real one differs: each mode and number of dimensions has kernels of its own.
 */
"use strict";

const { Tensor } = require("../tensor/tensor");
const { op } = require("../script/operators");

function check(t, widths) {
  if (widths.length % 2) throw new RangeError("Padding length must be divisible by 2");
  if (widths.length > 2 * t.dim)
    throw new RangeError("Length of pad should be no more than twice the number of dimensions of the input");
}

function constantPad(t, widths, value) {
  check(t, widths);
  const sizes = t.sizes.slice();
  let inside = t;
  const place = [];
  for (let i = 0; 2 * i < widths.length; i++) {
    const d = t.dim - 1 - i;
    const [before, after] = [widths[2 * i], widths[2 * i + 1]];
    sizes[d] += before + after;
    inside = inside.slice(d, Math.max(0, -before), t.sizes[d] - Math.max(0, -after));
    place.push([d, Math.max(0, before)]);
  }
  const out = Tensor.full(sizes, value, t.dtype);
  let hole = out;
  for (const [d, start] of place) hole = hole.slice(d, start, start + inside.sizes[d]);
  hole.copy_(inside);
  return out;
}

/** Which element of `n` stands at position `i`, which may be outside. */
const SOURCES = {
  replicate: (i, n) => Math.min(Math.max(i, 0), n - 1),
  reflect: (i, n) => (i < 0 ? -i : i >= n ? 2 * (n - 1) - i : i),
  circular: (i, n) => ((i % n) + n) % n,
};

function pad(t, widths, mode, value) {
  if (mode === "constant") return constantPad(t, widths, value === null ? 0 : value);
  check(t, widths);
  const from = Object.hasOwn(SOURCES, mode) ? SOURCES[mode] : null;
  if (!from) throw new RangeError(`Unrecognised padding mode ${mode}`);
  let out = t;
  for (let i = 0; 2 * i < widths.length; i++) {
    const d = t.dim - 1 - i;
    const n = t.sizes[d];
    if (n === 0) throw new RangeError("Expected an input with elements in the dimensions that are padded");
    if (mode === "circular" && (widths[2 * i] < 0 || widths[2 * i + 1] < 0))
      throw new RangeError("negative circular padding is not known here");
    if (mode === "circular" && Math.max(widths[2 * i], widths[2 * i + 1]) > n)
      throw new RangeError("Padding value causes wrapping around more than once.");
    if (mode === "reflect" && Math.max(widths[2 * i], widths[2 * i + 1]) >= n) {
      throw new RangeError(
        `Padding size should be less than the corresponding input dimension, but got: padding (${widths[2 * i]}, ${widths[2 * i + 1]}) at dimension ${d} of input [${t.sizes.join(", ")}]`,
      );
    }
    const sizes = out.sizes.slice();
    sizes[d] = n + widths[2 * i] + widths[2 * i + 1];
    const next = Tensor.zeros(sizes, t.dtype);
    for (let j = 0; j < sizes[d]; j++) next.select(d, j).copy_(out.select(d, from(j - widths[2 * i], n)));
    out = next;
  }
  return out;
}

op("constant_pad_nd(Tensor self, int[] pad, Scalar value=0)", constantPad);
op('pad(Tensor self, int[] pad, str mode="constant", float? value=None)', pad);

module.exports = { constantPad };

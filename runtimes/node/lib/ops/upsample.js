/**
 * Resizing images (`aten/src/ATen/native/UpSample.h`).
 *
 * Every output pixel looks back at a position in the input: the pixel there (nearest), or a mixture of the two on either side in
 * each direction (linear). Resizing works dimension by dimension, so one, two and three of them are the same code.
 *
 * How the real one differs: one kernel per mode and number of dimensions, bicubic and antialiased ones among them.
 */
"use strict";

const { Tensor } = require("../tensor/tensor");
const { op } = require("../script/operators");
const { add, multiply } = require("./binary");

/** Along `dim`, position i of the result is the sum over `[index, weight]` of what `taps(i)` names. */
function resampled(t, dim, length, taps) {
  const sizes = t.sizes.slice();
  sizes[dim] = length;
  const out = Tensor.zeros(sizes, t.dtype);
  for (let i = 0; i < length; i++) {
    const parts = taps(i).map(([index, weight]) =>
      weight === 1 ? t.select(dim, index) : multiply(t.select(dim, index), weight),
    );
    out.select(dim, i).copy_(parts.reduce((a, b) => add(a, b)));
  }
  return out;
}

/** How far one step in the output goes in the input. */
const ratio = (from, to, scale, corners) => (corners ? (to > 1 ? (from - 1) / (to - 1) : 0) : scale > 0 ? 1 / scale : from / to);

const inside = (i, n) => Math.max(0, Math.min(i, n - 1));

const nearest = (exact) => (n, to, scale) => (i) => [
  [inside(Math.floor((i + (exact ? 0.5 : 0)) * ratio(n, to, scale)), n), 1],
];

const linear = (corners) => (n, to, scale) => (i) => {
  const step = ratio(n, to, scale, corners);
  const at = corners ? i * step : Math.max(0, (i + 0.5) * step - 0.5);
  const low = inside(Math.floor(at), n);
  const high = Math.min(low + 1, n - 1);
  const weight = at - low;
  return weight === 0 || low === high
    ? [[low, 1]]
    : [
        [low, 1 - weight],
        [high, weight],
      ];
};

function resize(t, size, scales, mode) {
  const rank = t.dim - 2;
  const given = size || scales;
  if (rank < 1 || !given || given.length !== rank)
    throw new RangeError(`resizing a tensor of ${t.dim} dimensions takes a size or factor for each but two of them`);
  const lengths = size || scales.map((s, d) => Math.floor(t.sizes[2 + d] * s));
  if (![...t.sizes.slice(2), ...lengths].every((n) => n > 0))
    throw new RangeError("Input and output sizes should be greater than 0");
  let out = t;
  for (let d = 0; d < rank; d++) {
    out = resampled(out, 2 + d, lengths[d], mode(t.sizes[2 + d], lengths[d], scales && scales[d] !== null ? scales[d] : 0));
  }
  return out;
}

function eitherOf(size, scales) {
  if ((size === null) === (scales === null)) throw new RangeError("Must specify exactly one of output_size and scale_factors");
  return [size, scales];
}

const SCALES = { 1: ["scales"], 2: ["scales_h", "scales_w"], 3: ["scales_d", "scales_h", "scales_w"] };

for (const [rank, names] of Object.entries(SCALES)) {
  const each = names.map((name) => `float? ${name}=None`).join(", ");
  for (const [name, exact] of [
    ["upsample_nearest", false],
    ["_upsample_nearest_exact", true],
  ]) {
    op(`${name}${rank}d(Tensor self, int[]? output_size, float[]? scale_factors)`, (t, size, scales) =>
      resize(t, ...eitherOf(size, scales), nearest(exact)),
    );
    op(`${name}${rank}d(Tensor self, int[] output_size, ${each})`, (t, size, ...scales) =>
      resize(t, size, scales, nearest(exact)),
    );
  }
  const name = { 1: "upsample_linear1d", 2: "upsample_bilinear2d", 3: "upsample_trilinear3d" }[rank];
  op(`${name}(Tensor self, int[]? output_size, bool align_corners, float[]? scale_factors)`, (t, size, corners, scales) =>
    resize(t, ...eitherOf(size, scales), linear(corners)),
  );
  op(`${name}(Tensor self, int[] output_size, bool align_corners, ${each})`, (t, size, corners, ...scales) =>
    resize(t, size, scales, linear(corners)),
  );
}

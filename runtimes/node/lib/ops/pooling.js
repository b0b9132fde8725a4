/**
 * Pooling: the largest or the mean of each window (`aten/src/ATen/native/Pool.h`, `AdaptiveAveragePooling.cpp`).
 *
 * A window is a range of rows and a range of columns of one image. Ordinary pooling moves windows of one size; adaptive pooling is
 * given the number of windows and divides the image among them, overlapping where it does not divide evenly.
 *
 * How the real one differs: kernels per memory format, and also three dimensions.
 */
"use strict";

const dt = require("../tensor/dtype");
const { Tensor, flat } = require("../tensor/tensor");
const { op } = require("../script/operators");
const { Tuple } = require("../script/values");
const { text } = require("../tensor/geometry");

/** How many windows of ordinary pooling fit; with ceil_mode the last may hang over, but must begin inside or in the left padding. */
function windows(size, kernel, stride, padding, dilation, ceilMode) {
  const described = [kernel, stride, padding, dilation];
  if (!described.every((n) => Number.isInteger(n) && Math.abs(n) < 2 ** 31)) throw new RangeError(`integer out of range: ${text(described)}`);
  if (kernel < 1 || stride < 1 || dilation < 1)
    throw new RangeError(`kernel, stride and dilation should be greater than zero, but got ${text([kernel, stride, dilation])}`);
  if (padding < 0 || padding > kernel / 2)
    throw new RangeError(`pad should be at most half of effective kernel size, but got pad=${padding}, kernel_size=${kernel}`);
  const room = size + 2 * padding - dilation * (kernel - 1) - 1;
  let n = Math.floor((room + (ceilMode ? stride - 1 : 0)) / stride) + 1;
  if (ceilMode && (n - 1) * stride >= size + padding) n--;
  if (n < 1) throw new RangeError(`pooling: output size is too small for input size ${size} and kernel ${kernel}`);
  return n;
}

/** Applies `kernel(values, imageStart, row, column, out index)` for every output element of every image of the last two dimensions. */
function eachWindow(t, oh, ow, visit) {
  const [h, w] = t.sizes.slice(-2);
  if (!(h > 0 && w > 0)) throw new RangeError(`Expected an input with elements in its last two dimensions, but it has ${text(t.sizes)}`);
  const images = t.sizes.slice(0, -2).reduce((a, b) => a * b, 1);
  const values = flat(t);
  for (let image = 0, at = 0; image < images; image++) {
    for (let i = 0; i < oh; i++) for (let j = 0; j < ow; j++, at++) visit(values, image * h * w, i, j, at);
  }
  return [...t.sizes.slice(0, -2), oh, ow];
}

/** The lists of numbers that describe windows over two dimensions. */
function checkPairs(...lists) {
  const wrong = lists.find((list) => list.length !== 2);
  if (wrong) throw new RangeError(`a window must either be a single int, or a tuple of two ints, not ${text(wrong)}`);
}

function maxPool2d(t, kernel, stride, padding, dilation, ceilMode) {
  if (t.dim < 3) throw new RangeError(`max_pool2d: expected 3D or 4D input, got ${text(t.sizes)}`);
  const step = stride.length ? stride : kernel;
  checkPairs(kernel, step, padding, dilation);
  const [h, w] = t.sizes.slice(-2);
  const [oh, ow] = [h, w].map((size, d) => windows(size, kernel[d], step[d], padding[d], dilation[d], ceilMode));
  const count = (t.numel / (h * w || 1)) * oh * ow;
  const out = t.dtype.make(count);
  const where = dt.int64.make(count);
  const sizes = eachWindow(t, oh, ow, (values, image, i, j, at) => {
    let best = -1;
    const [top, bottom] = covered(i * step[0] - padding[0], kernel[0], dilation[0], h);
    const [left, right] = covered(j * step[1] - padding[1], kernel[1], dilation[1], w);
    for (let y = top; y < bottom; y += dilation[0]) {
      for (let x = left; x < right; x += dilation[1]) {
        const k = y * w + x;
        if (best < 0 || values[image + k] > values[image + best] || Number.isNaN(values[image + k])) best = k;
      }
    }
    out[at] = best < 0 ? -Infinity : values[image + best];
    where[at] = BigInt(best);
  });
  return [Tensor.of(out, t.dtype, sizes), Tensor.of(where, dt.int64, sizes)];
}

/** The first place in the input that the window at `start` covers, and the first behind all of them. */
const covered = (start, kernel, dilation, size) => [
  start + Math.max(0, Math.ceil(-start / dilation)) * dilation,
  Math.min(start + dilation * (kernel - 1) + 1, size),
];

function avgPool2d(t, kernel, stride, padding, ceilMode, includePad, divisor) {
  if (divisor === 0) throw new RangeError("divisor must be not zero");
  const step = stride.length ? stride : kernel;
  checkPairs(kernel, step, padding);
  const [h, w] = t.sizes.slice(-2);
  const [oh, ow] = [h, w].map((size, d) => windows(size, kernel[d], step[d], padding[d], 1, ceilMode));
  const out = t.dtype.make((t.numel / (h * w || 1)) * oh * ow);
  const sizes = eachWindow(t, oh, ow, (values, image, i, j, at) => {
    const [top, left] = [i * step[0] - padding[0], j * step[1] - padding[1]];
    const [bottom, right] = [Math.min(top + kernel[0], h + padding[0]), Math.min(left + kernel[1], w + padding[1])];
    const [y0, x0, y1, x1] = [Math.max(top, 0), Math.max(left, 0), Math.min(bottom, h), Math.min(right, w)];
    const area = divisor || (includePad ? (bottom - top) * (right - left) : (y1 - y0) * (x1 - x0));
    out[at] = windowSum(values, image, w, y0, y1, x0, x1) / area;
  });
  return Tensor.of(out, t.dtype, sizes);
}

function windowSum(values, image, w, y0, y1, x0, x1) {
  let sum = 0;
  for (let y = y0; y < y1; y++) for (let x = x0; x < x1; x++) sum += values[image + y * w + x];
  return sum;
}

function adaptiveAvgPool2d(t, outputSize) {
  checkPairs(outputSize);
  const [h, w] = t.sizes.slice(-2);
  const [oh, ow] = outputSize;
  const out = t.dtype.make((t.numel / (h * w || 1)) * oh * ow);
  const range = (i, n, size) => [Math.floor((i * size) / n), Math.ceil(((i + 1) * size) / n)];
  const sizes = eachWindow(t, oh, ow, (values, image, i, j, at) => {
    const [y0, y1] = range(i, oh, h);
    const [x0, x1] = range(j, ow, w);
    out[at] = windowSum(values, image, w, y0, y1, x0, x1) / ((y1 - y0) * (x1 - x0));
  });
  return Tensor.of(out, t.dtype, sizes);
}

/** A pooling of [.., length] as one of [.., 1, length]. */
function inOneRow(t, run) {
  const out = run(t.reshape([...t.sizes.slice(0, -1), 1, t.sizes[t.dim - 1]]));
  return out.reshape([...out.sizes.slice(0, -2), out.sizes[out.dim - 1]]);
}

const MAX2 = "Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False";
op(`max_pool2d(${MAX2})`, (...args) => maxPool2d(...args)[0]);
op(`max_pool2d_with_indices(${MAX2})`, (...args) => Tuple.from(maxPool2d(...args)));
op(
  "max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, int[1] dilation=1, bool ceil_mode=False)",
  (t, [kernel], stride, [padding], [dilation], ceilMode) =>
    inOneRow(
      t,
      (row) => maxPool2d(row, [1, kernel], stride.length ? [1, ...stride] : [], [0, padding], [1, dilation], ceilMode)[0],
    ),
);
op(
  "avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None)",
  avgPool2d,
);
op(
  "avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, bool ceil_mode=False, bool count_include_pad=True)",
  (t, [kernel], stride, [padding], ceilMode, includePad) =>
    inOneRow(t, (row) =>
      avgPool2d(row, [1, kernel], stride.length ? [1, ...stride] : [], [0, padding], ceilMode, includePad, null),
    ),
);
op("adaptive_avg_pool2d(Tensor self, int[2] output_size)", adaptiveAvgPool2d);
op("adaptive_avg_pool1d(Tensor self, int[1] output_size)", (t, [n]) => inOneRow(t, (row) => adaptiveAvgPool2d(row, [1, n])));

/**
 * Convolutions as matrix products (`aten/src/ATen/native/Convolution.cpp`, `ConvolutionMM2d.cpp`).
 *
 * `im2col` writes, for every position of the kernel, the pixels under it as a column; the convolution is then weights times columns.
 * A transposed convolution is the opposite: a product makes columns, and `col2im` adds them where they overlap. One-dimensional
 * convolutions are two-dimensional ones of height 1.
 *
 * How the real one differs: oneDNN has direct and Winograd kernels and chooses by shape; it also does three dimensions.
 */
"use strict";

const { Tensor, flat } = require("../tensor/tensor");
const { op } = require("../script/operators");
const { text } = require("../tensor/geometry");
const { gemm } = require("./gemm");
const { constantPad } = require("./padding");

/**
 * @param {{stride: number[], padding: number[], dilation: number[], groups: number}} how
 */
function conv2d(x, weight, bias, { stride, padding, dilation, groups }) {
  const [batch, channels, height, width] = x.sizes;
  const [filters, depth, kh, kw] = weight.sizes;
  check(x, weight, groups, depth * groups);
  const extent = (size, d) => outputSize(size, weight.sizes[2 + d], stride[d], padding[d], dilation[d]);
  const [oh, ow] = [extent(height, 0), extent(width, 1)];
  if (oh < 1 || ow < 1)
    throw new RangeError(`Calculated padded input size per channel is too small for kernel ${text([kh, kw])}`);
  const out = Tensor.zeros([batch, filters, oh, ow], x.dtype);
  const [pixels, weights, y] = [flat(x), flat(weight), out.storage.array];
  if (bias) biasInto(y, flat(bias), batch, oh * ow);
  const direct = kh === 1 && kw === 1 && stride[0] === 1 && stride[1] === 1 && padding[0] === 0 && padding[1] === 0;
  const rows = depth * kh * kw;
  const columns = direct ? pixels : x.dtype.make(rows * oh * ow);
  const per = filters / groups;
  for (let n = 0; n < batch; n++) {
    for (let g = 0; g < groups; g++) {
      const from = (n * channels + g * depth) * height * width;
      if (!direct) im2col(pixels, from, [depth, height, width], [kh, kw], [oh, ow], { stride, padding, dilation }, columns);
      gemm(per, oh * ow, rows, weights, g * per * rows, columns, direct ? from : 0, y, (n * filters + g * per) * oh * ow);
    }
  }
  return out;
}

const outputSize = (size, kernel, stride, padding, dilation) =>
  Math.floor((size + 2 * padding - dilation * (kernel - 1) - 1) / stride) + 1;

/** Row (c, i, j) of the result has, for every output position, the pixel of channel c that the kernel's element (i, j) meets. */
function im2col(x, from, [channels, height, width], [kh, kw], [oh, ow], { stride, padding, dilation }, out) {
  let at = 0;
  for (let c = 0; c < channels; c++) {
    for (let i = 0; i < kh; i++) {
      for (let j = 0; j < kw; j++) {
        const left = j * dilation[1] - padding[1];
        for (let p = 0; p < oh; p++, at += ow) {
          const y = p * stride[0] + i * dilation[0] - padding[0];
          if (y < 0 || y >= height) {
            out.fill(0, at, at + ow);
            continue;
          }
          const row = from + (c * height + y) * width;
          for (let q = 0, z = left; q < ow; q++, z += stride[1]) out[at + q] = z >= 0 && z < width ? x[row + z] : 0;
        }
      }
    }
  }
}

/** The reverse: every element of the columns is added to the pixel it would have come from. */
function col2im(columns, [channels, height, width], [kh, kw], [oh, ow], { stride, padding, dilation }, out, to) {
  let at = 0;
  for (let c = 0; c < channels; c++) {
    for (let i = 0; i < kh; i++) {
      for (let j = 0; j < kw; j++) {
        for (let p = 0; p < oh; p++) {
          const y = p * stride[0] + i * dilation[0] - padding[0];
          for (let q = 0; q < ow; q++, at++) {
            const x = q * stride[1] + j * dilation[1] - padding[1];
            if (y >= 0 && y < height && x >= 0 && x < width) out[to + (c * height + y) * width + x] += columns[at];
          }
        }
      }
    }
  }
}

function convTranspose2d(x, weight, bias, { stride, padding, dilation, groups }, outputPadding) {
  const [batch, channels, height, width] = x.sizes;
  const [inputs, per, kh, kw] = weight.sizes;
  check(x, weight, groups, inputs);
  const extent = (size, d) =>
    (size - 1) * stride[d] - 2 * padding[d] + dilation[d] * (weight.sizes[2 + d] - 1) + outputPadding[d] + 1;
  const [oh, ow] = [extent(height, 0), extent(width, 1)];
  if (oh < 1 || ow < 1) throw new RangeError(`Calculated output size per channel: (${oh} x ${ow}). Output size is too small`);
  if (outputPadding.some((n, d) => n >= stride[d] && n >= dilation[d]))
    throw new RangeError("output padding must be smaller than either stride or dilation");
  const out = Tensor.zeros([batch, per * groups, oh, ow], x.dtype);
  const depth = channels / groups;
  const area = height * width;
  const pixels = flat(x);
  if (bias) biasInto(out.storage.array, flat(bias), batch, oh * ow);
  for (let g = 0; g < groups; g++) {
    const transposed = flat(
      weight
        .slice(0, g * depth, (g + 1) * depth)
        .reshape([depth, per * kh * kw])
        .transpose(0, 1),
    );
    for (let n = 0; n < batch; n++) {
      const columns = x.dtype.make(per * kh * kw * area);
      gemm(per * kh * kw, area, depth, transposed, 0, pixels, (n * channels + g * depth) * area, columns, 0);
      const to = (n * per * groups + g * per) * oh * ow;
      col2im(columns, [per, oh, ow], [kh, kw], [height, width], { stride, padding, dilation }, out.storage.array, to);
    }
  }
  return out;
}

function biasInto(y, bias, batch, area) {
  for (let n = 0, at = 0; n < batch; n++) for (let f = 0; f < bias.length; f++, at += area) y.fill(bias[f], at, at + area);
}

function check(x, weight, groups, expected) {
  if (groups <= 0 || weight.sizes[0] % groups)
    throw new RangeError(`Given groups=${groups}, expected weight to be divisible by it at dimension 0, but got ${text(weight.sizes)}`);
  if (weight.sizes.slice(2).includes(0)) throw new RangeError("the kernel of a convolution has no elements");
  if (x.dtype !== weight.dtype) throw new TypeError(`Input type (${x.type}) and weight type (${weight.type}) should be the same`);
  if (x.dtype.category < 2) throw new TypeError(`convolution of ${x.dtype.name} tensors is not known to this runtime`);
  if (x.sizes[1] !== expected) {
    throw new RangeError(
      `Given groups=${groups}, weight of size ${text(weight.sizes)}, expected input${text(x.sizes)} to have ${expected} channels, but got ${x.sizes[1]} channels instead`,
    );
  }
}

/** Any of them, with or without batch, in one or two dimensions. `run` works on [batch, channels, height, width]. */
function convolution(x, weight, bias, how, transposed = false, outputPadding = [0, 0]) {
  const rank = weight.dim - 2;
  if (rank !== 1 && rank !== 2) throw new RangeError(`convolutions in ${rank} dimensions are not known to this runtime`);
  if (x.dim !== rank + 2 && x.dim !== rank + 1) {
    throw new RangeError(
      `Expected ${rank + 1}D (unbatched) or ${rank + 2}D (batched) input to conv${rank}d, but got input of size: ${text(x.sizes)}`,
    );
  }
  if (x.dim === rank + 1) {
    const one = convolution(x.reshape([1, ...x.sizes]), weight, bias, how, transposed, outputPadding);
    return one.reshape(one.sizes.slice(1));
  }
  for (const list of [how.stride, how.padding, how.dilation, ...(transposed ? [outputPadding] : [])]) {
    if (list.length !== 1 && list.length !== rank)
      throw new RangeError(
        `expected a single integer value or a list of ${rank} values to match the convolution dimensions, but got ${text(list)}`,
      );
    if (!list.every((n) => n >= 0 && n < 2 ** 31)) throw new RangeError(`integer out of range: ${text(list)}`);
  }
  if (![...how.stride, ...how.dilation].every((n) => n > 0)) throw new RangeError("non-positive stride or dilation is not supported");
  if (bias && (bias.dim !== 1 || bias.numel !== (transposed ? weight.sizes[1] * how.groups : weight.sizes[0])))
    throw new RangeError(`Given weight of size ${text(weight.sizes)}, bias of size ${text(bias.sizes)} does not fit`);
  const pair = (list, first) => (rank === 2 ? spread(list, 2) : [first, ...spread(list, 1)]);
  const flatRow = (t) => (rank === 2 ? t : t.reshape([t.sizes[0], t.sizes[1], 1, t.sizes[2]]));
  const full = {
    stride: pair(how.stride, 1),
    padding: pair(how.padding, 0),
    dilation: pair(how.dilation, 1),
    groups: how.groups,
  };
  const out = transposed
    ? convTranspose2d(flatRow(x), flatRow(weight), bias, full, pair(outputPadding, 0))
    : conv2d(flatRow(x), flatRow(weight), bias, full);
  return rank === 2 ? out : out.reshape([out.sizes[0], out.sizes[1], out.sizes[3]]);
}

const spread = (list, n) => (list.length === n ? list : new Array(n).fill(list[0]));

for (const rank of [1, 2]) {
  const ints = `int[${rank}]`;
  op(
    `conv${rank}d(Tensor input, Tensor weight, Tensor? bias=None, ${ints} stride=1, ${ints} padding=0, ${ints} dilation=1, int groups=1)`,
    (x, weight, bias, stride, padding, dilation, groups) => convolution(x, weight, bias, { stride, padding, dilation, groups }),
  );
  op(
    `conv${rank}d(Tensor input, Tensor weight, Tensor? bias=None, ${ints} stride=1, str padding="valid", ${ints} dilation=1, int groups=1)`,
    (x, weight, bias, stride, padding, dilation, groups) =>
      namedPadding(x, weight, bias, stride, padding, dilation, groups, rank),
  );
  op(
    `conv_transpose${rank}d(Tensor input, Tensor weight, Tensor? bias=None, ${ints} stride=1, ${ints} padding=0, ${ints} output_padding=0, int groups=1, ${ints} dilation=1)`,
    (x, weight, bias, stride, padding, outputPadding, groups, dilation) =>
      convolution(x, weight, bias, { stride, padding, dilation, groups }, true, outputPadding),
  );
}

/** `padding="same"`: as much as keeps the sizes; if that is odd, the end gets one more. */
function namedPadding(x, weight, bias, stride, padding, dilation, groups, rank) {
  const none = { stride, padding: [0], dilation, groups };
  if (padding !== "valid" && padding !== "same") throw new RangeError(`Invalid padding string: '${padding}'`);
  if (padding === "same" && stride.some((n) => n !== 1))
    throw new RangeError("padding='same' is not supported for strided convolutions");
  if (padding === "valid") return convolution(x, weight, bias, none);
  const widths = [];
  for (let d = rank - 1; d >= 0; d--) {
    const total = spread(dilation, rank)[d] * (weight.sizes[2 + d] - 1);
    widths.push(Math.floor(total / 2), total - Math.floor(total / 2));
  }
  return convolution(constantPad(x, widths, 0), weight, bias, none);
}

const LONG =
  "Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups";
const long = (x, weight, bias, stride, padding, dilation, transposed, outputPadding, groups) =>
  convolution(x, weight, bias, { stride, padding, dilation, groups }, transposed, outputPadding);
op(`_convolution(${LONG}, bool benchmark, bool deterministic, bool cudnn_enabled)`, long);
op(`_convolution(${LONG}, bool benchmark, bool deterministic, bool cudnn_enabled, bool allow_tf32)`, long);
op(`convolution(${LONG})`, long);

module.exports = { convolution };

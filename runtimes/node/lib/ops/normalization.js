/**
 * Normalisation: subtract a mean, divide by a standard deviation, scale and shift (`aten/src/ATen/native/Normalization.cpp`,
 * `layer_norm.cpp`, `group_norm.cpp`).
 *
 * They differ in over what the mean is taken. Batch norm takes it over everything but the channel, and at inference from its running
 * statistics, where it is one multiplication and one addition per element; layer norm takes it over the last dimensions; group norm
 * over groups of channels of one image.
 *
 * How the real one differs: statistics are computed with Welford's method, in one pass.
 */
"use strict";

const { Tensor, flat } = require("../tensor/tensor");
const { op } = require("../script/operators");
const { numel, text } = require("../tensor/geometry");
const { into } = require("../tensor/compute");
const { add, multiply } = require("./binary");
const { moments } = require("./reductions");
const { rowsAlong } = require("./rows");

function batchNorm(x, weight, bias, runningMean, runningVar, training, momentum, eps) {
  if (x.dim < 2) throw new RangeError(`Expected 2D or more input to batch_norm (got ${text(x.sizes)})`);
  const channels = x.sizes[1];
  checkChannels(x, weight, bias, runningMean, runningVar);
  if (!training && !(runningMean && runningVar)) throw new RangeError("batch_norm needs running statistics outside of training");
  const area = numel(x.sizes.slice(2));
  const [means, variances] = training
    ? batchStatistics(x, runningMean, runningVar, momentum)
    : [flat(runningMean), flat(runningVar)];
  const [w, b] = [weight && flat(weight), bias && flat(bias)];
  const values = flat(x);
  const out = x.dtype.make(values.length);
  for (let at = 0, plane = 0; at < values.length; plane++) {
    const c = plane % channels;
    const scale = (w ? w[c] : 1) / Math.sqrt(variances[c] + eps);
    const shift = (b ? b[c] : 0) - means[c] * scale;
    for (const end = at + area; at < end; at++) out[at] = values[at] * scale + shift;
  }
  return Tensor.of(out, x.dtype, x.sizes);
}

/** Weights and statistics have one number for each channel; of a shorter array the rest would be undefined. */
function checkChannels(x, ...parameters) {
  if (x.dtype.category < 2) throw new TypeError(`"batch_norm" not implemented for '${x.dtype.legacy}'`);
  const odd = parameters.find((p) => p && (p.dim !== 1 || p.numel !== x.sizes[1]));
  if (odd) throw new RangeError(`a normalization of ${x.sizes[1]} channels needs as many numbers, not ${text(odd.sizes)}`);
}

/** The batch's own mean and (biased) variance per channel; the running ones move towards them. */
function batchStatistics(x, runningMean, runningVar, momentum) {
  const dims = x.sizes.map((_, d) => d).filter((d) => d !== 1);
  const { values, rows, length } = rowsAlong(x, dims);
  const [means, variances, unbiased] = [new Float64Array(rows), new Float64Array(rows), new Float64Array(rows)];
  for (let c = 0; c < rows; c++) {
    const [mean, squares] = moments(values, c * length, length);
    means[c] = mean;
    variances[c] = squares / length;
    unbiased[c] = squares / (length - 1);
  }
  for (const [running, batch] of [
    [runningMean, means],
    [runningVar, unbiased],
  ]) {
    if (running)
      into(
        running,
        Tensor.of(
          flat(running).map((r, c) => (1 - momentum) * r + momentum * batch[c]),
          running.dtype,
          running.sizes,
        ),
      );
  }
  return [means, variances];
}

/** Every run of `length` elements to mean 0 and variance 1. */
function normalizedRuns(x, length, eps) {
  const values = flat(x);
  const out = x.dtype.make(values.length);
  for (let start = 0; start < values.length; start += length) {
    const [mean, squares] = moments(values, start, length);
    const scale = 1 / Math.sqrt(squares / length + eps);
    for (let i = start; i < start + length; i++) out[i] = (values[i] - mean) * scale;
  }
  return Tensor.of(out, x.dtype, x.sizes);
}

function scaled(x, weight, bias) {
  const y = weight ? multiply(x, weight) : x;
  return bias ? add(y, bias) : y;
}

function checkShape(x, shape, ...parameters) {
  if (x.dtype.category < 2) throw new TypeError(`"layer_norm" not implemented for '${x.dtype.legacy}'`);
  if (!shape.length) throw new RangeError("Expected normalized_shape to be at least 1-dimensional");
  if (x.sizes.slice(x.dim - shape.length).join() !== shape.join()) {
    throw new RangeError(
      `Given normalized_shape=${text(shape)}, expected input with shape [*, ${shape.join(", ")}], but got input of size${text(x.sizes)}`,
    );
  }
  const odd = parameters.find((p) => p && p.sizes.join() !== shape.join());
  if (odd) throw new RangeError(`Expected weight and bias to be of the shape ${text(shape)}, but got ${text(odd.sizes)}`);
}

function layerNorm(x, shape, weight, bias, eps) {
  checkShape(x, shape, weight, bias);
  return scaled(normalizedRuns(x, numel(shape), eps), weight, bias);
}

/** Per channel, with ones after it to broadcast over the image. */
const perChannel = (t, x) => t && t.reshape([t.numel, ...new Array(x.dim - 2).fill(1)]);

function groupNorm(x, groups, weight, bias, eps) {
  if (x.dim < 2 || groups <= 0) throw new RangeError(`group_norm of ${text(x.sizes)} in ${groups} groups`);
  checkChannels(x, weight, bias);
  if (x.sizes[1] % groups)
    throw new RangeError(
      `Expected number of channels in input to be divisible by num_groups, but got input of shape ${text(x.sizes)} and num_groups=${groups}`,
    );
  return scaled(normalizedRuns(x, numel(x.sizes.slice(1)) / groups, eps), perChannel(weight, x), perChannel(bias, x));
}

op(
  "batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps, bool cudnn_enabled)",
  batchNorm,
);
op(
  "layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enable=True)",
  layerNorm,
);
op(
  "group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enabled=True)",
  groupNorm,
);
op(
  "instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool use_input_stats, float momentum, float eps, bool cudnn_enabled)",
  (x, weight, bias, mean, variance, useInput, momentum, eps) =>
    useInput ? groupNorm(x, x.sizes[1], weight, bias, eps) : batchNorm(x, weight, bias, mean, variance, false, momentum, eps),
);
op("rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None)", (x, shape, weight, eps) => {
  checkShape(x, shape, weight);
  const length = numel(shape);
  const values = flat(x);
  const out = x.dtype.make(values.length);
  const epsilon = eps === null ? (x.dtype.bytes === 8 ? 2 ** -52 : 2 ** -23) : eps;
  for (let start = 0; start < values.length; start += length) {
    let squares = 0;
    for (let i = start; i < start + length; i++) squares += values[i] ** 2;
    for (let i = start; i < start + length; i++) out[i] = values[i] / Math.sqrt(squares / length + epsilon);
  }
  return scaled(Tensor.of(out, x.dtype, x.sizes), weight, null);
});

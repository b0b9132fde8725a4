/**
 * Losses (`aten/src/ATen/native/Loss.cpp`, `LossNLL.cpp`).
 *
 * The reduction is a number: 0 keeps one loss per element, 1 is their mean, 2 their sum.
 *
 * How the real one differs: each has a derivative.
 */
"use strict";

const { Tensor, flat } = require("../tensor/tensor");
const { op } = require("../script/operators");
const { binary } = require("../tensor/compute");
const { numel, text } = require("../tensor/geometry");
const { sum, mean } = require("./reductions");
const { softmax } = require("./activations");

function reduced(t, reduction) {
  if (![0, 1, 2].includes(reduction)) throw new RangeError(`${reduction} is not a valid value for reduction`);
  return reduction === 0 ? t : reduction === 1 ? mean(t, null) : sum(t, null);
}

/** name -> extra schema, kernel of prediction and target */
const ELEMENTWISE = {
  mse_loss: ["", () => (x, y) => (x - y) ** 2],
  l1_loss: ["", () => (x, y) => Math.abs(x - y)],
  smooth_l1_loss: [
    ", float beta=1.0",
    (beta) => (x, y) => (Math.abs(x - y) < beta ? (0.5 * (x - y) ** 2) / beta : Math.abs(x - y) - 0.5 * beta),
  ],
  huber_loss: [
    ", float delta=1.0",
    (delta) => (x, y) => (Math.abs(x - y) < delta ? 0.5 * (x - y) ** 2 : delta * (Math.abs(x - y) - 0.5 * delta)),
  ],
};

for (const [name, [rest, kernel]] of Object.entries(ELEMENTWISE)) {
  op(`${name}(Tensor self, Tensor target, int reduction=1${rest})`, (x, y, reduction, ...args) =>
    reduced(binary(x, y, kernel(...args)), reduction),
  );
}

/** Minus the log-probability of the target class; classes are dimension 1, or 0 of a single sample. */
function nllLoss(x, target, weight, reduction, ignoreIndex) {
  if (x.dim === 1)
    return nllLoss(x.reshape([1, x.numel]), target.reshape([1]), weight, reduction, ignoreIndex).reshape(
      reduction === 0 ? target.sizes : [],
    );
  const [batch, classes] = x.sizes;
  const area = numel(x.sizes.slice(2));
  if (target.numel !== batch * area)
    throw new RangeError(
      `Expected input batch_size (${batch}) to match target batch_size (${target.sizes[0]}); sizes ${text(x.sizes)} and ${text(target.sizes)}`,
    );
  if (weight && (weight.dim !== 1 || weight.numel !== classes))
    throw new RangeError(`weight tensor should be defined either for all ${classes} classes or no classes but got ${text(weight.sizes)}`);
  if (target.dtype.category === 2) throw new TypeError(`expected scalar type Long but found ${target.dtype.legacy}`);
  const [values, targets, w] = [flat(x), flat(target), weight && flat(weight)];
  const losses = x.dtype.make(target.numel);
  let total = 0;
  for (let i = 0; i < losses.length; i++) {
    const c = Number(targets[i]);
    if (c === ignoreIndex) continue;
    if (c < 0 || c >= classes) throw new RangeError(`Target ${c} is out of bounds.`);
    const factor = w ? w[c] : 1;
    losses[i] = -factor * values[(Math.floor(i / area) * classes + c) * area + (i % area)];
    total += factor;
  }
  const all = Tensor.of(losses, x.dtype, target.sizes);
  return reduction === 1 ? Tensor.full([], sum(all.to(x.dtype), null).item() / total, x.dtype) : reduced(all, reduction);
}

const NLL = "Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100";
for (const name of ["nll_loss", "nll_loss_nd", "nll_loss2d"]) op(`${name}(${NLL})`, nllLoss);
op(`cross_entropy_loss(${NLL}, float label_smoothing=0.0)`, (x, target, weight, reduction, ignoreIndex, smoothing) => {
  if (smoothing || target.dtype.category === 2)
    throw new RangeError("cross entropy with probabilities or label smoothing is not known to this runtime");
  return nllLoss(softmax(x, x.dim === 1 ? 0 : 1, null, true), target, weight, reduction, ignoreIndex);
});
op("binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1)", (x, y, weight, reduction) => {
  const log = (p) => Math.max(Math.log(p), -100);
  const losses = binary(x, y, (p, q) => -(q * log(p) + (1 - q) * Math.log(Math.max(1 - p, Math.exp(-100)))));
  return reduced(weight ? binary(losses, weight, (a, b) => a * b) : losses, reduction);
});
op(
  "binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int reduction=1)",
  (x, y, weight, positive, reduction) => {
    if (positive) throw new RangeError("pos_weight is not known to this runtime");
    const losses = binary(x, y, (z, q) => Math.max(z, 0) - z * q + Math.log1p(Math.exp(-Math.abs(z))));
    return reduced(weight ? binary(losses, weight, (a, b) => a * b) : losses, reduction);
  },
);

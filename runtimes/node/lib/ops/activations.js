/**
 * Activation functions, softmax and dropout (`aten/src/ATen/native/Activation.cpp`, `SoftMax.cpp`, `Dropout.cpp`).
 *
 * Of softmax's row the largest element is subtracted before `exp`, which changes nothing in exact arithmetic and keeps it from
 * overflowing; its logarithm is taken of the sum, not of the quotient. Dropout at inference is the identity.
 *
 * How the real one differs: vectorised kernels, and random numbers from the Mersenne Twister, so that trained dropout draws differ.
 */
"use strict";

const dt = require("../tensor/dtype");
const { op } = require("../script/operators");
const { unary, binary, into, resultType } = require("../tensor/compute");
const { mapRows } = require("./rows");
const { erf } = require("./special");
const { random } = require("./random");

const sigmoid = (x) => 1 / (1 + Math.exp(-x));
const relu = (t) => unary(t, (x) => (x < 0 ? 0 : x), t.dtype);

/** schema after `Tensor self`, and what makes the function of one element from the other arguments */
const ACTIVATIONS = {
  silu: ["", () => (x) => x * sigmoid(x)],
  mish: ["", () => (x) => x * Math.tanh(Math.log1p(Math.exp(x)))],
  hardsigmoid: ["", () => (x) => Math.min(Math.max(x / 6 + 0.5, 0), 1)],
  hardswish: ["", () => (x) => x * Math.min(Math.max(x / 6 + 0.5, 0), 1)],
  log_sigmoid: ["", () => (x) => Math.min(x, 0) - Math.log1p(Math.exp(-Math.abs(x)))],
  selu: ["", () => (x) => 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * Math.expm1(x))],
  leaky_relu: [", Scalar negative_slope=0.01", (slope) => (x) => (x > 0 ? x : x * Number(slope))],
  elu: [
    ", Scalar alpha=1, Scalar scale=1, Scalar input_scale=1",
    (a, s, i) => (x) => Number(s) * (x > 0 ? x : Number(a) * Math.expm1(x * Number(i))),
  ],
  celu: [", Scalar alpha=1.0", celuOf],
  gelu: [', *, str approximate="none"', geluBy],
  softplus: [
    ", Scalar beta=1, Scalar threshold=20",
    (b, limit) => (x) => (x * Number(b) > Number(limit) ? x : Math.log1p(Math.exp(x * Number(b))) / Number(b)),
  ],
};

function celuOf(alpha) {
  const a = Number(alpha);
  if (a === 0) throw new RangeError("ZeroDivisionError: alpha cannot be 0 for CELU");
  return (x) => (x > 0 ? x : a * Math.expm1(x / a));
}

function geluBy(how) {
  if (how !== "tanh" && how !== "none") throw new RangeError("approximate argument must be either none or tanh.");
  return how === "tanh" ? geluTanh : (x) => 0.5 * x * (1 + erf(x * Math.SQRT1_2));
}

const geluTanh = (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));

for (const [name, [rest, kernel]] of Object.entries(ACTIVATIONS)) {
  const run = (t, ...args) => {
    if (t.dtype.category < 2) throw new TypeError(`"${name}" not implemented for '${t.dtype.legacy}'`);
    return unary(t, kernel(...args));
  };
  op(`${name}(Tensor self${rest})`, run);
  op(`${name}_(Tensor self${rest})`, (self, ...args) => into(self, run(self, ...args)));
}

const THRESHOLD = "Tensor self, Scalar threshold, Scalar value";
const threshold = (t, limit, value) => unary(t, (x) => (x <= limit ? dt.cast(value, t.dtype) : x));
op(`threshold(${THRESHOLD})`, threshold);
op(`threshold_(${THRESHOLD})`, (t, ...args) => into(t, threshold(t, ...args)));
op("relu6(Tensor self)", (t) => hardtanh(t, 0n, 6n));
op("relu6_(Tensor self)", (t) => into(t, hardtanh(t, 0n, 6n)));
op("relu(Tensor self)", relu);
op("relu_(Tensor self)", (self) => into(self, relu(self)));
const HARDTANH = "Tensor self, Scalar min_val=-1, Scalar max_val=1";
op(`hardtanh(${HARDTANH})`, hardtanh);
op(`hardtanh_(${HARDTANH})`, (t, low, high) => into(t, hardtanh(t, low, high)));

/** Between two numbers, which are taken as elements of the tensor. */
function hardtanh(t, low, high) {
  if (t.dtype === dt.bool) throw new TypeError("Bool inputs not supported for hardtanh");
  const [a, b] = [dt.cast(low, t.dtype), dt.cast(high, t.dtype)];
  return unary(t, (x) => {
    const atLeast = x < a ? a : x;
    return atLeast > b ? b : atLeast;
  });
}

op("prelu(Tensor self, Tensor weight)", (t, weight) => {
  const slopes = weight.numel === 1 || t.dim < 2 ? weight : weight.reshape([weight.numel, ...new Array(t.dim - 2).fill(1)]);
  return binary(t, slopes, (x, a) => (x > 0 ? x : a * x), resultType(t, weight));
});
op("glu(Tensor self, int dim=-1)", (t, dim) => {
  const d = dim < 0 ? dim + t.dim : dim;
  const half = t.sizes[d] / 2;
  if (!Number.isInteger(half)) throw new RangeError(`Halving dimension must be even, but dimension ${dim} is size ${t.sizes[d]}`);
  return binary(t.slice(d, 0, half), t.slice(d, half, 2 * half), (x, gate) => x * sigmoid(gate));
});

const softmaxRow =
  (logarithm) =>
  (values, start, length, [out], at) => {
    let largest = -Infinity;
    for (let i = start; i < start + length; i++) if (values[i] > largest) largest = values[i];
    let sum = 0;
    for (let i = start; i < start + length; i++) sum += Math.exp(values[i] - largest);
    const offset = largest + Math.log(sum);
    for (let i = 0; i < length; i++) {
      const x = values[start + i];
      out[at + i] = logarithm ? x - offset : Math.exp(x - largest) / sum;
    }
  };

function softmax(t, dim, dtype = null, logarithm = false) {
  const type = dtype || t.dtype;
  if (type.category < 2) throw new TypeError(`"softmax" not implemented for '${type.legacy}'`);
  return mapRows(t, dim, type, [type], softmaxRow(logarithm))[0];
}

op("softmax(Tensor self, int dim, ScalarType? dtype=None)", softmax);
op("_softmax(Tensor self, int dim, bool half_to_float)", (t, dim) => softmax(t, dim));
op("log_softmax(Tensor self, int dim, ScalarType? dtype=None)", (t, dim, dtype) => softmax(t, dim, dtype, true));
op("_log_softmax(Tensor self, int dim, bool half_to_float)", (t, dim) => softmax(t, dim, null, true));

function dropout(t, p, train) {
  if (!train || p === 0) return t;
  const scale = p === 1 ? 0 : 1 / (1 - p);
  return unary(t, (x) => (random.uniform() < p ? 0 : x * scale));
}

for (const name of ["dropout", "feature_dropout", "alpha_dropout"]) {
  op(`${name}(Tensor input, float p, bool train)`, dropout);
  op(`${name}_(Tensor self, float p, bool train)`, (t, p, train) => into(t, dropout(t, p, train)));
}

module.exports = { softmax, sigmoid };

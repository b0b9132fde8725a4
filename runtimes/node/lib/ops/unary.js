/**
 * Functions of one element: `exp`, `abs`, `round`, ... (`aten/src/ATen/native/UnaryOps.cpp`).
 *
 * Functions like `exp` give floating-point results whatever they are given; functions like `abs` keep the dtype. Results are
 * computed in double precision and rounded once, to the tensor's dtype. Each also has its in-place form, `exp_`.
 *
 * How the real one differs: float32 is computed in float32, by vectorised approximations.
 */
"use strict";

const dt = require("../tensor/dtype");
const { op } = require("../script/operators");
const { unary, floating, exactly, into } = require("../tensor/compute");
const { erf, roundHalfToEven, lgamma } = require("./special");

const FLOATING = {
  exp: Math.exp,
  exp2: (x) => 2 ** x,
  expm1: Math.expm1,
  log: Math.log,
  log2: Math.log2,
  log10: Math.log10,
  log1p: Math.log1p,
  sqrt: Math.sqrt,
  rsqrt: (x) => 1 / Math.sqrt(x),
  reciprocal: (x) => 1 / x,
  sin: Math.sin,
  cos: Math.cos,
  tan: Math.tan,
  asin: Math.asin,
  acos: Math.acos,
  atan: Math.atan,
  sinh: Math.sinh,
  cosh: Math.cosh,
  tanh: Math.tanh,
  sigmoid: (x) => 1 / (1 + Math.exp(-x)),
  erf,
  erfc: (x) => 1 - erf(x),
  lgamma,
};

for (const [name, f] of Object.entries(FLOATING)) {
  withInPlace(name, (t) => unary(t, f, floating(t.dtype)));
}

/** name -> for numbers, for BigInts */
const KEEPING = {
  abs: [Math.abs, (x) => (x < 0n ? -x : x)],
  neg: [(x) => -x, (x) => -x],
  sign: [Math.sign, (x) => (x > 0n ? 1n : x < 0n ? -1n : 0n)],
  floor: [Math.floor, (x) => x],
  ceil: [Math.ceil, (x) => x],
  trunc: [Math.trunc, (x) => x],
  round: [roundHalfToEven, (x) => x],
  frac: [(x) => x - Math.trunc(x), () => 0n],
  positive: [(x) => x, (x) => x],
};

for (const [name, [numbers, bigints]] of Object.entries(KEEPING)) {
  withInPlace(name, (t) => unary(t, exactly(t.dtype, numbers, bigints)));
}

withInPlace("square", (t) => unary(t, (x) => x * x, t.dtype === dt.bool ? dt.int64 : t.dtype));

function withInPlace(name, run) {
  op(`${name}(Tensor self)`, run);
  op(`${name}_(Tensor self)`, (self) => into(self, run(self)));
}

op("round(Tensor self, *, int decimals)", (t, decimals) => {
  const scale = 10 ** decimals;
  return unary(t, (x) => roundHalfToEven(x * scale) / scale);
});

const PREDICATES = {
  isnan: Number.isNaN,
  isinf: (x) => x === Infinity || x === -Infinity,
  isfinite: Number.isFinite,
};

for (const [name, f] of Object.entries(PREDICATES)) {
  op(`${name}(Tensor self)`, (t) => unary(t, f, t.dtype === dt.int64 ? dt.float64 : t.dtype, dt.bool));
}

op("logical_not(Tensor self)", (t) => unary(t, (x) => x == 0, t.dtype, dt.bool)); // eslint-disable-line eqeqeq -- 0n too, and NaN is true
op("bitwise_not(Tensor self)", (t) => {
  if (t.dtype.category === 2) throw new TypeError(`"bitwise_not_cpu" not implemented for '${t.dtype.legacy}'`);
  return unary(t, t.dtype === dt.bool ? (x) => !x : (x) => ~x);
});
op("nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None)", (t, nan, posinf, neginf) => {
  const largest = t.dtype === dt.float64 ? Number.MAX_VALUE : 3.4028234663852886e38;
  const [a, b, c] = [nan === null ? 0 : nan, posinf === null ? largest : posinf, neginf === null ? -largest : neginf];
  return t.dtype.category < 2 ? t.clone() : unary(t, (x) => (Number.isNaN(x) ? a : x === Infinity ? b : x === -Infinity ? c : x));
});

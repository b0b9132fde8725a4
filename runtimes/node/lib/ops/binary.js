/**
 * Functions of two elements: arithmetic, comparisons, logic (`aten/src/ATen/native/BinaryOps.cpp`).
 *
 * Operands broadcast against each other and are promoted to a common dtype. `/` always gives floating point; `//` rounds towards
 * minus infinity and `%` takes the sign of the divisor, as in Python. Each arithmetic function also has its in-place form.
 *
 * How the real one differs: each is a TensorIterator kernel; the scalar forms are overloads that wrap the number in a tensor.
 */
"use strict";

const dt = require("../tensor/dtype");
const { Tensor } = require("../tensor/tensor");
const { op } = require("../script/operators");
const { binary, resultType, floating, exactly, into } = require("../tensor/compute");
const { integerPower, floorDivide, modulo } = require("./special");

/** Declares `name` and its in-place form; at least one operand is a tensor. */
function arithmetic(name, rest, run) {
  op(`${name}(Tensor self, Tensor|Scalar other${rest})`, run);
  op(`${name}_(Tensor self, Tensor|Scalar other${rest})`, (self, ...args) => into(self, run(self, ...args)));
}

/** `a + alpha * b` */
function add(a, b, alpha = 1n) {
  const type = resultType(a, b);
  if (type.category < 2 && !Number.isInteger(Number(alpha)))
    throw new TypeError("For integral input tensors, argument alpha must not be a floating point number.");
  const c = dt.cast(alpha, type === dt.bool ? dt.int64 : type);
  if (type === dt.bool) return binary(a, b, (x, y) => x | y, type);
  if (Number(alpha) === 1) return binary(a, b, (x, y) => x + y, type);
  return binary(a, b, (x, y) => x + c * y, type);
}

function subtract(a, b, alpha = 1n) {
  if (resultType(a, b) === dt.bool) {
    throw new TypeError(
      "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead.",
    );
  }
  return add(a, b, -alpha);
}

function multiply(a, b) {
  const type = resultType(a, b);
  return binary(a, b, type === dt.int32 ? Math.imul : (x, y) => x * y, type);
}

function divide(a, b, rounding = null) {
  if (rounding === null) return binary(a, b, (x, y) => x / y, floating(resultType(a, b)));
  if (rounding === "floor") return floorDivision(a, b);
  if (rounding !== "trunc")
    throw new RangeError(`div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '${rounding}'`);
  const type = resultType(a, b);
  return binary(
    a,
    b,
    exactly(
      type,
      (x, y) => Math.trunc(x / y),
      (x, y) => x / y,
    ),
    type,
  );
}

function floorDivision(a, b) {
  const type = resultType(a, b);
  if (type.category < 2) refuseZero(b);
  return binary(a, b, floorDivide, type);
}

function remainder(a, b) {
  const type = resultType(a, b);
  if (type.category < 2) refuseZero(b);
  return binary(a, b, modulo, type);
}

function refuseZero(b) {
  const values = b instanceof Tensor ? b.data : [Number(b)];
  if (values.includes(0) || values.includes(0n)) throw new RangeError("ZeroDivisionError");
}

function power(a, b) {
  const type = resultType(a, b);
  if (!(b instanceof Tensor) && Number(b) === 2) return multiply(a.to(type), a.to(type));
  if (!(b instanceof Tensor) && type.category < 2 && b < 0)
    throw new RangeError("Integers to negative integer powers are not allowed.");
  return binary(a, b, exactly(type, Math.pow, integerPower), type);
}

const number = (f) => (a, b) => (Number.isNaN(a) ? a : Number.isNaN(b) ? b : f(a, b)); // NaN wins
const larger = number((a, b) => (a > b ? a : b));
const smaller = number((a, b) => (a < b ? a : b));

arithmetic("add", ", *, Scalar alpha=1", add);
arithmetic("sub", ", *, Scalar alpha=1", subtract);
arithmetic("mul", "", multiply);
arithmetic("div", "", divide);
arithmetic("div", ", *, str? rounding_mode", divide);
arithmetic("true_divide", "", divide);
arithmetic("floor_divide", "", floorDivision);
arithmetic("remainder", "", remainder);
arithmetic("fmod", "", (a, b) => {
  if (resultType(a, b).category < 2) refuseZero(b);
  return binary(a, b, (x, y) => x % y);
});
arithmetic("atan2", "", (a, b) => binary(a, b, Math.atan2, floating(resultType(a, b))));
arithmetic("pow", "", power);
op("pow(Scalar self, Tensor exponent)", power);
op("rsub(Tensor self, Tensor|Scalar other, Scalar alpha=1)", (a, b, alpha) => subtract(b, a, alpha));

for (const [name, f] of [
  ["maximum", larger],
  ["minimum", smaller],
])
  op(`${name}(Tensor self, Tensor other)`, (a, b) => binary(a, b, f));
op("max(Tensor self, Tensor other)", (a, b) => binary(a, b, larger));
op("min(Tensor self, Tensor other)", (a, b) => binary(a, b, smaller));

const COMPARISONS = {
  eq: (a, b) => a === b,
  ne: (a, b) => a !== b,
  lt: (a, b) => a < b,
  le: (a, b) => a <= b,
  gt: (a, b) => a > b,
  ge: (a, b) => a >= b,
};

for (const [name, f] of Object.entries(COMPARISONS)) {
  op(`${name}(Tensor self, Tensor|Scalar other)`, (a, b) => binary(a, b, f, resultType(a, b), dt.bool));
}

const LOGIC = { and: (a, b) => a && b, or: (a, b) => a || b, xor: (a, b) => a !== b };

for (const [name, f] of Object.entries(LOGIC)) {
  const truth = (t) => t.to(dt.bool);
  op(`logical_${name}(Tensor self, Tensor other)`, (a, b) => binary(truth(a), truth(b), f, dt.bool));
}

const BITS = {
  and: (a, b) => a & b,
  or: (a, b) => a | b,
  xor: (a, b) => a ^ b,
};

for (const [name, f] of Object.entries(BITS)) {
  const run = (a, b) => {
    const type = resultType(a, b);
    if (type.category === 2) throw new TypeError(`"bitwise_${name}_cpu" not implemented for '${type.legacy}'`);
    return binary(a, b, f, type);
  };
  arithmetic(`bitwise_${name}`, "", run);
  op(`__${name}__(Tensor self, Tensor|Scalar other)`, run);
  op(`__i${name}__(Tensor self, Tensor|Scalar other)`, (self, other) => into(self, run(self, other)));
}

op("lerp(Tensor self, Tensor end, Tensor|Scalar weight)", (a, b, weight) => add(a, multiply(subtract(b, a), weight)));
const ofOneDtype = (run) => (t, a, b, value) => {
  if (a.dtype !== t.dtype || b.dtype !== t.dtype)
    throw new TypeError("addcmul and addcdiv of several dtypes are not known to this runtime");
  return add(t, run(a, b), value);
};
op("addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1)", ofOneDtype(multiply));
op("addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1)", ofOneDtype(divide));

const CLAMP = "Tensor self, Tensor|Scalar? min=None, Tensor|Scalar? max=None";

function clamp(t, min, max) {
  if (min === null && max === null) throw new TypeError("torch.clamp: At least one of 'min' or 'max' must not be None");
  const low = min === null ? t : binary(t, min, larger);
  return max === null ? low : binary(low, max, smaller);
}

op(`clamp(${CLAMP})`, clamp);
op(`clamp_(${CLAMP})`, (self, min, max) => into(self, clamp(self, min, max)));
op("clamp_min(Tensor self, Tensor|Scalar min)", (t, min) => clamp(t, min, null));
op("clamp_min_(Tensor self, Tensor|Scalar min)", (t, min) => into(t, clamp(t, min, null)));
op("clamp_max(Tensor self, Tensor|Scalar max)", (t, max) => clamp(t, null, max));
op(
  "equal(Tensor self, Tensor other)",
  (a, b) => a.sizes.join() === b.sizes.join() && binary(a, b, COMPARISONS.eq).data.every(Boolean),
);
op(
  "isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False)",
  (a, b, rtol, atol, equalNan) => {
    if (!(rtol >= 0 && atol >= 0)) throw new RangeError("rtol and atol must be greater than or equal to zero");
    const close = (x, y) =>
      x === y || (Number.isFinite(y) && Math.abs(x - y) <= atol + rtol * Math.abs(y)) || (equalNan && Number.isNaN(x) && Number.isNaN(y));
    return binary(a, b, close, floating(resultType(a, b)), dt.bool);
  },
);

module.exports = { add, subtract, multiply, divide, power, larger, smaller, clamp };

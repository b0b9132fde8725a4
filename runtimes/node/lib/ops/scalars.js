/**
 * Operators on ints, floats and bools (`torch/csrc/jit/runtime/register_prim_ops.cpp`).
 *
 * An int is a BigInt and a float a number, so each name is declared once for ints and once for what contains a float. Ints wrap at
 * 64 bits. `/` of ints is a float, `//` rounds towards minus infinity, `%` takes the sign of the divisor.
 *
 * How the real one differs: a remainder by zero ends the process; here it is an error.
 */
"use strict";

const { scalarOp, call } = require("../script/operators");
const { equal } = require("../script/values");
const { ScriptError } = require("../errors");
const { floorDivide, modulo, roundHalfToEven, lgamma } = require("./special");

const wrap = (x) => BigInt.asIntN(64, x);

/** For two ints, and for anything with a float in it. */
function both(name, ints, floats) {
  scalarOp(`${name}(int a, int b)`, ints);
  scalarOp(`${name}(float a, float b)`, floats); // an int among them is converted
}

both(
  "add",
  (a, b) => wrap(a + b),
  (a, b) => a + b,
);
both(
  "sub",
  (a, b) => wrap(a - b),
  (a, b) => a - b,
);
both(
  "mul",
  (a, b) => wrap(a * b),
  (a, b) => a * b,
);
both(
  "div",
  (a, b) => Number(a) / Number(b),
  (a, b) => a / b,
);
both("floordiv", floorDivide, floorDivide);
both("remainder", modulo, (a, b) => (b === 0 ? NaN : modulo(a, b)));
both(
  "fmod",
  (a, b) => Number(a) % Number(b),
  (a, b) => a % b,
);
both(
  "pow",
  (a, b) => Number(a) ** Number(b),
  (a, b) => a ** b,
);
both(
  "prim.max",
  (a, b) => (a > b ? a : b),
  (a, b) => (a > b ? a : b),
);
both(
  "prim.min",
  (a, b) => (a < b ? a : b),
  (a, b) => (a < b ? a : b),
);
both("atan2", (a, b) => Math.atan2(Number(a), Number(b)), Math.atan2);
both(
  "copysign",
  (a, b) => (b < 0n ? -1 : 1) * Math.abs(Number(a)),
  (a, b) => (b < 0 || Object.is(b, -0) ? -1 : 1) * Math.abs(a),
);

const COMPARISONS = { lt: (a, b) => a < b, le: (a, b) => a <= b, gt: (a, b) => a > b, ge: (a, b) => a >= b };
for (const [name, f] of Object.entries(COMPARISONS)) {
  scalarOp(`${name}(Scalar a, Scalar b)`, f); // BigInts and numbers compare exactly
  scalarOp(`${name}(str a, str b)`, f);
}

for (const name of ["eq", "prim.eq"]) scalarOp(`${name}(any a, any b)`, equal);
scalarOp("ne(any a, any b)", (a, b) => !equal(a, b));
scalarOp("__is__(any t1, any t2)", (a, b) => a === b);
scalarOp("__isnot__(any t1, any t2)", (a, b) => a !== b);
scalarOp("__not__(bool self)", (a) => !a);

const BITS = {
  and: [(a, b) => a && b, (a, b) => a & b],
  or: [(a, b) => a || b, (a, b) => a | b],
  xor: [(a, b) => a !== b, (a, b) => a ^ b],
};
for (const [name, [bools, ints]] of Object.entries(BITS)) {
  scalarOp(`__${name}__(bool a, bool b)`, bools);
  scalarOp(`__${name}__(int a, int b)`, ints);
}

scalarOp("__lshift__(int a, int b)", (a, b) => wrap(a << (b & 63n))); // as processors do
scalarOp("__rshift__(int a, int b)", (a, b) => a >> (b & 63n));
scalarOp("bitwise_not(int a)", (a) => ~a);

scalarOp("neg(int a)", (a) => wrap(-a));
scalarOp("neg(float a)", (a) => -a);
scalarOp("abs(int a)", (a) => (a < 0n ? wrap(-a) : a));
scalarOp("abs(float a)", Math.abs);
scalarOp("prim.abs(int a)", (a) => (a < 0n ? wrap(-a) : a));
scalarOp("prim.abs(float a)", Math.abs);
scalarOp("prim.abs(Tensor x)", (x) => call("abs", [x], []));

/** To integers. */
for (const [name, f] of [
  ["floor", Math.floor],
  ["ceil", Math.ceil],
]) {
  scalarOp(`${name}(int a)`, (a) => a);
  scalarOp(`${name}(float a)`, (a) => BigInt(f(a)));
}
scalarOp("trunc(float a)", (a) => BigInt(Math.trunc(a)));
scalarOp("round(float a)", roundHalfToEven);
scalarOp("round(int a)", Number);
scalarOp("floordiv(Scalar a, Scalar b)", (a, b) => floorDivide(Number(a), Number(b)));

/** To floats. */
const FUNCTIONS = {
  sqrt: Math.sqrt,
  exp: Math.exp,
  expm1: Math.expm1,
  log1p: Math.log1p,
  log2: Math.log2,
  log10: Math.log10,
  sin: Math.sin,
  cos: Math.cos,
  tan: Math.tan,
  asin: Math.asin,
  acos: Math.acos,
  atan: Math.atan,
  sinh: Math.sinh,
  cosh: Math.cosh,
  tanh: Math.tanh,
  asinh: Math.asinh,
  acosh: Math.acosh,
  atanh: Math.atanh,
  fabs: Math.abs,
  lgamma,
  degrees: (x) => (x * 180) / Math.PI,
  radians: (x) => (x * Math.PI) / 180,
};
for (const [name, f] of Object.entries(FUNCTIONS)) scalarOp(`${name}(float a)`, f);
scalarOp("log(float a)", Math.log);
scalarOp("log(float a, float b)", (a, base) => Math.log(a) / Math.log(base));

scalarOp("isnan(float a)", Number.isNaN);
scalarOp("isinf(float a)", (a) => a === Infinity || a === -Infinity);
scalarOp("isfinite(float a)", Number.isFinite);
scalarOp("gcd(int a, int b)", (a, b) => {
  let [x, y] = [a < 0n ? -a : a, b < 0n ? -b : b];
  while (y) [x, y] = [y, x % y];
  return x;
});
scalarOp("factorial(int a)", (n) => {
  let product = 1n;
  if (n < 0n) throw new ScriptError("factorial() not defined for negative values");
  for (let i = 2n; i <= n && product; i++) product = wrap(product * i); // 66! has 64 factors of 2: what follows stays 0
  return product;
});
scalarOp("__range_length(int lo, int hi, int step)", (low, high, step) => {
  if (step === 0n) throw new RangeError("range() arg 3 must not be zero");
  if (step > 0n) return low < high ? 1n + (high - 1n - low) / step : 0n;
  return low > high ? 1n + (low - 1n - high) / -step : 0n;
});
scalarOp("__derive_index(int index, int start, int step)", (index, start, step) => wrap(start + index * step));
scalarOp("Int(Scalar a)", (a) => (typeof a === "bigint" ? a : BigInt(Math.trunc(Number(a)))));
scalarOp("Float(Scalar a)", Number);

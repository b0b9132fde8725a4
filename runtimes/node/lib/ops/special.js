/**
 * Functions that JavaScript's Math lacks (`aten/src/ATen/native/Math.h`).
 *
 * How the real one differs: rational approximations tabulated per interval, faster and accurate to the last bit.
 */
"use strict";

/** The error function, by a series of positive terms: erf(x) = 2/sqrt(pi) exp(-x^2) (x + 2x^3/3 + 4x^5/15 + ...). */
function erf(x) {
  if (Number.isNaN(x)) return x;
  if (Math.abs(x) > 6) return Math.sign(x); // closer to 1 than doubles can say
  const square = 2 * x * x;
  let term = x;
  let sum = x;
  for (let n = 3; Math.abs(term) > 1e-17 * Math.abs(sum); n += 2) {
    term *= square / n;
    sum += term;
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
}

/** To the nearest integer, halves to the even one, as C's nearbyint and Python's round. */
function roundHalfToEven(x) {
  const down = Math.floor(x);
  const rest = x - down;
  if (rest !== 0.5) return rest < 0.5 ? down : down + 1;
  return down % 2 === 0 ? down : down + 1;
}

const LANCZOS = [
  0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059, 12.507343278686905,
  -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
];

/** The logarithm of the absolute value of the gamma function, by Lanczos' approximation. */
function lgamma(x) {
  if (x < 0.5) return Math.log(Math.abs(Math.PI / Math.sin(Math.PI * x))) - lgamma(1 - x);
  const z = x - 1;
  const t = z + 7.5;
  const sum = LANCZOS.reduce((a, c, i) => (i ? a + c / (z + i) : c));
  return 0.5 * Math.log(2 * Math.PI) + (z + 0.5) * Math.log(t) - t + Math.log(sum);
}

/** An integer power within 64 bits, by repeated squaring; a negative power of anything but 1 and -1 is 0. */
function integerPower(base, exponent) {
  if (exponent < 0n) return base === 1n || (base === -1n && exponent % 2n === 0n) ? 1n : base === -1n ? -1n : 0n;
  let result = 1n;
  for (let b = base, e = exponent; e > 0n; e >>= 1n) {
    if (e & 1n) result = BigInt.asIntN(64, result * b);
    b = BigInt.asIntN(64, b * b);
  }
  return result;
}

/** Quotient towards minus infinity; the pair of it, `modulo`, takes the sign of the divisor, as in Python. */
function floorDivide(a, b) {
  if (typeof a === "number") {
    if (b === 0) return a / b;
    const rest = a % b;
    return Math.floor((a - rest) / b - (rest !== 0 && rest < 0 !== b < 0 ? 1 : 0) + 0.5);
  }
  if (b === 0n) throw new RangeError("division by 0");
  const quotient = a / b;
  return a % b !== 0n && a < 0n !== b < 0n ? quotient - 1n : quotient;
}

function modulo(a, b) {
  if (b === 0n) throw new RangeError("division by 0");
  const rest = a % b;
  return rest && rest < 0 !== b < 0 ? rest + b : rest;
}

module.exports = { erf, lgamma, roundHalfToEven, integerPower, floorDivide, modulo };

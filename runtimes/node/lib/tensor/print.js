/**
 * A tensor as text, as C++ prints it (`aten/src/ATen/core/Formatting.cpp`).
 *
 * Numbers in columns of one width, four decimals if any of them is not whole, a common factor such as `1e-05 *` if they are very
 * small or large, and under them `[ CPUFloatType{2,3} ]`. Matrices of a larger tensor come one by one, headed by their position.
 *
 * How the real one differs: it breaks rows that are wider than 80 characters into groups of columns.
 */
"use strict";

const { significant } = require("../script/values");

/** @param {import("./tensor").Tensor} t */
function tensorText(t) {
  const footer = `[ CPU${t.dtype.legacy}Type{${t.sizes.join(",")}} ]`;
  if (t.dim === 0) return `${significant(Number(t.item()), 6)}\n${footer}`;
  if (t.numel === 0) return footer;
  if (t.dim === 1) return `${matrix(t.reshape([t.numel, 1]), t)}\n${footer}`;
  if (t.dim === 2) return `${matrix(t, t)}\n${footer}`;
  return `${matrices(t)}\n${footer}`;
}

function matrices(t) {
  const lead = t.sizes.slice(0, -2);
  const stack = t.reshape([-1, ...t.sizes.slice(-2)]);
  const texts = [];
  for (let i = 0; i < stack.sizes[0]; i++) {
    const position = lead.map((n, d) => (Math.floor(i / lead.slice(d + 1).reduce((a, b) => a * b, 1)) % n) + 1);
    texts.push(`(${position.join(",")},.,.) = \n${matrix(stack.select(0, i), t)}`);
  }
  return texts.join("\n\n");
}

function matrix(m, whole) {
  const { scale, show } = format(Array.from(whole.data, Number));
  const rows = m.tolist().map((row) => row.map((x) => show(Number(x))));
  const width = Math.max(...rows.flat().map((s) => s.length));
  const body = rows.map((row) => ` ${row.map((s) => s.padStart(width)).join(" ")}`).join("\n");
  return scale === 1 ? body : `${significant(scale, 6)} *\n${body}`;
}

/** A common factor, and how one number is written. */
function format(values) {
  const finite = values.filter(Number.isFinite).map(Math.abs);
  const special = (x) => (Number.isNaN(x) ? "nan" : x > 0 ? "inf" : "-inf");
  if (finite.every(Number.isInteger)) return { scale: 1, show: (x) => (Number.isFinite(x) ? x.toFixed(0) : special(x)) };
  const exponent = (x) => (x === 0 ? 1 : Math.floor(Math.log10(x)) + 1);
  const [low, high] = [exponent(Math.min(...finite)), exponent(Math.max(...finite))];
  const scale = high - low > 4 ? 1 : high > 5 || high < 0 ? 10 ** (high - 1) : 1;
  const show = (x) => {
    if (!Number.isFinite(x)) return special(x);
    return high - low > 4 ? x.toExponential(4).replace(/e([-+])(\d)$/, "e$10$2") : (x / scale).toFixed(4);
  };
  return { scale, show };
}

module.exports = { tensorText };

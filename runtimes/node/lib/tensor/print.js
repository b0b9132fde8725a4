/**
 * A tensor as text, as C++ prints it (`aten/src/ATen/core/Formatting.cpp`).
 *
 *      1.0000  2.5000
 *      3.0000  4.0000
 *     [ CPUFloatType{2,2} ]
 *
 * Numbers stand in columns of one width; if any of them is not whole, with four decimals, and with a common factor if they are very
 * large or very small. Rows beyond 80 characters are broken into groups of columns.
 *
 * How the real one differs: it also prints complex, quantised and sparse tensors.
 */
"use strict";

const { significant } = require("../script/values");
const { numel } = require("./geometry");

const LINE = 80;

/** @param {import("./tensor").Tensor} t */
function tensorText(t) {
  const type = `[ CPU${t.dtype.legacy}Type{${t.sizes.join(",")}} ]`;
  if (t.dim === 0) return `${significant(Number(t.item()), 6)}\n${type}`;
  if (t.numel === 0) return type;
  if (t.dim === 1) return column(Array.from(t.data, Number)) + type;
  if (t.dim === 2) return matrix(t, 0) + type;
  const lead = t.sizes.slice(0, -2);
  const texts = [];
  for (let i = 0; i < numel(lead); i++) {
    const index = positionOf(i, lead);
    const at = index.reduce((sub, k) => sub.select(0, k), t);
    texts.push(`(${index.map((k) => k + 1).join(",")},.,.) = \n${matrix(at, 1)}`);
  }
  return texts.join("\n") + type;
}

/** The i-th position, where the first index runs fastest. */
function positionOf(i, lead) {
  let rest = i;
  return lead.map((n) => {
    const k = rest % n;
    rest = Math.floor(rest / n);
    return k;
  });
}

function column(values) {
  const { scale, width, show } = format(values);
  return scaleLine(scale) + values.map((v) => `${show(v / scale).padStart(width)}\n`).join("");
}

function matrix(m, indent) {
  const { scale, width, show } = format(Array.from(m.data, Number));
  const margin = " ".repeat(indent);
  const perLine = Math.max(1, Math.floor((LINE - indent) / (width + 1)));
  const rows = m.tolist().map((row) => row.map((v) => show(Number(v) / scale).padStart(width)));
  const columns = m.sizes[1];
  let text = margin;
  for (let first = 0; first < columns; first += perLine) {
    const last = Math.min(first + perLine, columns);
    if (perLine < columns) text += `${first ? "\n" : ""}Columns ${first + 1} to ${last}${margin}`;
    if (scale !== 1) text += scaleLine(scale) + margin;
    text += `${rows.map((row) => row.slice(first, last).join(" ")).join(`\n${margin}${scale !== 1 ? " " : ""}`)}\n`;
  }
  return text;
}

const scaleLine = (scale) => (scale === 1 ? "" : `${significant(scale, 6)} *\n`);

/** A common factor, the width of a column, and how one number is written. */
function format(values) {
  const finite = values.filter(Number.isFinite).map(Math.abs);
  const digits = (x) => (x ? Math.floor(Math.log10(x)) + 1 : 1);
  const [low, high] = finite.length ? [digits(Math.min(...finite)), digits(Math.max(...finite))] : [1, 1];
  if (finite.every(Number.isInteger)) {
    return high > 9 ? { scale: 1, width: 11, show: scientific } : { scale: 1, width: high + 1, show: (x) => significant(x, 6) };
  }
  if (high - low > 4) return { scale: 1, width: Math.max(Math.abs(high), Math.abs(low)) > 99 ? 12 : 11, show: scientific };
  if (high > 5 || high < 0) return { scale: 10 ** (high - 1), width: 7, show: fixed };
  return { scale: 1, width: high === 0 ? 7 : high + 6, show: fixed };
}

const special = (x, write) => (Number.isFinite(x) ? write(x) : significant(x, 6));
const fixed = (x) => special(x, () => x.toFixed(4));
const scientific = (x) => special(x, () => x.toExponential(4).replace(/e([-+])(\d)$/, "e$10$2"));

module.exports = { tensorText };

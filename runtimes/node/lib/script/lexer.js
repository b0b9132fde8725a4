/**
 * Archived code into tokens (`torch/csrc/jit/frontend/lexer.cpp`).
 *
 * The code in an archive is Python of a restricted kind. Indentation becomes `indent` and `dedent` tokens; inside brackets line
 * ends and indentation mean nothing. `3` is an int and becomes a BigInt, `3.` is a float and becomes a number.
 *
 * How the real one differs: its table of tokens covers all of TorchScript's front end; an archive uses a fraction of it.
 */
"use strict";

const { ArchiveError } = require("../errors");

/** @typedef {{kind: "name"|"value"|"op"|"newline"|"indent"|"dedent"|"end", text: string, value?: any, line: number}} Token */

const PATTERNS = [
  ["name", /[A-Za-z_]\w*/y],
  ["float", /(?:\d+\.\d*|\.\d+)(?:[eE][-+]?\d+)?j?|\d+[eE][-+]?\d+j?|\d+j/y],
  ["int", /\d+/y],
  ["string", /"(?:[^"\\\n]|\\[^])*"|'(?:[^'\\\n]|\\[^])*'/y],
  ["op", /->|==|\*\*|[-+*/%@()[\]{},:.=;<>&|^~]/y],
];
const SIMPLE_ESCAPES = { n: 10, t: 9, r: 13, a: 7, b: 8, f: 12, v: 11, "\\": 92, "'": 39, '"': 34, "?": 63, 0: 0 };

/** @returns {Token[]} */
function tokenize(source, record) {
  const tokens = [];
  const indents = [0];
  let depth = 0;
  let line = 1;
  let at = 0;
  const fail = (why) => {
    throw new ArchiveError(`line ${line}: ${why}`, record);
  };
  const push = (kind, text, value) => tokens.push({ kind, text, value, line });
  while (at < source.length) {
    if (depth === 0 && (at === 0 || source[at - 1] === "\n")) {
      at = indentation(source, at, indents, push, fail);
      if (at >= source.length) break;
    }
    const c = source[at];
    if (c === "\n") {
      if (depth === 0 && tokens.length && tokens[tokens.length - 1].kind !== "newline") push("newline", "\\n");
      line++;
      at++;
    } else if (c === " " || c === "\t" || c === "\r") {
      at++;
    } else if (c === "#") {
      while (at < source.length && source[at] !== "\n") at++;
    } else {
      const [kind, text] = match(source, at) || fail(`unexpected character ${JSON.stringify(c)}`);
      at += text.length;
      if (kind === "op") depth += "([{".includes(text) ? 1 : ")]}".includes(text) ? -1 : 0;
      if (depth < 0) fail(`unexpected ${text}`);
      if (kind === "float" && text.endsWith("j")) fail("complex numbers are not known to this runtime");
      if (kind === "name" || kind === "op") push(kind, text);
      else push("value", text, kind === "int" ? BigInt(text) : kind === "float" ? Number(text) : unescape(text, fail));
    }
  }
  if (depth) fail("a bracket is not closed");
  if (tokens.length && tokens[tokens.length - 1].kind !== "newline") push("newline", "\\n");
  for (; indents.length > 1; indents.pop()) push("dedent", "");
  push("end", "end of file");
  return tokens;
}

/** Compares the beginning of a line with the indentation so far; returns where the line's text begins. */
function indentation(source, start, indents, push, fail) {
  let at = start;
  while (source[at] === " ") at++;
  if (source[at] === "\n" || source[at] === "#" || at >= source.length) return at;
  const width = at - start;
  if (width > indents[indents.length - 1]) {
    indents.push(width);
    push("indent", "");
  }
  while (width < indents[indents.length - 1]) {
    indents.pop();
    push("dedent", "");
  }
  if (width !== indents[indents.length - 1]) fail("indentation does not match");
  return at;
}

function match(source, at) {
  for (const [kind, pattern] of PATTERNS) {
    pattern.lastIndex = at;
    const found = pattern.exec(source);
    if (found) return [kind, found[0]];
  }
  return null;
}

/** The string between quotes. Escapes, three-digit octal ones included, are bytes, and the bytes are UTF-8. */
function unescape(quoted, fail) {
  const body = quoted.slice(1, -1);
  if (!body.includes("\\")) return body;
  const bytes = [];
  const plain = new TextEncoder();
  const parts = /\\([0-7]{1,3}|x[0-9a-fA-F]{2}|[^])|[^\\]+/g;
  for (const [piece, escape] of body.matchAll(parts)) {
    if (escape === undefined) bytes.push(...plain.encode(piece));
    else if (/^[0-7]/.test(escape)) bytes.push(parseInt(escape, 8) & 0xff);
    else if (/^x./.test(escape)) bytes.push(parseInt(escape.slice(1), 16));
    else if (escape in SIMPLE_ESCAPES) bytes.push(SIMPLE_ESCAPES[escape]);
    else fail(`unknown escape \\${escape}`);
  }
  return new TextDecoder().decode(Uint8Array.from(bytes));
}

module.exports = { tokenize };

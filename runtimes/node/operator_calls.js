/**
 * Single calls of operators, which tests/runtimes/runtime_calls.py made from signatures: `node check.js --operators FILE FROM`.
 *
 * FILE, which `torch.save` wrote, holds `{"calls": [{"operator", "inputs", "keywords"}, ...]}`, some with what they must give,
 * "expected". A line says what became of each, from number FROM on: "same", "differs: ...", "answered" where nothing is expected,
 * "refused: ...". Anything but a ScriptError ends the program, and the line that is missing says at which call.
 *
 * How the real one differs: PyTorch's operators are called with random arguments from Python (`torch/testing/_internal/opinfo`).
 */
"use strict";

const { ScriptError } = require("./lib/errors");
const { call: operator, TABLE } = require("./lib/script/operators");
const { str } = require("./lib/script/values");
const { limits } = require("./lib/limits");

const MEMORY = 2 ** 26; // bytes of one value: what a hostile call may take

const qualified = (name) => (name.includes(".") ? name.replace(".", "::") : `aten::${name}`);

/** One line for each signature: the operator's name as in graphs, and the text. */
function signatures() {
  return [...TABLE].flatMap(([name, overloads]) => overloads.map(({ text }) => `${qualified(name)} ${text}`));
}

/** What becomes of one call; `compare` throws where two values differ. */
function outcome(call, compare) {
  const inputs = call.get("inputs");
  const names = call.get("keywords");
  const split = inputs.length - names.length;
  const name = call.get("operator").replace(/^aten::/, "").replace("::", ".");
  let result;
  try {
    result = operator(
      name,
      inputs.slice(0, split),
      names.map((key, i) => [key, inputs[split + i]]),
    );
    str(result);
  } catch (error) {
    if (!(error instanceof ScriptError)) throw error;
    return `refused: ${error.message}`;
  }
  if (!call.has("expected")) return "answered";
  try {
    compare(result === undefined ? null : result, call.get("expected"), "the result");
    return "same";
  } catch (error) {
    return `differs: ${error.message}`;
  }
}

function makeCalls(calls, from, compare) {
  limits.mostBytes = MEMORY;
  console.log("loaded");
  for (let i = from; i < calls.length; i++) console.log(`${i} ${outcome(calls[i], compare).replace(/\n/g, " ")}`);
}

module.exports = { signatures, makeCalls };

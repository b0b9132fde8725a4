/**
 * Runs saved programs and compares what they give: `node check.js FOLDER_OR_FILES...`
 *
 * Beside every archive NAME.pt lies NAME.case.pt, a file of `torch.save` with `{"calls": [{"method", "inputs", "expected"}, ...]}` (or
 * "raises", a text that must occur in the error). One line is printed per archive, then how many passed; the exit status is 1 if
 * any failed. The C++ runtime has a program of the same name that does the same.
 *
 * `node check.js --signatures` lists the operators, `--operators FILE FROM` makes single calls of them (`operator_calls.js`).
 *
 * How the real one differs: PyTorch compares such things in Python, with `torch.testing.assert_close`.
 */
"use strict";

const fs = require("fs");
const path = require("path");
const { ScriptModule, Tensor, Tuple } = require("./index");
const { ArchiveReader } = require("./lib/archive/zip_reader");
const { unpickle } = require("./lib/archive/pickle_reader");
const { findGlobal, storageLoader } = require("./lib/archive/globals");
const { typeName, str, equal } = require("./lib/script/values");
const { signatures, makeCalls } = require("./operator_calls");

const TOLERANCE = { float32: 1e-5, float64: 1e-12 };
const FLOAT_TOLERANCE = 1e-6; // of a float that may stem from a float32 tensor

/** What `torch.save` wrote. */
function loadSaved(file) {
  const reader = new ArchiveReader(fs.readFileSync(file), path.basename(file));
  return unpickle(reader.read("data.pkl"), { record: "data.pkl", findGlobal, loadStorage: storageLoader(reader, "data") });
}

/** The archives named on the command line. */
function archives(paths) {
  return paths.flatMap((p) => {
    if (!fs.statSync(p).isDirectory()) return [p];
    const files = fs.readdirSync(p).filter((f) => f.endsWith(".pt") && !f.endsWith(".case.pt"));
    return files.sort().map((f) => path.join(p, f));
  });
}

const caseFile = (file) => file.replace(/\.pt$/, ".case.pt");

/** Runs every call of one archive; throws at the first that differs. */
function checkArchive(file) {
  const module = new ScriptModule(file);
  module.interpreter.print = () => {};
  const calls = loadSaved(caseFile(file)).get("calls");
  if (!Array.isArray(calls) || !calls.length) throw new Error("the case file has no calls");
  calls.forEach((call, i) => {
    const where = `call ${i} of ${call.get("method")}`;
    if (call.has("raises")) return expectError(module, call, where);
    const result = module.callMethod(call.get("method"), ...call.get("inputs"));
    return compare(result, call.get("expected"), where);
  });
}

function expectError(module, call, where) {
  let result;
  try {
    result = module.callMethod(call.get("method"), ...call.get("inputs"));
  } catch (error) {
    if (error.message.includes(call.get("raises"))) return;
    throw new Error(`${where}: expected an error with "${call.get("raises")}", got "${error.message}"`);
  }
  throw new Error(`${where}: expected an error with "${call.get("raises")}", got ${typeName(result)}`);
}

/** Throws where two values differ, naming the place. */
function compare(actual, expected, where) {
  const fail = (why) => {
    throw new Error(`${where}: ${why}`);
  };
  if (expected instanceof Tensor)
    return actual instanceof Tensor
      ? compareTensors(actual, expected, fail)
      : fail(`a tensor was expected, not ${typeName(actual)}`);
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual instanceof Tuple !== expected instanceof Tuple)
      fail(`${typeName(expected)} was expected, not ${typeName(actual)}`);
    if (actual.length !== expected.length) fail(`${expected.length} elements were expected, not ${actual.length}`);
    expected.forEach((value, i) => compare(actual[i], value, `${where}[${i}]`));
  } else if (expected instanceof Map) {
    if (!(actual instanceof Map) || actual.size !== expected.size)
      fail(`a dict of ${expected.size} was expected, not ${typeName(actual)}`);
    if (!equal([...actual.keys()], [...expected.keys()]))
      fail(`the keys ${str([...expected.keys()])} were expected, not ${str([...actual.keys()])}`);
    for (const [key, value] of expected) compare(actual.get(key), value, `${where}[${str(key)}]`);
  } else if (typeof expected !== typeof actual)
    fail(`${typeName(expected)} ${str(expected)} was expected, not ${typeName(actual)} ${str(actual)}`);
  else if (typeof expected === "number" ? !close(actual, expected, Math.abs(expected), FLOAT_TOLERANCE) : actual !== expected) {
    fail(`${str(expected)} was expected, not ${str(actual)}`);
  }
  return undefined;
}

function compareTensors(actual, expected, fail) {
  if (actual.dtype !== expected.dtype) fail(`${expected.dtype.name} was expected, not ${actual.dtype.name}`);
  if (actual.sizes.join() !== expected.sizes.join()) fail(`sizes [${expected.sizes}] were expected, not [${actual.sizes}]`);
  const [a, b] = [actual.data, expected.data];
  const tolerance = TOLERANCE[expected.dtype.name];
  const largest = tolerance ? b.reduce((m, x) => (Number.isFinite(x) ? Math.max(m, Math.abs(x)) : m), 0) : 0;
  for (let i = 0; i < b.length; i++) {
    const same = tolerance ? close(a[i], b[i], largest, tolerance) : a[i] === b[i];
    if (!same) fail(`element ${i} of [${expected.sizes}] is ${a[i]}, not ${b[i]}`);
  }
}

const close = (a, b, largest, tolerance) =>
  a === b || (Number.isNaN(a) && Number.isNaN(b)) || Math.abs(a - b) <= tolerance * largest;

function main(paths) {
  const counts = { passed: 0, failed: 0 };
  for (const file of archives(paths)) {
    const name = path.basename(file, ".pt");
    try {
      checkArchive(file);
      counts.passed++;
      console.log(`ok ${name}`);
    } catch (error) {
      counts.failed++;
      console.log(`FAILED ${name}: ${error.message.split("\n")[0]}`);
    }
  }
  console.log(`${counts.passed} passed, ${counts.failed} failed`);
  return counts.failed || !(counts.passed + counts.failed) ? 1 : 0;
}

if (require.main === module) {
  const [, , option, file, from] = process.argv;
  if (option === "--signatures") {
    console.log(signatures().join("\n"));
  } else if (option === "--operators") {
    makeCalls(loadSaved(file).get("calls"), Number(from), compare);
  } else if (process.argv.length < 3) {
    console.error("usage: node check.js FOLDER_OR_FILES...");
    process.exitCode = 2;
  } else process.exitCode = main(process.argv.slice(2));
}

module.exports = { compare, loadSaved, checkArchive };

/**
 * A saved module, loaded: `new ScriptModule("resnet18_trace.pt").forward(x)` (`torch/csrc/jit/serialization/import.cpp`,
 * `torch/csrc/jit/api/module.h`).
 *
 * Loading reads `data.pkl` (the tree of module objects with their tensors) and `constants.pkl`; code is parsed for the classes that
 * appear, and runs when a method is called.
 *
 * How the real one differs: `torch::jit::load` also moves tensors to devices, and optimises the code when it first runs.
 */
"use strict";

const { ArchiveError, ScriptError, guarded } = require("./errors");
const { ArchiveReader } = require("./archive/zip_reader");
const { unpickle } = require("./archive/pickle_reader");
const { findGlobal, storageLoader } = require("./archive/globals");
const { CompilationUnit } = require("./script/compilation_unit");
const { Interpreter } = require("./script/interpreter");
const { ScriptObject, EnumValue } = require("./script/values");
const { graphText } = require("./script/graph");
const { fromJavaScript } = require("./script/types");
const { moduleText } = require("./module_text");
const { Tensor } = require("./tensor/tensor");
const dt = require("./tensor/dtype");
require("./ops/index");

const NEWEST_VERSION = 10;

class ScriptModule {
  /** @param {string|ArrayBuffer|Uint8Array} source  a path (in Node) or the bytes of the file */
  constructor(source) {
    if (!new.target) throw new TypeError("ScriptModule::New - called without new keyword");
    const { bytes, name } = open(source);
    this.reader = new ArchiveReader(bytes, name);
    guarded(ArchiveError, `${name}: cannot be loaded`, () => this.load());
    for (const method of this.methodNames()) {
      if (!(method in this)) this[method] = (...args) => this.callMethod(method, ...args);
    }
  }

  load() {
    const { reader } = this;
    if (reader.has("model.json")) {
      throw new ArchiveError(`${reader.name} has PyTorch 1.0.1's layout; convert it: python -m internals convert IN OUT`);
    }
    this.version = readVersion(reader);
    this.unit = new CompilationUnit(reader);
    this.interpreter = new Interpreter(this.unit, this.version);
    this.interpreter.constants = readConstants(this.unpickle("constants"));
    this.object = this.unpickle("data");
    if (!(this.object instanceof ScriptObject)) throw new ArchiveError("the archive's root is no module", "data.pkl");
  }

  unpickle(name) {
    return unpickle(this.reader.read(`${name}.pkl`), {
      record: `${name}.pkl`,
      loadStorage: storageLoader(this.reader, name),
      findGlobal: (module, global) => findGlobal(module, global) || this.scripted(`${module}.${global}`),
    });
  }

  /** A class of the archive's code as the pickle uses it. */
  scripted(name) {
    const type = this.unit.type(name);
    if (type.base !== "Enum") return type;
    return { name, call: ([value]) => this.enumMember(type, value) };
  }

  enumMember(type, value) {
    const members = type.fields.map((field) => this.interpreter.member(type, field.name));
    return members.find((m) => m.value === value) || new EnumValue(type, "?", value);
  }

  /** Runs `forward`. */
  forward(...inputs) {
    return this.callMethod("forward", ...inputs);
  }

  /** Runs a method. Numbers become ints, arrays tuples, and objects dicts where the method's signature says so. */
  callMethod(name, ...inputs) {
    const def = this.object.type.methods.get(name);
    if (!def) throw new ScriptError(`Method '${name}' is not defined.`);
    const params = def.params.slice(1);
    if (inputs.length > params.length) {
      throw new TypeError(`${name}() expected at most ${params.length} argument(s) but received ${inputs.length} argument(s).`);
    }
    const tensor = { kind: "Name", name: "Tensor" };
    const args = inputs.map((x, i) => fromJavaScript(x, params[i].type || tensor, `${name}() argument '${params[i].name}'`));
    this.interpreter.depth = 0;
    return guarded(ScriptError, "", () => this.interpreter.run(def, [this.object, ...args]));
  }

  /** The names of the methods that the archive has code for. */
  methodNames() {
    return [...this.object.type.methods.keys()];
  }

  /** Every tensor attribute by its path, `layer1.0.conv1.weight`, parameters and buffers alike. @returns {Map<string, Tensor>} */
  tensors() {
    const found = new Map();
    const visit = (object, prefix) => {
      for (const [name, value] of object.attributes) {
        if (value instanceof Tensor) found.set(prefix + name, value);
        else if (value instanceof ScriptObject) visit(value, `${prefix}${name}.`);
      }
    };
    visit(this.object, "");
    return found;
  }

  /** The archive's code: record name -> text. */
  get code() {
    const records = [...this.reader.records.keys()].filter((name) => name.startsWith("code/") && name.endsWith(".py"));
    return new Map(records.map((name) => [name, this.reader.text(name)]));
  }

  /** The nodes that `method` runs, one a line, in the style of PyTorch's graphs. */
  graph(method = "forward") {
    return graphText(this.object, method);
  }

  toString() {
    return moduleText(this.object);
  }

  [Symbol.for("nodejs.util.inspect.custom")]() {
    return this.toString();
  }
}

/** Constants of the code; a tensor without dimensions was a number in Python, and takes part in promotion as one. */
function readConstants(constants) {
  if (!Array.isArray(constants)) throw new ArchiveError("is no tuple", "constants.pkl");
  const numbers = constants.filter((c) => c instanceof Tensor && c.dim === 0 && (c.dtype === dt.int64 || c.dtype === dt.float64));
  for (const number of numbers) number.isNumber = true;
  return constants;
}

/** The version of the format, in a record that moved when archives of version 6 came. */
function readVersion(reader) {
  const text = reader.text(reader.has(".data/version") ? ".data/version" : "version").trim();
  const version = Number(text);
  if (!Number.isInteger(version)) throw new ArchiveError(`Couldn't parse the version ${text} as Long Long.`);
  if (version < 1 || version > NEWEST_VERSION) {
    throw new ArchiveError(
      `Attempted to read a PyTorch file with version ${text}, but the supported versions for reading are 1 to ${NEWEST_VERSION}`,
    );
  }
  return version;
}

function open(source) {
  if (typeof source !== "string") {
    if (source instanceof ArrayBuffer || source instanceof Uint8Array) return { bytes: source, name: "archive" };
    throw new TypeError("Wrong argument types: ScriptModule takes a path or the bytes of an archive");
  }
  const fs = require("fs"); // in a browser there is none, and nothing to open by a path
  if (!fs.existsSync(source)) throw new Error(`The provided filename ${source} does not exist`);
  return { bytes: fs.readFileSync(source), name: source.split(/[\\/]/).pop() };
}

module.exports = { ScriptModule };

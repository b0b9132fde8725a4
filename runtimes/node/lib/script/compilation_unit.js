/**
 * Classes and functions by qualified name, parsed when first asked for (`torch/csrc/jit/serialization/import_source.cpp`).
 *
 * The class `__torch__.torch.nn.modules.linear.Linear` is in the record `code/__torch__/torch/nn/modules/linear.py`. A record is
 * parsed when something of it is needed, and then stays.
 *
 * How the real one differs: names resolve to types with checked methods, which compile to graphs; here the tree is what runs.
 */
"use strict";

const { ArchiveError } = require("../errors");
const { ScriptObject } = require("./values");
const { parse } = require("./parser");

/** A class of the archive: a module type, a scripted class, a NamedTuple or an Enum. */
class ScriptType {
  constructor(name, definition) {
    this.name = name;
    this.shortName = name.slice(name.lastIndexOf(".") + 1);
    this.base = definition.base;
    this.fields = definition.fields.filter((f) => !/^__(parameters|buffers|constants|overloads)__$/.test(f.name));
    /** @type {Map<string, import("./parser").Def>} */
    this.methods = new Map(definition.methods.map((m) => [m.name, m]));
    this.parameters = names(definition, "__parameters__");
    this.buffers = names(definition, "__buffers__");
    this.members = new Map(); // of an Enum, made when asked for
  }

  /** An instance without attributes; the pickle or `__init__` sets them. */
  create() {
    return new ScriptObject(this);
  }
}

const names = (definition, field) => {
  const found = definition.fields.find((f) => f.name === field);
  return found && found.value ? found.value.items.map((n) => n.value) : [];
};

class CompilationUnit {
  /** @param {import("../archive/zip_reader").ArchiveReader} reader */
  constructor(reader) {
    this.reader = reader;
    this.files = new Map();
    this.types = new Map();
  }

  /** The class of this qualified name, or null. @returns {?ScriptType} */
  findType(name) {
    if (!this.types.has(name)) {
      const definition = this.definition(name, "classes");
      if (!definition) return null;
      this.types.set(name, new ScriptType(name, definition));
    }
    return this.types.get(name);
  }

  /** The function of this qualified name, or null. @returns {?import("./parser").Def} */
  findFunction(name) {
    return this.definition(name, "functions");
  }

  type(name) {
    const found = this.findType(name);
    if (!found) throw new ArchiveError(`the archive has no code for the class ${name}`);
    return found;
  }

  definition(name, kind) {
    const dot = name.lastIndexOf(".");
    const file = this.file(name.slice(0, Math.max(dot, 0)));
    return (file && file[kind].get(name.slice(dot + 1))) || null;
  }

  /** The parsed record of a qualified prefix, or null where there is none. */
  file(prefix) {
    if (!this.files.has(prefix)) {
      const record = `code/${prefix.replaceAll(".", "/")}.py`;
      let parsed = null;
      if (this.reader.has(record)) {
        const { classes, functions } = parse(this.reader.text(record), record);
        parsed = { classes: byName(classes), functions: byName(functions) };
      }
      this.files.set(prefix, parsed);
    }
    return this.files.get(prefix);
  }
}

const byName = (list) => new Map(list.map((item) => [item.name, item]));

module.exports = { CompilationUnit, ScriptType };

/**
 * A module as text: its class, and its submodules indented (`torch/jit/_script.py`, `RecursiveScriptModule.__repr__`).
 *
 * How the real one differs: Python prints `extra_repr()` too, which archives do not keep.
 */
"use strict";

const { ScriptObject } = require("./script/values");

/** @param {ScriptObject} module */
function moduleText(module, indent = "") {
  const children = [...module.attributes].filter(([, value]) => value instanceof ScriptObject && value.type.base === "Module");
  const name = `${module.type.shortName}(`;
  if (!children.length) return `${name})`;
  const lines = children.map(([key, child]) => `${indent}  (${key}): ${moduleText(child, `${indent}  `)}`);
  return [name, ...lines, `${indent})`].join("\n");
}

module.exports = { moduleText };

/**
 * A method as a graph of nodes, for people to look at (`torch/csrc/jit/ir/ir.cpp` prints such graphs).
 *
 * Every call of the code becomes a node with the names of the values it takes and gives; `if` and loops are nodes with blocks of
 * nodes inside. The interpreter does not need this: it walks the code's tree.
 *
 * How the real one differs: it is what runs there; constants are nodes of their own (here they stand in the argument list), values
 * have types, and variables that a loop changes are its explicit inputs and outputs.
 */
"use strict";

const { dotted, operatorName } = require("./interpreter");
const { typeText } = require("./types");
const { floatText } = require("./values");

/**
 * @typedef {{kind: string, note: string, inputs: string[], outputs: string[], blocks: {title: string, nodes: GraphNode[]}[]}} GraphNode
 * An input that begins with % is a value, any other a constant.
 */

/** The graph of a method of a module object. @returns {{inputs: {name: string, type: string}[], nodes: GraphNode[], output: string}} */
function graphOf(object, method) {
  const def = object.type.methods.get(method);
  if (!def) throw new TypeError(`Method '${method}' is not defined.`);
  return new GraphBuilder().build(def);
}

/** The graph as text. */
function graphText(object, method = "forward") {
  const { inputs, nodes, output } = graphOf(object, method);
  const head = inputs.map(({ name, type }) => `%${name} : ${type}`).join(",\n      ");
  return `graph(${head}):\n${lines(nodes, "  ").join("\n")}${nodes.length ? "\n" : ""}  return (${output})\n`;
}

function lines(nodes, indent) {
  return nodes.flatMap((node) => {
    const left = node.outputs.length ? `${node.outputs.map((name) => `%${name}`).join(", ")} = ` : "";
    const first = `${indent}${left}${node.kind}${node.note ? `[${node.note}]` : ""}(${node.inputs.join(", ")})`;
    return [first, ...node.blocks.flatMap((block) => [`${indent}  ${block.title}:`, ...lines(block.nodes, `${indent}    `)])];
  });
}

class GraphBuilder {
  constructor() {
    this.nodes = [];
    this.counter = 0;
  }

  build(def) {
    const inputs = def.params.map(({ name, type }) => ({ name, type: type ? typeText(type) : "Tensor" }));
    const output = this.statements(def.body) || "None";
    return { inputs, nodes: this.nodes, output };
  }

  /** Adds a node; the name of its one result is made up unless it is given. */
  add(kind, inputs, { note = "", outputs = [String(this.counter++)], blocks = [] } = {}) {
    this.nodes.push({ kind, note, inputs, outputs, blocks });
    return outputs.map((name) => `%${name}`).join(", ");
  }

  /** Nodes of statements inside a block. */
  inside(body) {
    const outer = this.nodes;
    this.nodes = [];
    this.statements(body);
    const { nodes } = this;
    this.nodes = outer;
    return nodes;
  }

  statements(body) {
    let returned = null;
    for (const statement of body) {
      if (statement.kind === "Return") returned = this.value(statement.value);
      else this.statement(statement);
    }
    return returned;
  }

  statement(node) {
    if (node.kind === "Assign") this.assign(node);
    else if (node.kind === "Expression") this.value(node.value, []);
    else if (node.kind === "If") {
      const blocks = [
        { title: "then", nodes: this.inside(node.then) },
        { title: "else", nodes: this.inside(node.otherwise) },
      ];
      this.add("prim::If", [this.value(node.test)], { outputs: [], blocks });
    } else if (node.kind === "While") {
      this.add("prim::Loop", [this.value(node.test)], {
        outputs: [],
        note: "while",
        blocks: [{ title: "body", nodes: this.inside(node.body) }],
      });
    } else if (node.kind === "For") {
      const blocks = [{ title: `for %${node.variable}`, nodes: this.inside(node.body) }];
      this.add("prim::Loop", [this.value(node.iterable)], { outputs: [], note: "for", blocks });
    } else if (node.kind === "With") {
      this.add("prim::With", [this.value(node.context)], {
        outputs: [],
        blocks: [{ title: "body", nodes: this.inside(node.body) }],
      });
    } else if (node.kind === "Def") {
      this.add("prim::Closure", [], { outputs: [node.def.name], blocks: [{ title: "body", nodes: this.inside(node.def.body) }] });
    }
  }

  assign({ target, value }) {
    if (target.kind === "Name") this.named(value, target.name);
    else if (target.kind === "Attribute") {
      this.add("prim::SetAttr", [this.value(target.object), this.value(value)], { outputs: [], note: `name="${target.name}"` });
    } else if (value.kind === "Tuple" && value.items.length === target.items.length) {
      this.add(
        "prim::Assign",
        value.items.map((item) => this.value(item)),
        { outputs: target.items.map((item) => item.name || "?") },
      );
    } else {
      const outputs = target.items.map((item) => item.name || "?");
      if (value.kind === "Call") this.value(value, outputs);
      else this.add("prim::TupleUnpack", [this.value(value)], { outputs });
    }
  }

  /** `name = value`: the node's result has the name; a copy of a name or a constant is a node too, as variables may change. */
  named(value, name) {
    const before = this.nodes.length;
    const text = this.value(value, [name]);
    const made = this.nodes.length > before && this.nodes[this.nodes.length - 1].outputs.includes(name);
    if (!made) this.add("prim::Assign", [text], { outputs: [name] });
  }

  /** The text of an expression's value; calls and attributes become nodes, whose results are called `outputs`. */
  value(node, outputs = undefined) {
    switch (node.kind) {
      case "Constant":
        return constantText(node.value);
      case "Name":
        return `%${node.name}`;
      case "Attribute":
        return this.attribute(node, outputs);
      case "Call":
        return this.call(node, outputs);
      case "List":
        return `[${node.items.map((item) => this.value(item)).join(", ")}]`;
      case "Tuple":
        return this.add(
          "prim::TupleConstruct",
          node.items.map((item) => this.value(item)),
          { outputs },
        );
      case "Dict":
        return this.add(
          "prim::DictConstruct",
          node.pairs.flat().map((item) => this.value(item)),
          { outputs },
        );
      case "Subscript":
        return this.add(
          "aten::__getitem__",
          [node.object, node.indices[0]].map((item) => this.value(item)),
          { outputs },
        );
      default:
        return this.add(
          "aten::slice",
          [node.object, node.start, node.end].map((item) => (item ? this.value(item) : "None")),
          { outputs },
        );
    }
  }

  attribute(node, outputs) {
    const path = dotted(node);
    if (path && /^(CONSTANTS|__torch__|torch|ops)\./.test(path)) return path;
    return this.add("prim::GetAttr", [this.value(node.object)], { note: `name="${node.name}"`, outputs });
  }

  call(node, outputs) {
    const operator = operatorName(node.callee);
    const path = dotted(node.callee) || "";
    const args = () => [
      ...node.args.map((arg) => this.value(arg)),
      ...node.keywords.map(([name, value]) => `${name}=${this.value(value)}`),
    ];
    if (operator)
      return this.add(operator.includes(".") ? operator.replace(".", "::") : `aten::${operator}`, args(), { outputs });
    if (path.startsWith("__torch__.")) return this.add("prim::CallFunction", args(), { note: `name="${path}"`, outputs });
    if (node.callee.kind === "Attribute") {
      return this.add("prim::CallMethod", [this.value(node.callee.object), ...args()], {
        note: `name="${node.callee.name}"`,
        outputs,
      });
    }
    return this.builtin(node, outputs, args);
  }

  builtin(node, outputs, args) {
    const name = node.callee.name || "call";
    if (name === "getattr")
      return this.add("prim::GetAttr", [this.value(node.args[0])], { note: `name="${node.args[1].value}"`, outputs });
    if (name === "annotate" || name === "unchecked_cast") {
      return this.add(`prim::${name}`, [this.value(node.args[1])], { note: typeText(node.args[0]), outputs });
    }
    if (name === "uninitialized") return this.add("prim::Uninitialized", [], { note: typeText(node.args[0]), outputs });
    return this.add(`prim::${name}`, args(), { outputs });
  }
}

function constantText(value) {
  if (typeof value === "string") return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}...` : value);
  if (typeof value === "number") return floatText(value);
  if (typeof value === "boolean") return value ? "True" : "False";
  return value === null ? "None" : String(value);
}

module.exports = { graphOf, graphText };

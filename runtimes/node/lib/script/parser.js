/**
 * Tokens into trees (`torch/csrc/jit/frontend/parser.cpp`).
 *
 * A file is a list of classes and functions. What PyTorch prints into archives uses no operators but indexing and calls:
 * `x + 1` is written `torch.add(x, 1)`, so expressions are names, literals, attributes, subscripts, calls and brackets.
 * Statements are assignments, `if`, `for ... in range(...)`, `while`, `with`, `return`, `pass` and expressions.
 *
 * How the real one differs: it parses everything TorchScript's language has, with precedences, and keeps source ranges for errors.
 */
"use strict";

const { ArchiveError } = require("../errors");
const { tokenize } = require("./lexer");

/**
 * @typedef {{kind: string, line: number, [field: string]: any}} Node
 * @typedef {{name: string, params: {name: string, type: ?Node, default: ?Node}[], returns: ?Node, body: Node[], line: number}} Def
 * @typedef {{name: string, base: ?string, fields: {name: string, type: ?Node, value: ?Node}[], methods: Def[]}} Class
 */

const MOST_NESTING = 400; // deeper brackets are damage; the recursion must not reach the end of the stack
const CONSTANTS = { True: true, False: false, None: null, inf: Infinity, nan: NaN };

/** @returns {{classes: Class[], functions: Def[]}} */
function parse(source, record) {
  return new Parser(tokenize(source, record), record).file();
}

class Parser {
  constructor(tokens, record) {
    this.tokens = tokens;
    this.record = record;
    this.at = 0;
    this.depth = 0;
  }

  get token() {
    return this.tokens[this.at];
  }

  fail(expected) {
    const { text, line } = this.token;
    throw new ArchiveError(`line ${line}: expected ${expected}, found ${text || this.token.kind}`, this.record);
  }

  is(text) {
    return this.token.text === text && (this.token.kind === "op" || this.token.kind === "name");
  }

  accept(text) {
    return this.is(text) && Boolean(this.at++ + 1);
  }

  expect(text) {
    if (!this.accept(text)) this.fail(`'${text}'`);
  }

  kind(kind) {
    if (this.token.kind !== kind) this.fail(kind);
    return this.tokens[this.at++];
  }

  name() {
    return this.kind("name").text;
  }

  node(kind, fields) {
    return { kind, line: this.token.line, ...fields };
  }

  /** Everything between here and `close`, with commas between and perhaps after. */
  list(close, item) {
    const items = [];
    while (!this.accept(close)) {
      items.push(item());
      if (!this.is(close)) this.expect(",");
    }
    return items;
  }

  nested(parse) {
    if (++this.depth > MOST_NESTING) this.fail("less nesting");
    const result = parse();
    this.depth--;
    return result;
  }

  // Definitions

  file() {
    const classes = [];
    const functions = [];
    while (this.token.kind !== "end") {
      if (this.is("class")) classes.push(this.class());
      else if (this.is("def")) functions.push(this.def());
      else this.statement(); // `op_version_set = 1` of older archives
    }
    return { classes, functions };
  }

  class() {
    this.expect("class");
    const name = this.name();
    let base = null;
    if (this.accept("(")) {
      base = this.expression().name || null;
      this.expect(")");
    }
    const fields = [];
    const methods = [];
    this.block(() => {
      if (this.is("def")) methods.push(this.def());
      else if (!this.accept("pass")) fields.push(this.field());
      else this.kind("newline");
    });
    return { name, base, fields, methods };
  }

  /** `name : Type`, `name : Final[int] = 3`, `RED = 1`, or `__annotations__["0"] = Type`. */
  field() {
    let name = this.name();
    let type = null;
    let value = null;
    if (name === "__annotations__" && this.accept("[")) {
      name = this.kind("value").value;
      this.expect("]");
      this.expect("=");
      type = this.expression();
    } else {
      if (this.accept(":")) type = this.expression();
      if (this.accept("=")) value = this.expression();
    }
    this.kind("newline");
    return { name, type, value };
  }

  def() {
    const { line } = this.token;
    this.expect("def");
    const name = this.name();
    this.expect("(");
    const params = this.list(")", () => {
      this.accept("*");
      const param = { name: this.name(), type: null, default: null };
      if (this.accept(":")) param.type = this.expression();
      if (this.accept("=")) param.default = this.expression();
      return param;
    });
    const returns = this.accept("->") ? this.expression() : null;
    return { name, params, returns, body: this.body(), line };
  }

  body() {
    const statements = [];
    this.block(() => statements.push(this.statement()));
    return statements;
  }

  block(item) {
    this.expect(":");
    this.kind("newline");
    this.kind("indent");
    this.nested(() => {
      while (this.token.kind !== "dedent") item();
    });
    this.kind("dedent");
  }

  // Statements

  statement() {
    const { line } = this.token;
    const node = (kind, fields) => ({ kind, line, ...fields });
    if (this.is("def")) return node("Def", { def: this.def() }); // what a `fork` runs
    if (this.accept("if")) {
      const test = this.expression();
      const then = this.body();
      return node("If", { test, then, otherwise: this.accept("else") ? this.body() : [] });
    }
    if (this.accept("while")) {
      const test = this.expression();
      return node("While", { test, body: this.body() });
    }
    if (this.accept("for")) {
      const variable = this.name();
      this.expect("in");
      const iterable = this.expression();
      return node("For", { variable, iterable, body: this.body() });
    }
    if (this.accept("with")) {
      const context = this.expression();
      const variable = this.accept("as") ? this.name() : null;
      return node("With", { context, variable, body: this.body() });
    }
    const simple = this.simple(node);
    this.kind("newline");
    return simple;
  }

  simple(node) {
    if (this.accept("pass")) return node("Pass", {});
    if (this.accept("return"))
      return node("Return", { value: this.token.kind === "newline" ? node("Constant", { value: null }) : this.tuple() });
    const left = this.tuple();
    const type = this.accept(":") ? this.expression() : null;
    if (!this.accept("=")) return node("Expression", { value: left });
    return node("Assign", { target: left, type, value: this.tuple() });
  }

  /** `a`, or `a, b` and `a,`, which are tuples without brackets. */
  tuple() {
    const first = this.expression();
    if (!this.is(",")) return first;
    const items = [first];
    while (this.accept(",")) {
      if (this.is("=") || this.token.kind === "newline") break;
      items.push(this.expression());
    }
    return this.node("Tuple", { items });
  }

  // Expressions

  expression() {
    return this.nested(() => {
      let node = this.atom();
      for (;;) {
        if (this.accept(".")) node = this.node("Attribute", { object: node, name: this.name() });
        else if (this.accept("(")) node = this.call(node);
        else if (this.accept("[")) node = this.subscript(node);
        else return node;
      }
    });
  }

  atom() {
    const { kind, text, value } = this.token;
    if (kind === "value") {
      this.at++;
      return this.node("Constant", { value });
    }
    if (kind === "name") {
      this.at++;
      if (Object.hasOwn(CONSTANTS, text)) return this.node("Constant", { value: CONSTANTS[text] });
      return this.node("Name", { name: text });
    }
    if (this.accept("-")) return this.negative();
    if (this.accept("(")) return this.parenthesis();
    if (this.accept("[")) return this.node("List", { items: this.list("]", () => this.expression()) });
    if (this.accept("{")) {
      const pair = () => {
        const key = this.expression();
        this.expect(":");
        return [key, this.expression()];
      };
      return this.node("Dict", { pairs: this.list("}", pair) });
    }
    return this.fail("an expression");
  }

  negative() {
    const { value } = this.atom();
    if (typeof value !== "bigint" && typeof value !== "number") this.fail("a number after -");
    return this.node("Constant", { value: -value });
  }

  /** `(x)` is x; `(x,)`, `(x, y)` and `()` are tuples. */
  parenthesis() {
    const items = [];
    let commas = 0;
    while (!this.accept(")")) {
      items.push(this.expression());
      if (this.is(")")) continue;
      this.expect(",");
      commas++;
    }
    return items.length === 1 && !commas ? items[0] : this.node("Tuple", { items });
  }

  call(callee) {
    const args = [];
    const keywords = [];
    this.list(")", () => {
      const value = this.expression();
      if (value.kind === "Name" && this.accept("=")) keywords.push([value.name, this.expression()]);
      else args.push(value);
    });
    return this.node("Call", { callee, args, keywords });
  }

  /** `x[i]`, `x[a:b]`, and in types `Dict[str, int]`. */
  subscript(object) {
    const start = this.is(":") ? null : this.expression();
    if (this.accept(":")) {
      const end = this.is("]") || this.is(":") ? null : this.expression();
      const step = this.accept(":") && !this.is("]") ? this.expression() : null;
      this.expect("]");
      return this.node("Slice", { object, start, end, step });
    }
    const indices = [start];
    while (this.accept(",")) if (!this.is("]")) indices.push(this.expression());
    this.expect("]");
    return this.node("Subscript", { object, indices });
  }
}

module.exports = { parse };

/** Archived code into trees. */
"use strict";

const test = require("node:test");
const assert = require("node:assert");
const { parse } = require("../lib/script/parser");
const { typeText } = require("../lib/script/types");

const expression = (text) => parse(`def f():\n  return ${text}\n`, "code/x.py").functions[0].body[0].value;

test("an int and a float are different values", () => {
  assert.strictEqual(expression("3").value, 3n);
  assert.strictEqual(expression("3.").value, 3);
  assert.strictEqual(expression("-1e-05").value, -1e-5);
  assert.strictEqual(expression("9223372036854775807").value, 9223372036854775807n);
  assert.strictEqual(expression("inf").value, Infinity);
});

test("strings are escaped bytes of UTF-8", () => {
  assert.strictEqual(expression('"h\\303\\251\\n\\"\\\'"').value, "h\u00e9\n\"'");
  assert.strictEqual(expression('"a\\tb\\\\"').value, "a\tb\\");
});

test("brackets group, commas make tuples", () => {
  assert.strictEqual(expression("(x)").kind, "Name");
  assert.strictEqual(expression("(x,)").items.length, 1);
  assert.strictEqual(expression("(x, y)").items.length, 2);
  assert.strictEqual(expression("()").items.length, 0);
  assert.strictEqual(expression("(f)(x, )").args.length, 1);
});

test("classes have fields and methods, annotations of odd names too", () => {
  const source = `class M(Module):
  __parameters__ = ["w", ]
  w : Tensor
  n : Final[int] = 3
  __annotations__["0"] = __torch__.Sub
  def forward(self: __torch__.M,
      x: Tensor,
      k: Optional[int]=None) -> Dict[str, Tensor]:
    if torch.gt(k, 0):
      pass
    else:
      x0, y, = x
    return {"a": x}
`;
  const [type] = parse(source, "r").classes;
  assert.deepStrictEqual(
    type.fields.map((f) => f.name),
    ["__parameters__", "w", "n", "0"],
  );
  const [def] = type.methods;
  assert.deepStrictEqual(
    def.params.map((p) => typeText(p.type)),
    ["__torch__.M", "Tensor", "Optional[int]"],
  );
  assert.strictEqual(typeText(def.returns), "Dict[str, Tensor]");
  assert.strictEqual(def.body[0].otherwise[0].target.items.length, 2);
});

for (const [what, text] of Object.entries({
  "an open bracket": "def f(:\n  return (1\n",
  "no block": "def f():\nreturn 1\n",
  operators: "def f():\n  return 1 + 2\n",
  "deep nesting": `def f():\n  return ${"(".repeat(5000)}1${")".repeat(5000)}\n`,
  "an unknown character": "def f():\n  return $\n",
  "wrong indentation": "def f():\n    pass\n  pass\n",
})) {
  test(`refused with the line: ${what}`, () => assert.throws(() => parse(text, "code/x.py"), /line \d+.*code\/x\.py/));
}

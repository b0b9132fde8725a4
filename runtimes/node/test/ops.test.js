/** Operators and tensors, where JavaScript and Python differ. */
"use strict";

const test = require("node:test");
const assert = require("node:assert");
const torchjs = require("..");
const { call, TABLE } = require("../lib/script/operators");
const { str, Tuple } = require("../lib/script/values");

const run = (name, ...args) => call(name, args, []);
const t = torchjs.tensor;

test("the talk's lines", () => {
  const util = require("node:util");
  const data = torchjs.ones([1, 3, 224, 224], false);
  assert.strictEqual(util.inspect(data), "Tensor[Type=Variable[CPUFloatType], Size=[1, 3, 224, 224]");
  assert.strictEqual(String(data), util.inspect(data));
  assert.ok(data.data instanceof Float32Array);
});

test("integer arithmetic is Python's, in 64 bits", () => {
  assert.strictEqual(run("floordiv", -7n, 2n), -4n);
  assert.strictEqual(run("remainder", -7n, 2n), 1n);
  assert.strictEqual(run("remainder", 7.5, -2), -0.5);
  assert.strictEqual(run("div", 7n, 2n), 3.5);
  assert.strictEqual(run("mul", 2n ** 62n, 2n), -(2n ** 63n));
  assert.strictEqual(run("add", 2n ** 53n, 1n), 9007199254740993n);
  assert.throws(() => run("floordiv", 1n, 0n), /division by 0/);
});

test("floats print with 17 digits and a dot", () => {
  assert.deepStrictEqual([0.1, 2, 1e20, 1e-7, -0, NaN, Infinity].map(str), [
    "0.10000000000000001",
    "2.",
    "1e+20",
    "9.9999999999999995e-08",
    "-0.",
    "nan",
    "inf",
  ]);
  assert.strictEqual(str([1n, 2.5, "a", Tuple.of(true)]), "[1, 2.5, a, (True,)]");
});

test("numbers promote tensors across categories only", () => {
  const dtype = (value) => value.dtype.name;
  assert.strictEqual(dtype(run("add", t([1n, 2n]), 1n)), "int64");
  assert.strictEqual(dtype(run("add", t([1n, 2n]), 1.5)), "float32");
  assert.strictEqual(dtype(run("div", t([1n, 2n]), 2n)), "float32");
  assert.strictEqual(dtype(run("mul", t([1.5]), t(2, "float64"))), "float32");
  assert.strictEqual(dtype(run("mul", t([1.5]), t([2], "float64"))), "float64");
  assert.strictEqual(dtype(run("add", t([true]), true)), "bool");
  assert.deepStrictEqual(run("add", t([250], "uint8"), 10n).tolist(), [4]);
});

test("a float32 tensor compares with a number as float32", () => {
  assert.deepStrictEqual(run("eq", t([0.1]), 0.1).tolist(), [true]);
});

test("writing through a view shows in the tensor, whatever its strides", () => {
  const x = t([
    [0, 1, 2],
    [3, 4, 5],
  ]);
  run("fill_", run("select", run("t", x), 0n, 1n), 5n);
  run("add_", run("slice", x, 1n, 1n, null, 1n), 1n);
  assert.deepStrictEqual(x.tolist(), [
    [0, 6, 3],
    [3, 6, 6],
  ]);
  run("copy_", run("slice", x, 0n, 0n, 1n, 1n), run("slice", x, 0n, 1n, 2n, 1n));
  assert.deepStrictEqual(x.tolist(), [
    [3, 6, 6],
    [3, 6, 6],
  ]);
});

test("in place, a float does not fit into an int tensor", () => {
  assert.throws(() => run("add_", t([1n]), 1.5), /result type Float can't be cast to the desired output type Long/);
});

test("strings are bytes of UTF-8", () => {
  assert.strictEqual(run("len", "h\u00e9"), 3n);
  assert.strictEqual(run("slice", "abc", null, null, -1n), "cba");
  assert.strictEqual(run("format", "{} {}", 1n, 0.5), "1 0.5");
  assert.strictEqual(run("percentFormat", "%d of %s", Tuple.of(3n, "x")), "3 of x");
});

test("defaults come from the schema, keywords by name", () => {
  assert.deepStrictEqual(
    call(
      "sum",
      [
        t([
          [1, 2],
          [3, 4],
        ]),
        [1n],
      ],
      [["keepdim", true]],
    ).tolist(),
    [[3], [7]],
  );
  assert.strictEqual(call("arange", [3n], [["dtype", 6n]]).dtype.name, "float32");
});

test("what does not fit is an error that names the operator and what it takes", () => {
  assert.throws(() => run("frobnicate", 1n), /no aten::frobnicate/);
  assert.throws(() => run("prim.frobnicate"), /no prim::frobnicate/);
  assert.throws(() => run("relu", "x"), /aten::relu has no overload for \(str\); there is relu\(Tensor self\)/);
  assert.ok(TABLE.size > 400);
});

test("matrix products of every shape agree with the definition", () => {
  for (const [m, k, n] of [
    [1, 1, 1],
    [3, 5, 7],
    [4, 4, 4],
    [9, 300, 6],
    [2, 600, 530],
  ]) {
    const a = torchjs.randn([m, k], 1);
    const b = torchjs.randn([k, n], 2);
    const c = run("matmul", a, b).data;
    for (let i = 0; i < m; i++) {
      for (let j = 0; j < n; j += 7) {
        let sum = 0;
        for (let p = 0; p < k; p++) sum += a.data[i * k + p] * b.data[p * n + j];
        assert.ok(Math.abs(c[i * n + j] - sum) < 1e-4, `${m} ${k} ${n}`);
      }
    }
  }
});

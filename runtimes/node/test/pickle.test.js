/** The pickle machine: what it reads, and what it refuses. */
"use strict";

const test = require("node:test");
const assert = require("node:assert");
const { unpickle } = require("../lib/archive/pickle_reader");
const { findGlobal } = require("../lib/archive/globals");
const { Tuple } = require("../lib/script/values");

/** Text with \x escapes as bytes. */
const read = (text) =>
  unpickle(
    Uint8Array.from(text, (c) => c.charCodeAt(0)),
    { record: "data.pkl", findGlobal, loadStorage: () => null },
  );

test("ints are BigInts, of any size and sign", () => {
  assert.strictEqual(read("\x80\x02K\x05."), 5n);
  assert.strictEqual(read("\x80\x02M\x00\x01."), 256n);
  assert.strictEqual(read("\x80\x02J\xff\xff\xff\xff."), -1n);
  assert.strictEqual(read("\x80\x02\x8a\x08\x01\x00\x00\x00\x00\x00 \x00."), 9007199254740993n);
  assert.strictEqual(read("\x80\x02\x8a\x00."), 0n);
});

test("floats are numbers, and containers nest", () => {
  assert.strictEqual(read("\x80\x02G?\xf8\x00\x00\x00\x00\x00\x00."), 1.5);
  assert.deepStrictEqual(read("\x80\x02](K\x01NG?\xf8\x00\x00\x00\x00\x00\x00e."), [1n, null, 1.5]);
  const tuple = read("\x80\x02K\x01\x88\x86.");
  assert.ok(tuple instanceof Tuple);
  assert.deepStrictEqual([...tuple], [1n, true]);
  assert.deepStrictEqual(
    [...read("\x80\x02}(X\x01\x00\x00\x00bK\x02X\x01\x00\x00\x00aK\x01u.")],
    [
      ["b", 2n],
      ["a", 1n],
    ],
  );
});

test("the memo gives the same object again", () => {
  const [a, b] = read("\x80\x02]q\x00h\x00\x86.");
  assert.strictEqual(a, b);
});

test("globals outside the list are refused: nothing is called", () => {
  assert.throws(() => read("\x80\x02cos\nsystem\nX\x04\x00\x00\x00true\x85R."), /os\.system is not allowed.*data\.pkl/);
  assert.throws(() => read("\x80\x02cconstructor\nprototype\n."), /not allowed/);
});

for (const [what, text] of Object.entries({
  "the end is missing": "\x80\x02K\x01",
  "another protocol": "\x80\x04K\x01.",
  "no protocol": "K\x01.",
  "an unknown opcode": "\x80\x02\xfe.",
  "an empty stack": "\x80\x02.",
  "a string longer than the file": "\x80\x02X\xff\xff\xff\x7fa.",
  "a missing memo": "\x80\x02h\x05.",
  "no mark": "\x80\x02K\x01e.",
  "a key without value": "\x80\x02}(K\x01u.",
  "a list as key": "\x80\x02}(]K\x01u.",
  "state for a number": "\x80\x02K\x01K\x02b.",
})) {
  test(`refused: ${what}`, () => assert.throws(() => read(text), { name: "ArchiveError" }));
}

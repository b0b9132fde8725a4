/** The decompressor against Node's own compressor. */
"use strict";

const test = require("node:test");
const assert = require("node:assert");
const zlib = require("node:zlib");
const { inflate } = require("../lib/archive/inflate");

const bytes = (text) => new TextEncoder().encode(text);

function samples() {
  const noise = Uint8Array.from({ length: 5000 }, (_, i) => (i * i * 2654435761) >>> 13);
  return [
    bytes(""),
    bytes("a"),
    bytes("abcabcabc".repeat(500)),
    new Uint8Array(70000),
    noise,
    bytes("def f(x):\n  return torch.add(x, 1)\n".repeat(30)),
  ];
}

for (const level of [0, 1, 6, 9]) {
  for (const strategy of [zlib.constants.Z_DEFAULT_STRATEGY, zlib.constants.Z_FIXED, zlib.constants.Z_HUFFMAN_ONLY]) {
    test(`level ${level}, strategy ${strategy}`, () => {
      for (const data of samples()) {
        const packed = zlib.deflateRawSync(data, { level, strategy });
        assert.deepStrictEqual(Buffer.from(inflate(packed, data.length, "r")), Buffer.from(data));
      }
    });
  }
}

test("a wrong size is refused, whether smaller or larger", () => {
  const packed = zlib.deflateRawSync(bytes("hello hello hello"));
  assert.throws(() => inflate(packed, 16, "r"), /more data than declared/);
  assert.throws(() => inflate(packed, 18, "r"), /18 bytes were declared, 17 came out/);
});

test("a size that no compression reaches is refused before anything is allocated", () => {
  assert.throws(() => inflate(new Uint8Array(10), 2 ** 40, "r"), /cannot hold/);
});

test("damaged streams are errors that name the record", () => {
  const packed = zlib.deflateRawSync(bytes("the quick brown fox jumps over the lazy dog".repeat(20)));
  for (let i = 0; i < packed.length; i++) {
    for (const flip of [1, 16, 255]) {
      const damaged = Uint8Array.from(packed);
      damaged[i] ^= flip;
      try {
        inflate(damaged, 860, "code/x.py");
      } catch (error) {
        assert.strictEqual(error.name, "ArchiveError");
        assert.match(error.message, /code\/x\.py/);
      }
    }
  }
});

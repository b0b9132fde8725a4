/**
 * Reading pickles without Python: a stack machine for the opcodes PyTorch writes (`torch/csrc/jit/serialization/unpickler.cpp`).
 *
 * A pickle is a program: "push this string", "make a tuple of what lies above the mark", "call this global". In Python the global
 * may be any function, which is why pickles are dangerous. Here a global is a name that `findGlobal` looks up in a fixed table, so a
 * file can build values and nothing else. Python ints become BigInt, floats numbers, tuples `Tuple`, dicts `Map`.
 *
 * How the real one differs: it also reads older protocols' opcodes, and the globals of RPC, quantised and packed objects.
 */
"use strict";

const { ArchiveError } = require("../errors");
const { Tuple } = require("../script/values");

const MARK = Symbol("mark");

/**
 * A global: `call(args)` for REDUCE, or `create()` and `setState(object, state)` for NEWOBJ and BUILD.
 * @typedef {{name: string, call?: (args: any[]) => any, create?: () => any, setState?: (object: any, state: any) => any}} Constructor
 */

/**
 * @param {Uint8Array} bytes
 * @param {{findGlobal: (module: string, name: string) => Constructor, loadStorage: (id: any[]) => any, record: string}} options
 */
function unpickle(bytes, options) {
  return new Unpickler(bytes, options).run();
}

class Unpickler {
  constructor(bytes, { findGlobal, loadStorage, record }) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.findGlobal = findGlobal;
    this.loadStorage = loadStorage;
    this.record = record;
    this.at = 0;
    this.stack = [];
    this.memo = new Map();
  }

  run() {
    if (this.bytes[0] !== 0x80) this.fail(`Expected PROTO opcode at the start of pickle archive, found ${this.bytes[0]}`);
    for (;;) {
      const opcode = this.byte();
      if (opcode === 0x2e) return this.pop(); // STOP
      const handler = HANDLERS[opcode];
      if (!handler) this.fail(`unknown opcode 0x${opcode.toString(16)} at ${this.at - 1}`);
      handler(this);
    }
  }

  fail(why) {
    throw new ArchiveError(`damaged pickle: ${why}`, this.record);
  }

  byte() {
    return this.bytes[this.take(1)];
  }

  /** Moves over `n` bytes and says where they begin. */
  take(n) {
    if (n > this.bytes.length - this.at) this.fail("it ends too early");
    this.at += n;
    return this.at - n;
  }

  text(n) {
    const start = this.take(n);
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(this.bytes.subarray(start, start + n));
    } catch {
      return this.fail("a string is not UTF-8");
    }
  }

  line() {
    const end = this.bytes.indexOf(10, this.at);
    if (end < 0) this.fail("a line does not end");
    const text = this.text(end - this.at);
    this.at++;
    return text;
  }

  push(value) {
    this.stack.push(value);
  }

  pop() {
    if (!this.stack.length) this.fail("the stack is empty");
    const value = this.stack.pop();
    if (value === MARK) this.fail("a mark where a value should be");
    return value;
  }

  top(what) {
    const value = this.stack[this.stack.length - 1];
    if (!what(value)) this.fail("an opcode finds a value of the wrong kind");
    return value;
  }

  /** Everything above the topmost mark. */
  popMark() {
    const mark = this.stack.lastIndexOf(MARK);
    if (mark < 0) this.fail("no mark");
    const items = this.stack.slice(mark + 1);
    this.stack.length = mark;
    return items;
  }

  popTuple(n) {
    const items = [];
    for (let i = 0; i < n; i++) items.unshift(this.pop());
    return Tuple.from(items);
  }

  global(module, name) {
    const found = this.findGlobal(module, name);
    if (!found) this.fail(`the global ${module}.${name} is not allowed`);
    return found;
  }

  reduce() {
    const args = this.pop();
    const callee = this.pop();
    if (!(args instanceof Tuple) || !callee || typeof callee.call !== "function")
      return this.fail("a call of something that is no function");
    return callee.call(args);
  }

  create() {
    this.pop();
    const type = this.pop();
    if (!type || typeof type.create !== "function") return this.fail("a new object of something that is no class");
    return type.create();
  }

  build() {
    const state = this.pop();
    const object = this.pop();
    if (!object || typeof object.setState !== "function") return this.fail("state for something that is no object");
    return object.setState(state);
  }

  setItems(items) {
    const map = this.top((v) => v instanceof Map);
    if (items.length % 2) this.fail("a key without value");
    for (let i = 0; i < items.length; i += 2) {
      const key = items[i];
      if (key !== null && typeof key === "object" && !(key instanceof Tuple)) this.fail("a key that cannot be one");
      map.set(key, items[i + 1]);
    }
  }

  append(items) {
    const list = this.top((v) => Array.isArray(v) && !(v instanceof Tuple));
    for (const item of items) list.push(item);
  }

  put(key) {
    if (!this.stack.length) this.fail("nothing to remember");
    this.memo.set(key, this.stack[this.stack.length - 1]);
  }

  get(key) {
    if (!this.memo.has(key)) this.fail(`memo ${key} is empty`);
    this.push(this.memo.get(key));
  }

  /** A little-endian two's complement integer of any length. */
  long(n) {
    const start = this.take(n);
    let value = 0n;
    for (let i = n - 1; i >= 0; i--) value = (value << 8n) | BigInt(this.bytes[start + i]);
    return n ? BigInt.asIntN(8 * n, value) : 0n;
  }
}

const uint32 = (u) => u.view.getUint32(u.take(4), true);

/** What each opcode does, by its byte; names as in Python's pickletools. @type {Object<number, (u: Unpickler) => void>} */
const HANDLERS = {
  0x80: (u) => {
    const p = u.byte();
    if (p !== 2) u.fail(`Only Pickle protocol 2 is supported, found protocol = ${p}`);
  }, // PROTO
  0x28: (u) => u.push(MARK), // MARK
  0x4e: (u) => u.push(null), // NONE
  0x88: (u) => u.push(true), // NEWTRUE
  0x89: (u) => u.push(false), // NEWFALSE
  0x4a: (u) => u.push(BigInt(u.view.getInt32(u.take(4), true))), // BININT
  0x4b: (u) => u.push(BigInt(u.byte())), // BININT1
  0x4d: (u) => u.push(BigInt(u.view.getUint16(u.take(2), true))), // BININT2
  0x8a: (u) => u.push(u.long(u.byte())), // LONG1
  0x47: (u) => u.push(u.view.getFloat64(u.take(8), false)), // BINFLOAT
  0x58: (u) => u.push(u.text(uint32(u))), // BINUNICODE
  0x55: (u) => u.push(u.text(u.byte())), // SHORT_BINSTRING
  0x5d: (u) => u.push([]), // EMPTY_LIST
  0x7d: (u) => u.push(new Map()), // EMPTY_DICT
  0x29: (u) => u.push(Tuple.of()), // EMPTY_TUPLE
  0x85: (u) => u.push(u.popTuple(1)), // TUPLE1
  0x86: (u) => u.push(u.popTuple(2)), // TUPLE2
  0x87: (u) => u.push(u.popTuple(3)), // TUPLE3
  0x74: (u) => u.push(Tuple.from(u.popMark())), // TUPLE
  0x61: (u) => u.append([u.pop()]), // APPEND
  0x65: (u) => u.append(u.popMark()), // APPENDS
  0x73: (u) => {
    const value = u.pop();
    u.setItems([u.pop(), value]);
  }, // SETITEM
  0x75: (u) => u.setItems(u.popMark()), // SETITEMS
  0x71: (u) => u.put(u.byte()), // BINPUT
  0x72: (u) => u.put(uint32(u)), // LONG_BINPUT
  0x68: (u) => u.get(u.byte()), // BINGET
  0x6a: (u) => u.get(uint32(u)), // LONG_BINGET
  0x63: (u) => u.push(u.global(u.line(), u.line())), // GLOBAL
  0x52: (u) => u.push(u.reduce()), // REDUCE
  0x81: (u) => u.push(u.create()), // NEWOBJ
  0x62: (u) => u.push(u.build()), // BUILD
  0x51: (u) => u.push(u.loadStorage(u.pop())), // BINPERSID
};

module.exports = { unpickle };

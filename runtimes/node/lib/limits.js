/**
 * What one value may take (`c10/core/CPUAllocator.cpp` asks the operating system for whatever a model wants).
 *
 * How many things there are, and how large each is, may come from a file that was made to harm. It is asked here before memory is:
 * an array that is too large ends the whole process in JavaScript, and cannot be caught.
 *
 * How the real one differs: there is no limit but the machine's.
 */
"use strict";

const { ScriptError } = require("./errors");

const limits = { mostBytes: 2 ** 32 };
const ITEM = 64; // bytes of an item of a list
const VIEW = 1024; // bytes of a tensor that shows a part of another: many can show one element

/** `n`, as the number of things of `size` bytes that one value shall hold. */
function roomFor(n, size) {
  if (!(n >= 0 && n * size <= limits.mostBytes)) {
    throw new ScriptError(`a value of ${n} times ${size} bytes is more than the ${limits.mostBytes} bytes that one may have`);
  }
  return n;
}

module.exports = { limits, roomFor, ITEM, VIEW };

/**
 * The two errors of this package: a file that cannot be read, and a program that stopped.
 *
 * How the real one differs: libtorch throws `c10::Error` for both, with a C++ stack trace in the message.
 */
"use strict";

/** What is wrong with an archive, and in which of its records. */
class ArchiveError extends Error {
  constructor(message, record = "") {
    super(record ? `${message} (record ${record})` : message);
    this.name = "ArchiveError";
    this.record = record;
  }
}

/** What went wrong while running a program: what it raised itself, or an operator that refused its arguments. */
class ScriptError extends Error {
  constructor(message) {
    super(message);
    this.name = "ScriptError";
  }
}

module.exports = { ArchiveError, ScriptError };

/**
 * The two errors of this package: a file that cannot be read, and a program that stopped.
 *
 * `guarded` stands where a program enters, a file, a method, an operator: what else JavaScript throws there (a RangeError of a
 * length, a TypeError of an undefined, an exhausted stack) leaves it as one of the two, with the original as its cause.
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

/** What `run` gives; its errors as errors of the class `type`, behind the words of `what`, if there are any. */
function guarded(type, what, run) {
  try {
    return run();
  } catch (error) {
    if (error instanceof ArchiveError || error instanceof ScriptError) throw error;
    throw Object.assign(new type(`${what ? `${what}: ` : ""}${error.message}`), { cause: error });
  }
}

module.exports = { ArchiveError, ScriptError, guarded };

// What goes wrong, in one type.
//
// Everything that is refused, a damaged archive, an unknown operator, a `raise` in the model, throws `torchscript::Error`.
// `fail("expected ", 3, " sizes")` glues its arguments into the message. `guarded` stands where a program enters, a file, a
// method, an operator: what the standard library throws leaves it as an Error too. It mirrors c10/util/Exception.h.
//
// How the real one differs: c10::Error also carries a C++ backtrace, and the JIT adds the lines of Python the operator came
// from, which the archive holds in its `.debug_pkl` records.
#pragma once

#include <new>
#include <sstream>
#include <stdexcept>
#include <string>

namespace torchscript {

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class... Parts>
[[noreturn, gnu::cold, gnu::noinline]] void fail(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  throw Error(text.str());
}

template <class... Parts>
void check(bool condition, const Parts&... parts) {
  if (!condition) fail(parts...);
}

template <class F>
auto guarded(const std::string& what, F f) {
  try {
    return f();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    fail(what, ": there is not enough memory");
  } catch (const std::exception& error) {
    fail(what, ": ", error.what());
  }
}

}  // namespace torchscript

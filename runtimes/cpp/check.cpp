// Runs a corpus of models and compares what they give with what is expected.
//
//   check [--threads N] FOLDER_OR_FILES...
//   check --signatures                      the operators there are
//   check --operators FILE FROM             single calls of them: operator_calls.h
//
// The corpus is described in cases.h. Prints one line per archive and exits with 1 if any failed. With --threads, the first call
// of each archive is made from N threads at once, on one module, and every thread must get the expected result. (A module whose
// code sets attributes, `self.n += 1`, is loaded by each thread for itself.)
//
// How the real one differs: libtorch/check_libtorch.cpp is this program with PyTorch's own library.
#include <thread>

#include "operator_calls.h"

using namespace torchscript;

std::string check_on(const Module& module, const Value& call, const std::string& where) {
  return check_call(call, where, [&](const std::string& method, const std::vector<Value>& inputs) {
    return module.run_method(method, inputs);
  });
}

std::string check_in_turn(const std::string& path) {
  const auto calls = calls_of(path);
  const Module module = load(path);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const std::string why = check_on(module, calls[i], "call " + std::to_string(i));
    if (!why.empty()) return why;
  }
  return "";
}

std::string check_at_once(const std::string& path, std::size_t threads) {
  const auto calls = calls_of(path);
  const Module shared = load(path);
  std::vector<std::string> results(threads);
  std::vector<std::thread> running;
  for (std::string& result : results)
    running.emplace_back(
        [&] { result = check_on(shared.sets_attributes() ? load(path) : shared, calls[0], "call 0"); });
  for (std::thread& thread : running) thread.join();
  for (const std::string& result : results)
    if (!result.empty()) return result;
  return "";
}

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments == std::vector<std::string>{"--signatures"}) return print_signatures();
  if (arguments.size() == 3 && arguments[0] == "--operators")
    return make_calls(arguments[1], std::strtoul(arguments[2].c_str(), nullptr, 10));
  std::size_t threads = 1;
  if (arguments.size() > 1 && arguments[0] == "--threads") {
    threads = std::strtoul(arguments[1].c_str(), nullptr, 10);
    arguments.erase(arguments.begin(), arguments.begin() + 2);
  }
  return check_all(arguments, [&](const std::string& path) {
    return threads > 1 ? check_at_once(path, threads) : check_in_turn(path);
  });
}

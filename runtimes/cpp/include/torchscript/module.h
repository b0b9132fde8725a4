// A module that was loaded: `load`, and `forward`.
//
// Loading maps the file, parses the code, makes the objects that `data.pkl` describes, and links names; the weights stay where
// they are in the file. Running changes nothing in the module unless its code does, so threads may share it. It mirrors
// torch/csrc/jit/api/module.h and torch/csrc/jit/serialization/import.cpp.
//
// How the real one differs: a Module there can also be edited, cloned, frozen, moved to another device and saved again.
#pragma once

#include "interpreter.h"
#include "linker.h"
#include "operators.h"
#include "parser.h"
#include "pickle.h"

namespace torchscript {

class Module {
 public:
  Module(std::shared_ptr<const Program> program, ObjectPtr object)
      : program_(std::move(program)), object_(std::move(object)) {}

  Value forward(const std::vector<Value>& inputs) const { return run_method("forward", inputs); }

  Value run_method(const std::string& name, const std::vector<Value>& inputs) const {
    const Function* method = object_->type->find_method(name);
    check(method != nullptr, "Method '", name, "' is not defined.");
    Arguments arguments = {Value(object_)};
    arguments.insert(arguments.end(), inputs.begin(), inputs.end());
    return guarded(name, [&] { return Interpreter::call(*method, std::move(arguments)); });
  }

  Value attr(const std::string& name) const {
    const auto found = object_->type->index.find(name);
    check(found != object_->type->index.end(), object_->type->name, " has no attribute '", name, "'");
    return object_->attributes[found->second];
  }

  // Whether running it changes it, so that threads cannot share it.
  bool sets_attributes() const { return program_->sets_attributes; }
  const ObjectPtr& object() const { return object_; }

 private:
  std::shared_ptr<const Program> program_;
  ObjectPtr object_;
};

// Written as `.data/version` when an operator in the code has changed its meaning since version 3, else as `version`.
inline std::int64_t archive_version(const Archive& archive) {
  check(!archive.has("model.json"), archive.name(),
        ": this is the archive layout of PyTorch 1.0 (model.json); `python -m internals convert` makes a modern one of "
        "it");
  const std::int64_t version =
      std::strtoll(archive.text(archive.has(".data/version") ? ".data/version" : "version").c_str(), nullptr, 10);
  check(version >= 1, archive.name(), ": couldn't parse the version");
  check(version <= 10, "Attempted to read a PyTorch file with version ", version,
        ", but the maximum supported version for reading is 10");
  return version;
}

// "code/__torch__/torch/nn/functional.py" holds the names of "__torch__.torch.nn.functional".
inline void parse_code(const Archive& archive, Program& program) {
  std::uint64_t left = (1 << 18) + archive.size() / 64;  // trees are much larger than their text
  for (const auto& [record, where] : archive.records()) {
    if (record.compare(0, 5, "code/") != 0 || record.size() < 8 || record.compare(record.size() - 3, 3, ".py") != 0)
      continue;
    check(where.size <= left, archive.name(), ": record ", record,
          ": more text to be parsed than the archive of a network has, in a file of ", archive.size(), " bytes");
    left -= where.size;
    std::string name = record.substr(5, record.size() - 8);
    std::replace(name.begin(), name.end(), '/', '.');
    const std::string text = archive.text(record);
    try {
      Parser(text, name, program).run();
    } catch (const Error& error) {
      fail(archive.name(), ": record ", record, ", ", error.what());
    }
  }
}

inline Module load(const Archive& archive) {
  const std::int64_t version = archive_version(archive);
  auto program = std::make_shared<Program>();
  parse_code(archive, *program);
  const auto find_class = [&](const std::string& name) { return program->find_class(name); };
  const Value constants = Unpickler(archive, "constants.pkl", "constants", find_class).run();
  check(constants.isTuple(), archive.name(), ": record constants.pkl holds a ", constants.kind(),
        " instead of a tuple");
  program->constants = constants.toTupleElements();
  const Value root = Unpickler(archive, "data.pkl", "data", find_class).run();
  check(root.isObject() && root.toObject()->type != nullptr, archive.name(),
        ": record data.pkl does not hold a module");
  try {
    Linker(*program, version, find_operator).run();
  } catch (const Error& error) {
    fail(archive.name(), ": ", error.what());
  }
  return {program, root.toObject()};
}

inline Module load(const std::string& path) {
  return guarded(path, [&] { return load(Archive::open(path)); });
}

}  // namespace torchscript

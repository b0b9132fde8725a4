// The program `check` once more, with the real libtorch: it shows that the corpus says what PyTorch does.
//
//   check_libtorch FOLDER_OR_FILES...
//
// `torch::pickle_load` reads what torch.save wrote. Prints one line per archive and exits with 1 if any failed.
#include <torch/script.h>
#include <torch/serialize.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>

using c10::IValue;

// Nothing, or where two values differ: floats by more than rounding, relative to the largest number of the expected tensor.
std::string difference(const IValue& found, const IValue& expected, const std::string& where) {
  if (expected.isTensor()) {
    if (!found.isTensor()) return where + " is a " + found.tagKind() + " instead of a Tensor";
    const at::Tensor x = found.toTensor(), y = expected.toTensor();
    if (x.scalar_type() != y.scalar_type()) return where + " has another dtype";
    if (x.sizes() != y.sizes()) return where + " has other sizes";
    if (y.numel() == 0) return "";
    const double largest = torch::nan_to_num(y.to(torch::kFloat64), 0, 0, 0).abs().max().item<double>();
    const double tolerance = y.scalar_type() == torch::kFloat64 ? 1e-12 : y.is_floating_point() ? 1e-5 : 0;
    return torch::allclose(x.to(torch::kFloat64), y.to(torch::kFloat64), 0, tolerance * largest, true) ? "" : where + " has other elements";
  }
  const auto items = [](const IValue& v) -> std::vector<IValue> {
    if (v.isTuple()) return v.toTuple()->elements().vec();
    return v.toListRef().vec();
  };
  if (expected.isTuple() || expected.isList()) {
    if (!found.isTuple() && !found.isList()) return where + " is a " + found.tagKind() + " instead of a sequence";
    const auto x = items(found), y = items(expected);
    if (x.size() != y.size()) return where + " has another length";
    for (size_t i = 0; i < x.size(); ++i) {
      const std::string d = difference(x[i], y[i], where + "[" + std::to_string(i) + "]");
      if (!d.empty()) return d;
    }
    return "";
  }
  if (expected.isGenericDict()) {
    if (!found.isGenericDict()) return where + " is a " + found.tagKind() + " instead of a Dict";
    const auto x = found.toGenericDict(), y = expected.toGenericDict();
    if (x.size() != y.size()) return where + " has another number of items";
    for (const auto& entry : y) {
      if (!x.contains(entry.key())) return where + " lacks a key";
      const std::string d = difference(x.at(entry.key()), entry.value(), where + "[...]");
      if (!d.empty()) return d;
    }
    return "";
  }
  if (expected.isDouble()) {
    if (!found.isDouble()) return where + " is a " + found.tagKind() + " instead of a Double";
    const double x = found.toDouble(), y = expected.toDouble();
    return x == y || (std::isnan(x) && std::isnan(y)) || std::fabs(x - y) <= 1e-5 * std::fabs(y) ? "" : where + " is another number";
  }
  return found == expected ? "" : where + " is another value";
}

// The pickle knows no types; the signature of the method says what each argument is: a list of what, an Optional of what.
IValue typed(const IValue& value, const c10::TypePtr& type) {
  if (auto optional = type->cast<c10::OptionalType>()) return value.isNone() ? value : typed(value, optional->getElementType());
  if (auto list = type->cast<c10::ListType>()) {
    c10::impl::GenericList items(list->getElementType());
    for (const IValue& item : value.toListRef()) items.push_back(typed(item, list->getElementType()));
    return items;
  }
  if (auto dict = type->cast<c10::DictType>()) {
    c10::impl::GenericDict items(dict->getKeyType(), dict->getValueType());
    for (const auto& entry : value.toGenericDict()) items.insert(typed(entry.key(), dict->getKeyType()), typed(entry.value(), dict->getValueType()));
    return items;
  }
  if (auto tuple = type->cast<c10::TupleType>()) {
    std::vector<IValue> items;
    for (size_t i = 0; i < tuple->elements().size(); ++i) items.push_back(typed(value.toTuple()->elements()[i], tuple->elements()[i]));
    return c10::ivalue::Tuple::create(std::move(items));
  }
  return value.isTensor() ? IValue(value.toTensor().clone()) : value;
}

std::string check_call(torch::jit::Module& module, const c10::impl::GenericDict& call, const std::string& where) {
  const auto method = module.get_method(call.at("method").toStringRef());
  const auto& parameters = method.function().getSchema().arguments();
  std::vector<IValue> inputs;
  const std::vector<IValue> given = call.at("inputs").toListRef().vec();
  for (size_t i = 0; i < given.size(); ++i) inputs.push_back(typed(given[i], parameters.at(i + 1).type()));
  try {
    const IValue result = method(inputs);
    return call.contains("raises") ? where + " raised nothing" : difference(result, call.at("expected"), where);
  } catch (const std::exception& error) {
    const std::string text = error.what();
    if (call.contains("raises") && text.find(call.at("raises").toStringRef()) != std::string::npos) return "";
    return where + " raised: " + text;
  }
}

std::string check_archive(const std::string& path) {
  std::ifstream file(path.substr(0, path.size() - 3) + ".case.pt", std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto calls = torch::pickle_load(bytes).toGenericDict().at("calls").toListRef().vec();
  auto module = torch::jit::load(path);
  for (size_t i = 0; i < calls.size(); ++i) {
    const std::string d = check_call(module, calls[i].toGenericDict(), "call " + std::to_string(i));
    if (!d.empty()) return d;
  }
  return calls.empty() ? "the case has no calls" : "";
}

int main(int argc, char** argv) {
  torch::NoGradGuard no_grad;
  int passed = 0, failed = 0;
  std::set<std::filesystem::path> paths;
  for (int i = 1; i < argc; ++i) {
    if (!std::filesystem::is_directory(argv[i])) paths.insert(argv[i]);
    else
      for (const auto& entry : std::filesystem::directory_iterator(argv[i]))
        if (entry.path().extension() == ".pt" && entry.path().stem().extension() != ".case") paths.insert(entry.path());
  }
  for (const auto& path : paths) {
    std::string why;
    try {
      why = check_archive(path.string());
    } catch (const std::exception& error) {
      why = error.what();
    }
    std::cout << (why.empty() ? "ok " + path.stem().string() : "FAILED " + path.stem().string() + ": " + why) << std::endl;
    ++(why.empty() ? passed : failed);
  }
  std::cout << passed << " passed, " << failed << " failed" << std::endl;
  return failed > 0 || passed == 0 ? 1 : 0;
}

// The program `check` once more, with the real libtorch: it shows that the corpus says what PyTorch does.
//
//   check_libtorch FOLDER_OR_FILES...
//
// Only the models run in libtorch. The cases are read by our own pickle reader (torch::pickle_load refuses integers as Python
// writes them when they have more than four bytes), so values cross over in both directions.
//
// How ours differs: ../check.cpp runs the models in our own runtime, also from several threads.
#include <torch/script.h>

#include "../cases.h"

using c10::IValue;
using torchscript::Value;

at::Tensor to_torch(const torchscript::Tensor& t) {
  const torchscript::Tensor from = torchscript::contiguous(t);
  const auto options = at::TensorOptions().dtype(static_cast<at::ScalarType>(from.dtype()));
  auto* const data = from.storage()->data + from.storage_offset() * torchscript::element_size(from.dtype());
  return at::from_blob(data, from.sizes(), options).clone();
}

torchscript::Tensor from_torch(const at::Tensor& t) {
  const at::Tensor from = t.detach().contiguous();
  const auto dtype = torchscript::dtype_from_number(static_cast<std::int64_t>(from.scalar_type()));
  const auto out = torchscript::Tensor::empty(from.sizes().vec(), dtype);
  std::memcpy(out.storage()->data, from.data_ptr(), from.nbytes());
  return out;
}

// A pickle knows no types; the signature of the method says what each argument is: a list of what, an Optional of what.
IValue to_torch(const Value& v, const c10::TypePtr& type) {
  if (v.isNone()) return {};
  if (auto optional = type->cast<c10::OptionalType>()) return to_torch(v, optional->getElementType());
  if (auto list = type->cast<c10::ListType>()) {
    c10::impl::GenericList items(list->getElementType());
    for (const Value& item : v.elements()) items.push_back(to_torch(item, list->getElementType()));
    return items;
  }
  if (auto dict = type->cast<c10::DictType>()) {
    c10::impl::GenericDict items(dict->getKeyType(), dict->getValueType());
    for (const auto& [key, value] : v.toDict().entries)
      items.insert(to_torch(key, dict->getKeyType()), to_torch(value, dict->getValueType()));
    return items;
  }
  if (auto tuple = type->cast<c10::TupleType>()) {
    std::vector<IValue> items;
    for (size_t i = 0; i < tuple->elements().size(); ++i)
      items.push_back(to_torch(v.elements().at(i), tuple->elements()[i]));
    return c10::ivalue::Tuple::create(std::move(items));
  }
  if (v.isTensor()) return to_torch(v.toTensor());
  if (v.isBool()) return v.toBool();
  if (v.isInt()) return v.toInt();
  if (v.isDouble()) return v.toDouble();
  return v.toString();
}

Value from_torch(const IValue& v) {
  if (v.isNone()) return {};
  if (v.isTensor()) return from_torch(v.toTensor());
  if (v.isBool()) return v.toBool();
  if (v.isInt()) return v.toInt();
  if (v.isDouble()) return v.toDouble();
  if (v.isString()) return v.toStringRef();
  std::vector<Value> items;
  if (v.isTuple()) {
    for (const IValue& item : v.toTuple()->elements()) items.push_back(from_torch(item));
    return Value::tuple(items);
  }
  if (v.isList()) {
    for (const IValue& item : v.toListRef()) items.push_back(from_torch(item));
    return Value::list(items);
  }
  torchscript::check(v.isGenericDict(), "the result is a ", v.tagKind(), ", which cannot be compared");
  auto dict = std::make_shared<torchscript::Dict>();
  for (const auto& entry : v.toGenericDict()) dict->set(from_torch(entry.key()), from_torch(entry.value()));
  return dict;
}

std::string check_archive(const std::string& path) {
  const auto calls = torchscript::calls_of(path);
  const auto module = torch::jit::load(path);
  const auto run = [&](const std::string& name, const std::vector<Value>& values) -> Value {
    const auto method = module.get_method(name);
    const auto& parameters = method.function().getSchema().arguments();
    std::vector<IValue> inputs;
    for (size_t i = 0; i < values.size(); ++i) inputs.push_back(to_torch(values[i], parameters.at(i + 1).type()));
    return from_torch(method(inputs));
  };
  for (size_t i = 0; i < calls.size(); ++i) {
    const std::string why = torchscript::check_call(calls[i], "call " + std::to_string(i), run);
    if (!why.empty()) return why;
  }
  return "";
}

int main(int argc, char** argv) {
  torch::NoGradGuard no_grad;
  return torchscript::check_all({argv + 1, argv + argc}, check_archive);
}

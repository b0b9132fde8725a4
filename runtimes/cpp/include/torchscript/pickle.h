// Reading pickles: values, as a program for a small stack machine.
//
// A pickle is a list of instructions: push 3, push "weight", make a tuple of what is above the mark, call this global with it.
// Python's own unpickler imports and calls whatever a file names, which is why pickles from strangers are dangerous; this one
// knows a handful of globals by name and runs nothing. A tensor is a call of `torch._utils._rebuild_tensor_v2` with a storage,
// a "persistent id" that names a record of the archive. It mirrors torch/csrc/jit/serialization/unpickler.cpp.
//
// How the real one differs: it gives every list and dict its static type back, and runs a class's own `__setstate__`.
#pragma once

#include "program.h"
#include "zip.h"

namespace torchscript {

class Unpickler {
 public:
  using FindClass = std::function<const ClassType*(const std::string&)>;

  // `prefix`: the folder of the tensors, "data" or "constants".
  Unpickler(const Archive& archive, std::string record, std::string prefix, FindClass find_class)
      : archive_(archive),
        record_(std::move(record)),
        prefix_(std::move(prefix)),
        find_class_(std::move(find_class)),
        bytes_(archive.read_checked(record_)) {}

  Value run() {
    try {
      check(byte() == 0x80 && byte() == 2, "is not a pickle of protocol 2");
      while (step()) {
      }
      check(stack_.size() == 1 && marks_.empty(), "leaves something on the stack");
      return pop();
    } catch (const Error& error) {
      fail(archive_.name(), ": record ", record_, ", byte ", at_, ": ", error.what());
    }
  }

 private:
  // How deep containers lie in each other is counted, because they are also destroyed that deep.
  struct Item {
    Value value;
    int depth = 0;
  };

  bool step() {
    switch (byte()) {
      case '.': return false;
      case '(': marks_.push_back(stack_.size()); return true;
      case 'N': push({}); return true;
      case 0x88: push(true); return true;
      case 0x89: push(false); return true;
      case 'K': push(std::int64_t(byte())); return true;
      case 'M': push(std::int64_t(number(2))); return true;
      case 'J': push(std::int64_t(std::int32_t(number(4)))); return true;
      case 0x8a: push(long_integer()); return true;
      case 'G': push(big_endian_double()); return true;
      case 'X': push(string(number(4))); return true;
      case 'c': push(global(two_lines())); return true;
      case ')': push(Value::tuple({})); return true;
      case ']': push(Value::list({})); return true;
      case '}': push(std::make_shared<Dict>()); return true;
      case 't': push_tuple(above_mark()); return true;
      case 0x85: push_tuple(top(1)); return true;
      case 0x86: push_tuple(top(2)); return true;
      case 0x87: push_tuple(top(3)); return true;
      case 'q': memo_[byte()] = last(); return true;
      case 'r': memo_[number(4)] = last(); return true;
      case 'h': recall(byte()); return true;
      case 'j': recall(number(4)); return true;
      case 'a': append(top(1)); return true;
      case 'e': append(above_mark()); return true;
      case 's': set_items(top(2)); return true;
      case 'u': set_items(above_mark()); return true;
      case 'Q': push(persistent(pop())); return true;
      case 'R': reduce(); return true;
      case 0x81: new_object(); return true;
      case 'b': build(); return true;
      default: fail("has an instruction that is not read here");
    }
  }

  // bytes
  std::uint8_t byte() {
    check(at_ < bytes_.size, "ends too early");
    return bytes_.data[at_++];
  }
  std::uint64_t number(int n) {
    std::uint64_t value = 0;
    for (int i = 0; i < n; ++i) value |= std::uint64_t(byte()) << (8 * i);
    return value;
  }
  std::string string(std::uint64_t n) {
    check(n <= bytes_.size - at_, "ends inside a string");
    at_ += n;
    return {reinterpret_cast<const char*>(bytes_.data) + at_ - n, std::size_t(n)};
  }
  std::string line() {
    std::string text;
    for (char c = char(byte()); c != '\n'; c = char(byte())) text += c;
    return text;
  }
  std::string two_lines() {
    const std::string module = line();
    return module + " " + line();
  }
  std::int64_t long_integer() {
    const int n = byte();
    check(n <= 8, "has an integer of more than 64 bits");
    const std::uint64_t value = number(n);
    const bool negative = n > 0 && n < 8 && (value >> (8 * n - 1) & 1) != 0;
    return std::int64_t(negative ? value | ~std::uint64_t(0) << (8 * n) : value);
  }
  double big_endian_double() {
    std::uint64_t bits = 0;
    for (int i = 0; i < 8; ++i) bits = bits << 8 | byte();
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }

  // the stack
  void push(Value value, int depth = 0) { stack_.push_back({std::move(value), depth}); }
  void push_tuple(const std::vector<Item>& items) { push(Value::tuple(values(items)), depth_over(items)); }
  Item& last() {
    check(stack_.size() > floor(), "takes from an empty stack");
    return stack_.back();
  }
  Item pop_item() {
    Item item = std::move(last());
    stack_.pop_back();
    return item;
  }
  Value pop() { return pop_item().value; }
  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  std::vector<Item> top(std::size_t n) {
    check(stack_.size() >= floor() + n, "takes from an empty stack");
    std::vector<Item> items(stack_.end() - std::ptrdiff_t(n), stack_.end());
    stack_.resize(stack_.size() - n);
    return items;
  }
  std::vector<Item> above_mark() {
    check(!marks_.empty(), "has no mark");
    std::vector<Item> items = top(stack_.size() - marks_.back());
    marks_.pop_back();
    return items;
  }
  void recall(std::uint64_t key) {
    const auto found = memo_.find(key);
    check(found != memo_.end(), "recalls what was never remembered");
    stack_.push_back(found->second);
  }
  static std::vector<Value> values(const std::vector<Item>& items) {
    std::vector<Value> out;
    for (const Item& item : items) out.push_back(item.value);
    return out;
  }
  static int depth_over(const std::vector<Item>& items) {
    int depth = 0;
    for (const Item& item : items) depth = std::max(depth, item.depth);
    check(depth < 500, "is nested too deeply");
    return depth + 1;
  }

  // containers: only the stack and the memo may hold one that still grows, so that nothing can come to contain itself
  Item& growing(long holders, const char* what, const std::vector<Item>& added) {
    Item& item = last();
    check(holders <= 2, "changes a ", what, " that is already part of something");
    item.depth = std::max(item.depth, depth_over(added));
    for (auto& entry : memo_)
      if (entry.second.value.identity() == item.value.identity() && item.value.identity() != nullptr)
        entry.second.depth = item.depth;
    return item;
  }
  void append(const std::vector<Item>& items) {
    check(last().value.isList(), "appends to a ", last().value.kind());
    List& list = *growing(last().value.toListPtr().use_count(), "list", items).value.toListPtr();
    for (const Item& item : items) list.items.push_back(item.value);
  }
  void set_items(const std::vector<Item>& items) {
    check(last().value.isDict() && items.size() % 2 == 0, "sets items of a ", last().value.kind());
    Dict& dict = growing(last().value.toDictPtr().use_count(), "dict", items).value.toDict();
    for (std::size_t i = 0; i < items.size(); i += 2) dict.set(items[i].value, items[i + 1].value);
  }

  // globals: an object without a class that holds a name
  static Value global(std::string name) {
    auto object = std::make_shared<Object>();
    object->attributes.emplace_back(std::move(name));
    return object;
  }
  static std::string global_name(const Value& value) {
    check(value.isObject() && value.toObject()->type == nullptr, "uses a ", value.kind(), " as a function");
    return value.toObject()->attributes.at(0).toString();
  }
  const ClassType* class_named(std::string name) const {
    std::replace(name.begin(), name.end(), ' ', '.');
    const ClassType* type = find_class_ ? find_class_(name) : nullptr;
    check(type != nullptr, "names ", name, ", which is neither known here nor a class of the archive");
    return type;
  }

  void reduce() {
    const Item arguments = pop_item();
    const std::string name = global_name(pop());
    check(arguments.value.isTuple(), "calls ", name, " without a tuple of arguments");
    const auto& a = arguments.value.toTupleElements();
    const auto needs = [&](std::size_t n) { check(a.size() >= n, "calls ", name, " with too few arguments"); };
    if (name == "torch._utils _rebuild_tensor_v2") {
      needs(5);
      push(tensor(a));
    } else if (name == "torch._utils _rebuild_parameter") {
      needs(2);
      Tensor parameter = a[0].toTensor();
      parameter.set_requires_grad(a[1].toBool());
      push(parameter);
    } else if (name == "collections OrderedDict") {
      push(std::make_shared<Dict>());
    } else if (name == "torch device") {
      needs(1);
      push(Device{a[0].toString()});
    } else if (name == "torch Size" || name == "torch.jit._pickle restore_type_tag" ||
               name.compare(0, 24, "torch.jit._pickle build_") == 0) {
      needs(1);
      push(a[0], arguments.depth);
    } else {
      push(Value::tuple(a, class_named(name)), arguments.depth);  // a NamedTuple
    }
  }

  void new_object() {
    pop();  // no arguments
    auto object = std::make_shared<Object>();
    object->type = class_named(global_name(pop()));
    object->attributes.resize(object->type->attributes.size());
    push(object);
  }

  void build() {
    const std::vector<Item> state = top(1);
    Item& item = last();
    if (item.value.isDict()) return;  // the `_metadata` that Python hangs on a state_dict
    check(item.value.isObject() && item.value.toObject()->type != nullptr, "gives a state to a ", item.value.kind());
    const ObjectPtr object = growing(item.value.toObject().use_count(), "object", state).value.toObject();
    check(state[0].value.isDict(), object->type->name, " has a __setstate__ of its own, which is not run here");
    for (const auto& [key, value] : state[0].value.toDict().entries) {
      const auto found = object->type->index.find(key.toString());
      if (found != object->type->index.end()) object->attributes[found->second] = value;
    }
  }

  // tensors
  static Dtype storage_dtype(const std::string& name) {
    static const std::map<std::string, Dtype> dtypes = {
        {"torch FloatStorage", Dtype::float32}, {"torch DoubleStorage", Dtype::float64},
        {"torch LongStorage", Dtype::int64},    {"torch IntStorage", Dtype::int32},
        {"torch ShortStorage", Dtype::int16},   {"torch CharStorage", Dtype::int8},
        {"torch ByteStorage", Dtype::uint8},    {"torch BoolStorage", Dtype::boolean}};
    const auto found = dtypes.find(name);
    check(found != dtypes.end(), "has a tensor of ", name, ", a type this runtime does not have");
    return found->second;
  }

  // ('storage', torch.FloatStorage, '0', 'cpu', 12): all elements of a storage.
  Value persistent(const Value& id) {
    check(id.isTuple() && id.toTupleElements().size() >= 5, "has an unknown kind of persistent id");
    const auto& parts = id.toTupleElements();
    const Dtype dtype = storage_dtype(global_name(parts[1]));
    const std::string record = prefix_ + "/" + parts[2].toString();
    const std::int64_t numel = parts[4].toInt();
    auto& storage = storages_[record];
    if (storage == nullptr)
      storage = std::make_shared<Storage>(aligned(archive_.read(record)));
    check(numel >= 0 && numel <= storage->nbytes / element_size(dtype), "record ", record, " has ", storage->nbytes,
          " bytes, too few for ", numel, " elements");
    return Tensor(storage, {numel}, {1}, 0, dtype);
  }

  static Bytes aligned(Bytes bytes) {  // for the largest elements: another tensor may see others in the same bytes
    if (reinterpret_cast<std::uintptr_t>(bytes.data) % alignof(double) == 0) return bytes;
    return own_bytes({bytes.data, bytes.data + bytes.size});
  }

  // (storage, storage_offset, sizes, strides, requires_grad, hooks)
  Value tensor(const std::vector<Value>& a) const {
    const Tensor& storage = a[0].toTensor();
    Tensor t(storage.storage(), a[2].toIntVector(), a[3].toIntVector(), a[1].toInt(), storage.dtype());
    check(t.numel() <= 1 << 16 || t.numel() / 64 <= storage.numel(), "has a tensor much larger than its storage");
    t.set_requires_grad(a[4].toBool());
    return t;
  }

  const Archive& archive_;
  std::string record_, prefix_;
  FindClass find_class_;
  Bytes bytes_;
  std::size_t at_ = 0;
  std::vector<Item> stack_;
  std::vector<std::size_t> marks_;
  std::map<std::uint64_t, Item> memo_;
  std::map<std::string, std::shared_ptr<Storage>> storages_;
};

// What torch.save wrote: tensors, numbers, strings, lists, tuples and dicts.
inline Value load_values(const std::string& path) {
  return guarded(path, [&] {
    const Archive archive = Archive::open(path);
    return Unpickler(archive, "data.pkl", "data", nullptr).run();
  });
}

}  // namespace torchscript

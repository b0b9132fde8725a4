// Values: whatever a variable of the program can hold.
//
// TorchScript's types are few: None, bool, int, float, str, device, Tensor, lists, tuples, dicts and objects (modules are
// objects). A `Value` is one of them. Lists, dicts and objects have identity: copying the value copies the reference, as in
// Python. It mirrors aten/src/ATen/core/ivalue.h.
//
// How the real one differs: an IValue is 16 bytes, a tag and a payload, with lists kept as vectors of int64_t or double; and it
// knows futures, generators, streams, enums and complex numbers.
#pragma once

#include <functional>
#include <list>
#include <unordered_map>
#include <utility>
#include <variant>

#include "loops.h"

namespace torchscript {

class Value;
struct ClassType;

// Values lie in each other as deep as a program wants. Destroyed one inside the other they would exhaust the stack, so what a
// container held waits until the outermost one is gone.
inline void let_go(std::vector<Value>& items);

struct List {
  std::vector<Value> items;
  ~List() { let_go(items); }
};

struct Tuple {
  std::vector<Value> items;
  const ClassType* type = nullptr;  // a NamedTuple's, for the names of its fields
  ~Tuple() { let_go(items); }
};

struct Device {
  std::string name;
};

struct HashOfKey {
  std::size_t operator()(const Value& key) const;
};
struct EqualKeys {
  bool operator()(const Value& a, const Value& b) const;
};

// A dict remembers the order in which keys came.
struct Dict {
  using Entries = std::list<std::pair<Value, Value>>;
  Entries entries;
  std::unordered_map<Value, Entries::iterator, HashOfKey, EqualKeys> places;

  Value* find(const Value& key);
  void set(const Value& key, Value value);
  bool erase(const Value& key);
  ~Dict();
};

// An instance of a class: attributes in the order of the class. For a module, its submodules and parameters are attributes.
struct Object {
  const ClassType* type = nullptr;
  std::vector<Value> attributes;
  ~Object() { let_go(attributes); }
};

using ListPtr = std::shared_ptr<List>;
using TuplePtr = std::shared_ptr<Tuple>;
using DictPtr = std::shared_ptr<Dict>;
using ObjectPtr = std::shared_ptr<Object>;

class Value {
 public:
  Value() = default;  // None
  Value(bool v) : payload_(v) {}
  Value(std::int64_t v) : payload_(v) {}
  Value(int v) : payload_(std::int64_t(v)) {}
  Value(double v) : payload_(v) {}
  Value(std::string v) : payload_(std::move(v)) {}
  Value(const char* v) : payload_(std::string(v)) {}
  Value(Device v) : payload_(std::move(v)) {}
  Value(Tensor v) : payload_(std::move(v)) { check(get<Tensor>().defined(), "a tensor without a value"); }
  Value(ListPtr v) : payload_(std::move(v)) {}
  Value(TuplePtr v) : payload_(std::move(v)) {}
  Value(DictPtr v) : payload_(std::move(v)) {}
  Value(ObjectPtr v) : payload_(std::move(v)) {}

  static Value list(std::vector<Value> items) {
    auto made = std::make_shared<List>();
    made->items = std::move(items);
    return made;
  }
  static Value tuple(std::vector<Value> items, const ClassType* type = nullptr) {
    auto made = std::make_shared<Tuple>();
    made->items = std::move(items);
    made->type = type;
    return made;
  }
  template <class T>
  static Value list_of(const std::vector<T>& items) {
    return list(std::vector<Value>(items.begin(), items.end()));
  }

  bool isNone() const { return is<std::monostate>(); }
  bool isBool() const { return is<bool>(); }
  bool isInt() const { return is<std::int64_t>(); }
  bool isDouble() const { return is<double>(); }
  bool isScalar() const { return isInt() || isDouble() || isBool(); }
  bool isString() const { return is<std::string>(); }
  bool isDevice() const { return is<Device>(); }
  bool isTensor() const { return is<Tensor>(); }
  bool isList() const { return is<ListPtr>(); }
  bool isTuple() const { return is<TuplePtr>(); }
  bool isDict() const { return is<DictPtr>(); }
  bool isObject() const { return is<ObjectPtr>(); }

  bool toBool() const { return isTensor() ? bool(item<Boolean>(toTensor())) : isInt() ? toInt() != 0 : get<bool>(); }
  std::int64_t toInt() const {
    if (isTensor()) return item<std::int64_t>(toTensor());
    return isBool() ? std::int64_t(get<bool>()) : get<std::int64_t>();
  }
  double toDouble() const {
    if (isTensor()) return item<double>(toTensor());
    return isDouble() ? get<double>() : double(toInt());
  }
  const std::string& toString() const { return get<std::string>(); }
  const Device& toDevice() const { return get<Device>(); }
  const Tensor& toTensor() const { return get<Tensor>(); }
  const ListPtr& toListPtr() const { return get<ListPtr>(); }
  std::vector<Value>& toList() const { return get<ListPtr>()->items; }
  const std::vector<Value>& toTupleElements() const { return get<TuplePtr>()->items; }
  const TuplePtr& toTuple() const { return get<TuplePtr>(); }
  Dict& toDict() const { return *get<DictPtr>(); }
  const DictPtr& toDictPtr() const { return get<DictPtr>(); }
  const ObjectPtr& toObject() const { return get<ObjectPtr>(); }

  // A list of ints, or of tensors, in C++'s own clothes. A lone int stands for a list of one.
  Sizes toIntVector() const {
    if (isInt() || isTensor()) return {toInt()};
    Sizes out;
    for (const Value& v : elements()) out.push_back(v.toInt());
    return out;
  }
  // Numbers that describe a window are multiplied with one another; PyTorch's kernels take no more than 32 bits there, too.
  Sizes toInt32Vector() const {
    Sizes out = toIntVector();
    for (const std::int64_t v : out) check(v == std::int32_t(v), "integer out of range: ", v);
    return out;
  }
  std::vector<Tensor> toTensorVector() const {
    std::vector<Tensor> out;
    for (const Value& v : elements()) out.push_back(v.toTensor());
    return out;
  }
  const std::vector<Value>& elements() const { return isTuple() ? toTupleElements() : toList(); }

  const char* kind() const { return kind_names[payload_.index()]; }
  bool same_kind(const Value& other) const { return payload_.index() == other.payload_.index(); }
  const void* identity() const;  // what `is` compares

 private:
  template <class T>
  bool is() const {
    return std::holds_alternative<T>(payload_);
  }
  template <class T>
  const T& get() const {
    const T* found = std::get_if<T>(&payload_);
    if (found == nullptr)
      fail("expected a value of type ", kind_names[index_of<T>(static_cast<Payload*>(nullptr))], " but found ", kind());
    return *found;
  }
  // The place of T among the types of a variant.
  template <class T, class... Types>
  static constexpr std::size_t index_of(std::variant<Types...>*) {
    std::size_t index = 0;
    (void)((std::is_same_v<T, Types> || (++index, false)) || ...);
    return index;
  }

  static constexpr const char* kind_names[] = {"None",   "bool", "int",   "float", "str",   "Device",
                                               "Tensor", "List", "Tuple", "Dict",  "Object"};
  using Payload = std::variant<std::monostate, bool, std::int64_t, double, std::string, Device, Tensor, ListPtr,
                               TuplePtr, DictPtr, ObjectPtr>;
  Payload payload_;
};

inline const void* Value::identity() const {
  if (isList()) return toListPtr().get();
  if (isTuple()) return toTuple().get();
  if (isDict()) return toDictPtr().get();
  if (isObject()) return toObject().get();
  return nullptr;
}

inline void let_go(std::vector<Value>& items) {
  thread_local std::vector<Value>* waiting = nullptr;
  if (waiting != nullptr) {
    for (Value& item : items)
      if (item.identity() != nullptr) waiting->push_back(std::move(item));
    return;
  }
  std::vector<Value> queue = std::move(items);
  waiting = &queue;
  while (!queue.empty()) {
    const Value next = std::move(queue.back());
    queue.pop_back();
  }
  waiting = nullptr;
}

inline Dict::~Dict() {
  places.clear();
  std::vector<Value> items;
  for (auto& entry : entries) items.push_back(std::move(entry.second));
  let_go(items);
}

// A walk down into values that lie in each other, which may be a list that contains itself.
inline void check_depth(int depth) { check(depth < 500, "values are nested too deeply"); }

// Equality as `==` has it for everything but tensors. 1 == 1.0 == True.
inline bool equal(const Value& a, const Value& b, int depth = 0) {
  check_depth(depth);
  if (a.isScalar() && b.isScalar()) {
    if (a.isDouble() || b.isDouble()) return a.toDouble() == b.toDouble();
    return a.toInt() == b.toInt();
  }
  if (!a.same_kind(b)) return false;
  if (a.isNone()) return true;
  if (a.isString()) return a.toString() == b.toString();
  if (a.isDevice()) return a.toDevice().name == b.toDevice().name;
  if (a.isTensor()) return a.toTensor().is(b.toTensor());
  if (a.isList() || a.isTuple()) {
    const auto &x = a.elements(), &y = b.elements();
    return x.size() == y.size() && std::equal(x.begin(), x.end(), y.begin(), [depth](const Value& p, const Value& q) {
             return equal(p, q, depth + 1);
           });
  }
  if (a.isDict()) {
    Dict &x = a.toDict(), &y = b.toDict();
    if (x.entries.size() != y.entries.size()) return false;
    for (const auto& [key, value] : x.entries) {
      const Value* other = y.find(key);
      if (other == nullptr || !equal(value, *other, depth + 1)) return false;
    }
    return true;
  }
  return a.toObject() == b.toObject();
}

inline std::size_t HashOfKey::operator()(const Value& key) const {
  if (key.isString()) return std::hash<std::string>()(key.toString());
  if (key.isScalar()) return std::hash<double>()(key.toDouble());
  if (key.isTensor()) return std::hash<const void*>()(key.toTensor().storage().get());
  fail("a ", key.kind(), " cannot be the key of a dict");
}
inline bool EqualKeys::operator()(const Value& a, const Value& b) const { return equal(a, b); }

inline Value* Dict::find(const Value& key) {
  const auto found = places.find(key);
  return found == places.end() ? nullptr : &found->second->second;
}
inline void Dict::set(const Value& key, Value value) {
  if (Value* old = find(key)) {
    *old = std::move(value);
  } else {
    entries.emplace_back(key, std::move(value));
    places.emplace(key, std::prev(entries.end()));
  }
}
inline bool Dict::erase(const Value& key) {
  const auto found = places.find(key);
  if (found == places.end()) return false;
  entries.erase(found->second);
  places.erase(found);
  return true;
}

}  // namespace torchscript

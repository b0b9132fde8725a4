// Operators on lists and dicts, which are shared by reference and changed in place.
//
// It mirrors torch/csrc/jit/runtime/register_prim_ops.cpp and list_utils.h.
//
// How the real one differs: lists of ints, floats and tensors have implementations of their own.
#pragma once

#include "ops_strings.h"

namespace torchscript {

inline std::size_t place(const Value& list, const Value& index, const char* what = "list index out of range") {
  const std::int64_t n = std::int64_t(list.elements().size()),
                     i = index.toInt() < 0 ? index.toInt() + n : index.toInt();
  check(i >= 0 && i < n, what);
  return std::size_t(i);
}

inline bool less_in(const Value& a, const Value& b, int depth) {
  check_depth(depth);
  if (a.isString() && b.isString()) return a.toString() < b.toString();
  if (a.isTuple() && b.isTuple())
    return std::lexicographical_compare(a.toTupleElements().begin(), a.toTupleElements().end(),
                                        b.toTupleElements().begin(), b.toTupleElements().end(),
                                        [depth](const Value& p, const Value& q) { return less_in(p, q, depth + 1); });
  return a.isInt() && b.isInt() ? a.toInt() < b.toInt() : a.toDouble() < b.toDouble();
}

inline bool less(const Value& a, const Value& b) { return less_in(a, b, 0); }

inline void sort_items(std::vector<Value>& items, bool reverse) {
  std::stable_sort(items.begin(), items.end(),
                   [=](const Value& a, const Value& b) { return reverse ? less(b, a) : less(a, b); });
}

inline Value key_error(const Value& key) { fail("KeyError: ", to_string(key)); }

template <class F>
Definition extreme(const char* name, F better) {
  return {std::string(name) + "(list self)", [=](Arguments& a) -> Value {
            const auto& items = a[0].toList();
            check(!items.empty(), "min() or max() of an empty list");
            return *std::min_element(items.begin(), items.end(), better);
          }};
}

inline Value slice_of_list(const std::vector<Value>& items, const Value& from, const Value& to, std::int64_t step) {
  std::vector<Value> taken;
  for (const std::size_t i : slice_places(std::int64_t(items.size()), from, to, step)) taken.push_back(items[i]);
  return Value::list(taken);
}

inline std::vector<Definition> list_operators() {
  return {
      {"len(list a)", [](Arguments& a) -> Value { return std::int64_t(a[0].toList().size()); }},
      {"len(tuple a)", [](Arguments& a) -> Value { return std::int64_t(a[0].toTupleElements().size()); }},
      {"append(list self, t el)", [](Arguments& a) -> Value { return a[0].toList().push_back(a[1]), a[0]; }},
      {"extend(list self, list other)",
       [](Arguments& a) -> Value {
         const std::vector<Value> more = a[1].toList();
         a[0].toList().insert(a[0].toList().end(), more.begin(), more.end());
         return {};
       }},
      {"insert(list self, int idx, t el)",
       [](Arguments& a) -> Value {
         auto& items = a[0].toList();
         const auto [at, end] = slice_range(std::int64_t(items.size()), a[1], Value());
         (void)end;
         items.insert(items.begin() + at, a[2]);
         return {};
       }},
      {"pop(list self, int idx=-1)",
       [](Arguments& a) -> Value {
         const auto at = place(a[0], a[1], "pop index out of range");
         Value item = a[0].toList()[at];
         a[0].toList().erase(a[0].toList().begin() + std::ptrdiff_t(at));
         return item;
       }},
      {"Delete(list self, int idx)",
       [](Arguments& a) -> Value {
         return a[0].toList().erase(a[0].toList().begin() + std::ptrdiff_t(place(a[0], a[1]))), Value();
       }},
      {"remove(list self, t el)",
       [](Arguments& a) -> Value {
         auto& items = a[0].toList();
         const auto found = std::find_if(items.begin(), items.end(), [&](const Value& v) { return equal(v, a[1]); });
         check(found != items.end(), "list.remove(x): x not in list");
         items.erase(found);
         return {};
       }},
      {"clear(list self)", [](Arguments& a) -> Value { return a[0].toList().clear(), Value(); }},
      {"reverse(list self)",
       [](Arguments& a) -> Value { return std::reverse(a[0].toList().begin(), a[0].toList().end()), Value(); }},
      {"sort(list self, bool reverse=False)",
       [](Arguments& a) -> Value { return sort_items(a[0].toList(), a[1].toBool()), Value(); }},
      {"sorted(list self)",
       [](Arguments& a) -> Value {
         Value sorted = Value::list(a[0].toList());
         sort_items(sorted.toList(), false);
         return sorted;
       }},
      {"copy(list self)", [](Arguments& a) -> Value { return Value::list(a[0].toList()); }},
      {"list(list l)", [](Arguments& a) -> Value { return Value::list(a[0].toList()); }},
      {"add(list a, list b)",
       [](Arguments& a) -> Value {
         Value sum = Value::list(a[0].toList());
         sum.toList().insert(sum.toList().end(), a[1].toList().begin(), a[1].toList().end());
         return sum;
       }},
      {"add_(list self, list b)",
       [](Arguments& a) -> Value {
         const std::vector<Value> more = a[1].toList();
         a[0].toList().insert(a[0].toList().end(), more.begin(), more.end());
         return a[0];
       }},
      {"mul(list l, int n)",
       [](Arguments& a) -> Value {
         std::vector<Value> items;
         const auto n = std::int64_t(a[0].toList().size());
         if (n > 0) room_for(std::max<std::int64_t>(a[1].toInt(), 0), n * std::int64_t(sizeof(Value)));
         for (std::int64_t i = 0; n > 0 && i < a[1].toInt(); ++i)
           items.insert(items.end(), a[0].toList().begin(), a[0].toList().end());
         return Value::list(items);
       }},
      {"__getitem__(list list, int idx)", [](Arguments& a) -> Value { return a[0].toList()[place(a[0], a[1])]; }},
      {"select(list list, int idx)", [](Arguments& a) -> Value { return a[0].toList()[place(a[0], a[1])]; }},
      {"_set_item(list l, int idx, t el)",
       [](Arguments& a) -> Value { return a[0].toList()[place(a[0], a[1])] = a[2], a[0]; }},
      {"slice(list l, int? start=None, int? end=None, int step=1)",
       [](Arguments& a) -> Value { return slice_of_list(a[0].toList(), a[1], a[2], a[3].toInt()); }},
      {"__contains__(list l, t item)",
       [](Arguments& a) -> Value {
         return std::any_of(a[0].toList().begin(), a[0].toList().end(), [&](const Value& v) { return equal(v, a[1]); });
       }},
      {"index(list self, Scalar el)",
       [](Arguments& a) -> Value {
         const auto& items = a[0].toList();
         const auto found = std::find_if(items.begin(), items.end(), [&](const Value& v) { return equal(v, a[1]); });
         check(found != items.end(), "ValueError: ", to_string(a[1]), " is not in list");
         return std::int64_t(found - items.begin());
       }},
      {"index(str[] self, str el)",
       [](Arguments& a) -> Value {
         const auto& items = a[0].toList();
         const auto found = std::find_if(items.begin(), items.end(), [&](const Value& v) { return equal(v, a[1]); });
         check(found != items.end(), "ValueError: '", to_string(a[1]), "' is not in list");
         return std::int64_t(found - items.begin());
       }},
      {"count(list self, t el)",
       [](Arguments& a) -> Value {
         return std::int64_t(
             std::count_if(a[0].toList().begin(), a[0].toList().end(), [&](const Value& v) { return equal(v, a[1]); }));
       }},
      {"eq(list a, list b)", [](Arguments& a) -> Value { return equal(a[0], a[1]); }},
      {"ne(list a, list b)", [](Arguments& a) -> Value { return !equal(a[0], a[1]); }},
      {"eq(tuple a, tuple b)", [](Arguments& a) -> Value { return equal(a[0], a[1]); }},
      {"ne(tuple a, tuple b)", [](Arguments& a) -> Value { return !equal(a[0], a[1]); }},
      extreme("prim::min", less),
      extreme("prim::max", [](const Value& a, const Value& b) { return less(b, a); }),
      {"sum(int[] self)",
       [](Arguments& a) -> Value {
         std::int64_t total = 0;
         for (const Value& v : a[0].toList()) total = plus(total, v.toInt());
         return total;
       }},
      {"sum(float[] self)",
       [](Arguments& a) -> Value {
         double total = 0;
         for (const Value& v : a[0].toList()) total += v.toDouble();
         return total;
       }},
      {"any(Scalar[] self)",
       [](Arguments& a) -> Value {
         return std::any_of(a[0].toList().begin(), a[0].toList().end(),
                            [](const Value& v) { return v.toDouble() != 0; });
       }},
      {"all(Scalar[] self)",
       [](Arguments& a) -> Value {
         return std::all_of(a[0].toList().begin(), a[0].toList().end(),
                            [](const Value& v) { return v.toDouble() != 0; });
       }},
      {"prim::range(int start, int stop, int step=1)",
       [](Arguments& a) -> Value {
         std::vector<Value> items;
         const std::int64_t n = range_length(a[0].toInt(), a[1].toInt(), a[2].toInt());
         room_for(n, sizeof(Value));
         for (std::int64_t i = 0; i < n; ++i) items.emplace_back(plus(a[0].toInt(), times(i, a[2].toInt())));
         return Value::list(items);
       }},
      {"wait(any self)", [](Arguments& a) -> Value { return a[0]; }},
  };
}

inline std::vector<Definition> dict_operators() {
  return {
      {"len(Dict self)", [](Arguments& a) -> Value { return std::int64_t(a[0].toDict().entries.size()); }},
      {"__getitem__(Dict self, t key)",
       [](Arguments& a) -> Value {
         const Value* found = a[0].toDict().find(a[1]);
         return found ? *found : key_error(a[1]);
       }},
      {"_set_item(Dict l, t idx, t v)", [](Arguments& a) -> Value { return a[0].toDict().set(a[1], a[2]), Value(); }},
      {"Delete(Dict self, t key)",
       [](Arguments& a) -> Value { return a[0].toDict().erase(a[1]) ? Value() : key_error(a[1]); }},
      {"__contains__(Dict dict, t key)", [](Arguments& a) -> Value { return a[0].toDict().find(a[1]) != nullptr; }},
      {"get(Dict self, t key, t default_value=None)",
       [](Arguments& a) -> Value {
         const Value* found = a[0].toDict().find(a[1]);
         return found ? *found : a[2];
       }},
      {"setdefault(Dict self, t key, t default_value)",
       [](Arguments& a) -> Value {
         if (a[0].toDict().find(a[1]) == nullptr) a[0].toDict().set(a[1], a[2]);
         return *a[0].toDict().find(a[1]);
       }},
      {"pop(Dict self, t key)",
       [](Arguments& a) -> Value {
         const Value* found = a[0].toDict().find(a[1]);
         Value value = found ? *found : key_error(a[1]);
         a[0].toDict().erase(a[1]);
         return value;
       }},
      {"pop(Dict self, t key, t default_value)",
       [](Arguments& a) -> Value {
         const Value* found = a[0].toDict().find(a[1]);
         Value value = found ? *found : a[2];
         a[0].toDict().erase(a[1]);
         return value;
       }},
      {"popitem(Dict self)",
       [](Arguments& a) -> Value {
         check(!a[0].toDict().entries.empty(), "popitem(): dictionary is empty");
         const auto first = a[0].toDict().entries.front();
         a[0].toDict().erase(first.first);
         return Value::tuple({first.first, first.second});
       }},
      {"keys(Dict self)",
       [](Arguments& a) -> Value {
         std::vector<Value> keys;
         for (const auto& entry : a[0].toDict().entries) keys.push_back(entry.first);
         return Value::list(keys);
       }},
      {"values(Dict self)",
       [](Arguments& a) -> Value {
         std::vector<Value> values;
         for (const auto& entry : a[0].toDict().entries) values.push_back(entry.second);
         return Value::list(values);
       }},
      {"items(Dict self)",
       [](Arguments& a) -> Value {
         std::vector<Value> items;
         for (const auto& entry : a[0].toDict().entries) items.push_back(Value::tuple({entry.first, entry.second}));
         return Value::list(items);
       }},
      {"update(Dict self, Dict to_add)",
       [](Arguments& a) -> Value {
         const auto more = a[1].toDict().entries;
         for (const auto& entry : more) a[0].toDict().set(entry.first, entry.second);
         return {};
       }},
      {"clear(Dict self)",
       [](Arguments& a) -> Value {
         a[0].toDict().places.clear();
         a[0].toDict().entries.clear();
         return {};
       }},
      {"copy(Dict self)",
       [](Arguments& a) -> Value {
         auto copy = std::make_shared<Dict>();
         for (const auto& entry : a[0].toDict().entries) copy->set(entry.first, entry.second);
         return copy;
       }},
      {"eq(Dict a, Dict b)", [](Arguments& a) -> Value { return equal(a[0], a[1]); }},
      {"ne(Dict a, Dict b)", [](Arguments& a) -> Value { return !equal(a[0], a[1]); }},
  };
}

}  // namespace torchscript

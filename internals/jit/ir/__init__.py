"""The intermediate representation: functions as data (`torch/csrc/jit/ir`).

    value.py, node.py, block.py, graph.py   the graph itself
    attributes.py, constants.py, enums.py   what a node is given besides its inputs
    types.py, tensor_type.py, class_type.py, unify.py, alias_info.py
                                            types of values, and which of them may share memory
    printer.py, tensor_text.py, dialect_101.py, annotate_aliases.py
                                            graphs as text: today's, the talk's, and with the
                                            memory made visible
    parser.py, type_parser.py, literal_parser.py
                                            and text as graphs
    source_range.py                         where a node came from
    verifier.py, verifier_rules.py          what must hold in every graph

How the real one differs: types are in `aten/src/ATen/core`, since the dispatcher and the JIT share
them; nodes are C++ objects that the graph owns, and Python sees them through wrappers.
"""

from internals.core.source_range import Frame, Source, SourceRange, StackRange, shown_name

from .attributes import Attribute
from .block import Block, all_nodes, all_values
from .class_type import ClassAttribute, ClassType
from .constants import constant_of, insert_constant, is_constant, is_constant_value, type_of
from .graph import Graph
from .node import Node
from .parser import parse_ir
from .tensor_type import TensorType, type_verbosity, unshaped
from .type_parser import parse_type
from .types import (
    AnyListType,
    AnyTupleType,
    AnyType,
    BoolType,
    ComplexType,
    DeviceObjType,
    DictType,
    FloatType,
    FunctionType,
    FutureType,
    GeneratorType,
    IntType,
    ListType,
    NoneType,
    NumberType,
    OptionalType,
    PyObjectType,
    StringType,
    TupleType,
    Type,
    VarType,
    optional,
)  # fmt: skip
from .unify import unify_type_list, unify_types
from .value import Use, Value, base_name, is_valid_name
from .verifier import VerificationError, verify

__all__ = [
    "AnyListType", "AnyTupleType", "AnyType", "Attribute", "Block", "BoolType", "ClassAttribute",
    "ClassType", "ComplexType", "DeviceObjType", "DictType", "FloatType", "Frame", "FunctionType",
    "FutureType", "GeneratorType", "Graph", "IntType", "ListType", "Node", "NoneType", "NumberType",
    "OptionalType", "PyObjectType", "Source", "SourceRange", "StackRange", "StringType",
    "TensorType", "TupleType", "Type", "Use", "Value", "VarType", "VerificationError", "all_nodes",
    "all_values", "base_name", "constant_of", "insert_constant", "is_constant", "is_constant_value",
    "is_valid_name", "optional", "parse_ir", "parse_type", "shown_name", "type_of",
    "type_verbosity", "unify_type_list", "unify_types", "unshaped", "verify",
]  # fmt: skip

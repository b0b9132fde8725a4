"""The intermediate representation: functions as data (`torch/csrc/jit/ir`).

value.py, node.py, block.py, graph.py   the graph itself
attributes.py, constants.py             what a node is told
types.py, tensor_type.py, class_type.py, unify.py   types of values
printer.py, parser.py, dialect_101.py   as text, today's and the talk's
source_range.py                         where a node came from
verifier.py                             what must hold in every graph
"""

from .attributes import Attribute
from .block import Block, all_nodes
from .class_type import ClassAttribute, ClassType
from .constants import constant_of, insert_constant, is_constant, is_constant_value, type_of
from .graph import Graph
from .node import Node
from .parser import parse_ir
from .source_range import Frame, Source, SourceRange, StackRange, shown_name
from .tensor_type import TensorType, contiguous_strides, type_verbosity, unshaped
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
    "AnyListType", "AnyTupleType", "AnyType", "Attribute", "Block", "BoolType", "ClassAttribute", "ClassType",
    "ComplexType", "DeviceObjType", "DictType", "FloatType", "Frame", "FunctionType", "FutureType", "GeneratorType",
    "Graph", "IntType", "ListType", "Node", "NoneType", "NumberType", "OptionalType", "PyObjectType", "Source",
    "SourceRange", "StackRange", "StringType", "TensorType", "TupleType", "Type", "Use", "Value", "VarType",
    "VerificationError", "all_nodes", "base_name", "constant_of", "contiguous_strides", "insert_constant",
    "is_constant", "is_constant_value", "is_valid_name", "optional", "parse_ir", "parse_type", "shown_name", "type_of",
    "type_verbosity", "unify_type_list", "unify_types", "unshaped", "verify",
]  # fmt: skip

"""The type of a module: its attributes and its methods (`aten/src/ATen/core/class_type.h`).

A scripted or traced module is an object of such a type. Instances share the type, and with it the
compiled methods, when everything that was decided at compile time is equal: the types of the
attributes and the values of the constants.

How the real one differs: user classes, interfaces, properties and static methods live here as well;
and a slot is found by number, where ours are found by name in the module's own dicts
(`script_module.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .types import Text, Type

if TYPE_CHECKING:
    from internals.jit.script_function import ScriptFunction

KINDS = ("parameter", "buffer", "module", "attribute")


class ClassAttribute(NamedTuple):
    type: Type
    kind: str


class ClassType(Type):
    """`attributes`: name → (type, kind), kind being one of KINDS; `constants`: name → value;
    `methods`: name → function.

    `forward_hooks` and `forward_pre_hooks` are the compiled hooks, functions too. `is_module` is
    False for classes of plain objects, which come from archives only (`script_object.py`).

    Two class types are equal only if they are the same object.
    """

    __slots__ = (
        "qualified_name", "attributes", "constants", "methods", "forward_hooks",
        "forward_pre_hooks", "is_module", "__weakref__",
    )  # fmt: skip

    def __init__(self, qualified_name: Text, is_module: bool = True) -> None:
        self.qualified_name, self.is_module = qualified_name, is_module
        self.attributes: dict[Text, ClassAttribute] = {}
        self.constants: dict[Text, Any] = {}
        self.methods: dict[Text, Any] = {}
        self.forward_hooks: list[Any] = []
        self.forward_pre_hooks: list[Any] = []

    def name(self) -> Text:  # type: ignore[override]
        return self.qualified_name

    def str(self) -> Text:
        return self.qualified_name

    @property
    def annotation_str(self) -> Text:
        return self.qualified_name

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __deepcopy__(self, memo: Any) -> ClassType:
        """The type itself: copies of a module have the same class."""
        return self

    def addAttribute(self, name: Text, type: Type, kind: Text = "attribute") -> None:
        """Declare an attribute. Raises RuntimeError if there is one of that name already."""
        if name in self.attributes:
            raise RuntimeError(
                f"attempting to add {kind} '{name}' to {self.qualified_name}, which has an "
                "attribute of that name"
            )
        if kind not in KINDS:
            raise ValueError(f"an attribute is one of {', '.join(KINDS)}, not {kind!r}")
        self.attributes[name] = ClassAttribute(type, kind)

    def hasAttribute(self, name: Text) -> bool:
        return name in self.attributes

    def getAttribute(self, name: Text) -> Type:
        """The type of an attribute. Raises RuntimeError when there is none of that name."""
        if name not in self.attributes:
            raise RuntimeError(
                f"{self.qualified_name} does not have an attribute with name '{name}'"
            )
        return self.attributes[name].type

    def kind_of(self, name: Text) -> Text:
        return self.attributes[name].kind

    def addMethod(self, name: Text, function: ScriptFunction) -> None:
        self.methods[name] = function

    def findMethod(self, name: Text) -> Any | None:
        return self.methods.get(name)

    def getMethod(self, name: Text) -> Any:
        if name not in self.methods:
            raise RuntimeError(f"Couldn't find method: '{name}' on class: '{self.qualified_name}'")
        return self.methods[name]

    def containedTypes(self) -> list[Type]:
        """The types of the attributes."""
        return [a.type for a in self.attributes.values()]

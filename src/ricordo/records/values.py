"""How records are defined: `record`, a fast frozen dataclass, and `canonical` JSON, one spelling for each value."""

from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from json import JSONEncoder
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[T]) -> type[T]:
    """Like `dataclass(frozen=True, slots=True)`, but faster; a record class cannot be subclassed.

    `dataclasses` compiles six methods for each class; this compiles only `__init__`. `dataclasses` calls
    `object.__setattr__` for every field of a frozen value; here the value has an unfrozen class with the same slots
    until all fields are set.
    """
    made: Any = dataclass(slots=True, init=False, repr=False, eq=False)(cls)
    unfrozen = type(cls.__name__, (), {"__slots__": made.__slots__})
    names = {"_become": object.__dict__["__class__"].__set__, "_unfrozen": unfrozen, "_made": made, "_none": MISSING}
    lines, defaults = ["    _become(self, _unfrozen)"], []
    for each in fields(made):
        value = each.name
        if each.default_factory is not MISSING:
            names[f"_make_{value}"] = each.default_factory
            value = f"_make_{value}() if {value} is _none else {value}"
        if each.default is not MISSING or each.default_factory is not MISSING:
            defaults.append(each.default)
        lines.append(f"    self.{each.name} = {value}")
    lines += ["    self.__class__ = _made", *["    self.__post_init__()"] * hasattr(cls, "__post_init__")]
    exec("\n".join([f"def __init__({', '.join(['self', *made.__slots__])}):", *lines]), names)
    quick: Any = names["__init__"]
    quick.__defaults__, quick.__qualname__ = tuple(defaults), f"{cls.__qualname__}.__init__"
    quick.__annotations__ = {each.name: each.type for each in fields(made)} | {"return": None}
    compared = [each.name for each in fields(made) if each.compare]
    values = attrgetter(*(compared if len(compared) > 1 else compared * 2))  # a tuple in any case
    methods = {
        "__init__": quick, "__repr__": _representation, "__setattr__": _refuse, "__delattr__": _refuse,
        "__reduce__": lambda one: (made, tuple([getattr(one, name) for name in made.__slots__])),
        "__hash__": lambda one: hash(values(one)),
        "__eq__": lambda one, other: values(one) == values(other) if type(other) is made else NotImplemented,
    }  # fmt: skip
    for name in methods.keys() - vars(cls).keys():
        setattr(made, name, methods[name])
    return made  # type: ignore[no-any-return]


def _representation(value: Any) -> str:
    shown = (f"{each.name}={getattr(value, each.name)!r}" for each in fields(value) if each.repr)
    return f"{type(value).__qualname__}({', '.join(shown)})"


def _refuse(_: object, name: str, *__: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


# JSON with one spelling per value; one encoder, because `json.dumps` makes another with every call.
canonical: Callable[[object], str] = JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode

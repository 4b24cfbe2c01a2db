"""What every record is made with: `record`, a frozen dataclass whose values are made quickly, and `canonical` JSON."""

import json
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def record(cls: type[T]) -> type[T]:
    """Like `dataclass(frozen=True, slots=True)`, and not to be derived from.

    `dataclasses` sets every field of a frozen value with a call. Here the value belongs to another class with the same
    slots until it is made, which may set them.
    """
    frozen = dataclass(frozen=True, slots=True)(cls)
    slow: Any = frozen.__init__
    unfrozen = type(cls.__name__, (), {"__slots__": frozen.__slots__})  # type: ignore[attr-defined]
    names: dict[str, Any] = {"change": object.__setattr__, "unfrozen": unfrozen, "frozen": frozen}
    lines = [f"def __init__(self, {', '.join(slow.__code__.co_varnames[1:])}):"]
    lines += ["    change(self, '__class__', unfrozen)"]
    for number, field in enumerate(fields(frozen), start=-len(slow.__code__.co_varnames[1:])):  # type: ignore[arg-type]
        value = field.name
        if field.default_factory is not MISSING:
            names |= {f"make_{value}": field.default_factory, f"no_{value}": slow.__defaults__[number]}
            value = f"make_{value}() if {value} is no_{value} else {value}"
        lines.append(f"    self.{field.name} = {value}")
    exec("\n".join([*lines, "    self.__class__ = frozen"]), names)
    quick: Callable[..., None] = names["__init__"]
    for kept in ("__annotations__", "__defaults__", "__qualname__"):
        setattr(quick, kept, getattr(slow, kept))
    frozen.__init__ = quick  # type: ignore[method-assign]
    return frozen


_JSON = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))
canonical: Callable[[object], str] = _JSON.encode  # JSON with one spelling per value

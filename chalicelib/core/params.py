"""Fields of a body or a query whose errors name the parameter (spec 7, last lines).

The resources whose errors are ``{"message", "param", "value"}`` read with a :class:`Params`: every
fault is noted, and :meth:`Params.check` refuses with all of them. A null counts as absent.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from chalicelib.core.errors import ApiErrors, bad_format

_LONGEST_SHOWN = 300


class Params:
    """Reads the fields of ``given``, a JSON object or a query."""

    def __init__(self, given: Any) -> None:
        if not isinstance(given, Mapping):
            raise bad_format("the request body must be an object")
        self._given = given
        self._faults: list[dict[str, Any]] = []

    def text(
        self, name: str, *, most: int, required: bool = False, blank: bool = False
    ) -> str | None:
        """Return a string of at most ``most`` characters, with something in it unless ``blank``."""
        value = self._value(name, required)
        if value is None:
            return None
        if not isinstance(value, str):
            self.refuse(name, f"{name} must be a string", value)
        elif len(value) > most:
            self.refuse(name, f"{name} must have at most {most} characters", value)
        elif not (blank or value.strip()):
            self.refuse(name, f"{name} must not be empty", value)
        else:
            return value
        return None

    def choice(self, name: str, allowed: Collection[str]) -> str | None:
        """Return one of ``allowed``."""
        value = self._given.get(name)
        if value is None or value in allowed:
            return value
        self.refuse(name, f"{name} must be one of: {', '.join(allowed)}", value)
        return None

    def flag(self, name: str) -> bool | None:
        """Return a boolean."""
        value = self._given.get(name)
        if value is None or isinstance(value, bool):
            return value
        self.refuse(name, f"{name} must be a boolean", value)
        return None

    def texts(self, name: str, *, most: int, required: bool = False) -> list[str] | None:
        """Return an array of at most ``most`` strings; a required one is not empty."""
        value = self._value(name, required)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            self.refuse(name, f"{name} must be an array of strings", value)
        elif len(value) > most:
            self.refuse(name, f"{name} must have at most {most} entries", len(value))
        elif required and not value:
            self.refuse(name, f"{name} must not be empty", value)
        else:
            return value
        return None

    def inner(self, name: str) -> Params:
        """Return the reader of the object at ``name``; empty when absent. Faults are shared."""
        value = self._given.get(name)
        if value is not None and not isinstance(value, Mapping):
            self.refuse(name, f"{name} must be an object", value)
            value = None
        reader = Params(value or {})
        reader._faults = self._faults
        return reader

    def refuse(self, param: str, message: str, value: Any) -> None:
        """Note a fault."""
        self._faults.append({"message": message, "param": param, "value": _shown(value)})

    def check(self) -> None:
        """Raise 400 with every fault that was noted, if there is one."""
        if self._faults:
            raise ApiErrors(400, self._faults)

    def _value(self, name: str, required: bool) -> Any:
        value = self._given.get(name)
        if value is None and required:
            self.refuse(name, f"{name} is a required field", None)
        return value


def _shown(value: Any) -> Any:
    """Return what an error shows of a value: all of it, or the beginning of its text."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return value if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN]

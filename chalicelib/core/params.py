"""Read fields of a body or a query with errors that name the parameter (spec 7, last lines).

Resources whose errors are ``{"message", "param", "value"}`` read with a :class:`Params`. It
collects every fault, and :meth:`Params.check` raises them together. A null counts as absent; where
a value may be ``blank``, it means the empty one, which removes what was set.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from chalicelib.core.errors import ApiErrors, bad_format
from chalicelib.core.options import Changes

_LONGEST_VALUE = 300


class Params:
    """Reads the fields of ``source``, a JSON object or a query."""

    def __init__(self, source: Any) -> None:
        if not isinstance(source, Mapping):
            raise bad_format("the request body must be an object")
        self._source = source
        self._faults: list[dict[str, Any]] = []

    def text(
        self, name: str, *, most: int, required: bool = False, blank: bool = False
    ) -> str | None:
        """Return a string of at most ``most`` characters; only with ``blank`` may it be blank."""
        value = self._value(name, required)
        if value is None:
            return "" if blank and self.is_null(name) else None
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
        value = self._source.get(name)
        if value is None or value in allowed:
            return value
        self.refuse(name, f"{name} must be one of: {', '.join(allowed)}", value)
        return None

    def flag(self, name: str) -> bool | None:
        """Return a boolean."""
        value = self._source.get(name)
        if value is None or isinstance(value, bool):
            return value
        self.refuse(name, f"{name} must be a boolean", value)
        return None

    def options(self, name: str, names: Collection[str]) -> Changes:
        """Return those flags of the object at ``name`` that it has; null removes all of them."""
        if self.is_null(name):
            return dict.fromkeys(names)
        inner = self.inner(name)
        return {each: inner.flag(each) for each in names if each in inner._source}

    def texts(
        self, name: str, *, most: int, required: bool = False, blank: bool = False
    ) -> list[str] | None:
        """Return an array of at most ``most`` strings; a required one must not be empty."""
        value = self._value(name, required)
        if value is None:
            return [] if blank and self.is_null(name) else None
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
        """Return a reader of the object at ``name``, empty when absent; faults are shared."""
        value = self._source.get(name)
        if value is not None and not isinstance(value, Mapping):
            self.refuse(name, f"{name} must be an object", value)
            value = None
        reader = Params(value or {})
        reader._faults = self._faults
        return reader

    def is_null(self, name: str) -> bool:
        """Tell whether the source holds null for a field, rather than not having it."""
        return name in self._source and self._source[name] is None

    def refuse(self, param: str, message: str, value: Any) -> None:
        """Add a fault."""
        self._faults.append({"message": message, "param": param, "value": _shortened(value)})

    def check(self) -> None:
        """Raise 400 with all faults, if there are any."""
        if self._faults:
            raise ApiErrors(400, self._faults)

    def _value(self, name: str, required: bool) -> Any:
        value = self._source.get(name)
        if value is None and required:
            self.refuse(name, f"{name} is a required field", None)
        return value


def _shortened(value: Any) -> Any:
    """Return a value for an error: all of it, or the beginning of its text."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return value if len(text) <= _LONGEST_VALUE else text[:_LONGEST_VALUE]

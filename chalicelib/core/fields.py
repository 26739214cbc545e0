"""Read typed fields of a request: a JSON body by its model, a query parameter by its function.

Unknown fields of a body and unknown query parameters are ignored (spec 1.5).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from types import NoneType
from typing import Annotated, Any, Self, get_args, overload

import pydantic

from chalicelib.core.errors import ApiError, invalid_params
from chalicelib.core.query import Query
from chalicelib.core.violations import from_validation

_INTEGER = re.compile(r"-?[0-9]{1,10}", re.ASCII)
_WHOLE_NUMBER = re.compile(r"[0-9]{1,10}", re.ASCII)


def without_nulls(data: Any, besides: Collection[str] = ()) -> Any:
    """Return an object without its null fields, but for ``besides``; anything else as it is."""
    if not isinstance(data, dict):
        return data
    return {name: each for name, each in data.items() if each is not None or name in besides}


#: An object of texts; a null in it counts as absent
Texts = Annotated[dict[str, str], pydantic.BeforeValidator(without_nulls)]


class Body(pydantic.BaseModel):
    """A model of a JSON body, or of an object in it: exact types, unknown fields ignored.

    A validator may raise ``ValueError`` (code 1300, shown beside the other violations) or a
    ``ServiceError`` (shown alone). A list without a small ``max_length`` should be
    ``Annotated[list[...], pydantic.FailFast()]``: otherwise each bad element costs memory.
    """

    model_config = pydantic.ConfigDict(strict=True, extra="ignore", defer_build=True)

    @pydantic.model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, data: Any) -> Any:
        """Count null as absent, but for fields that can hold it: an update may read it there."""
        if not isinstance(data, dict) or None not in data.values():
            return data
        holds_null = {
            field.alias or name
            for name, field in cls.model_fields.items()
            if field.default is None or NoneType in get_args(field.annotation)
        }
        return without_nulls(data, besides=holds_null)

    @classmethod
    def parse(cls, data: Any) -> Self:
        """Check ``data``, as parsed from JSON; raises 422 with every violation found."""
        try:
            return cls.model_validate(data)
        except pydantic.ValidationError as error:
            raise from_validation(error, data) from None

    def is_null(self, name: str) -> bool:
        """Tell whether the body holds null for a field, rather than not having it."""
        return name in self.model_fields_set and getattr(self, name) is None


@overload
def boolean(query: Query, name: str) -> bool | None: ...
@overload
def boolean(query: Query, name: str, default: bool) -> bool: ...
def boolean(query: Query, name: str, default: bool | None = None) -> bool | None:
    """Read ``true`` or ``false``; ``default`` when absent; 400 with code 1200 on anything else."""
    text = query.get(name)
    if text is None:
        return default
    if text not in ("true", "false"):
        raise _unusable(name, "must be true or false")
    return text == "true"


@overload
def integer(query: Query, name: str, default: None, low: int, high: int) -> int | None: ...
@overload
def integer(query: Query, name: str, default: int, low: int, high: int) -> int: ...
def integer(query: Query, name: str, default: int | None, low: int, high: int) -> int | None:
    """Read an integer from ``low`` to ``high``; ``default`` when absent; 400 (1200) otherwise."""
    text = query.get(name)
    if text is None:
        return default
    if not _INTEGER.fullmatch(text) or not low <= int(text) <= high:
        raise _unusable(name, f"must be an integer from {low} to {high}")
    return int(text)


def whole_number(name: str, text: str) -> str:
    """Return a number from a list, without leading zeros; raises 400 (1200) for anything else."""
    if not _WHOLE_NUMBER.fullmatch(text):
        raise _unusable(name, f"must be whole numbers, which {text[:100]!r} is not")
    return str(int(text))


def _unusable(name: str, rule: str) -> ApiError:
    return invalid_params(f"{name} {rule}")

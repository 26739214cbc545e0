"""Read the bodies of ``/inline-seeds`` (spec 4.12).

Errors of the config carry a message and no code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from chalicelib.core.errors import ApiErrors, bad_format
from chalicelib.core.fields import Body
from chalicelib.seeding.model import LONGEST_ID, MOST_RULES, RANGES, Config

LONGEST_RULE: Final = LONGEST_ID + 1
"""Bytes of a campaign id, and an asterisk."""


class OptionsBody(Body):
    """The body of ``PUT /inline-seeds/options``."""

    enabled: bool


def new_config(body: Any) -> Config:
    """Return the config in a body; a field that is missing has its default.

    Raises 422 with every fault.
    """
    return changed_config(Config(), body)


def changed_config(config: Config, body: Any) -> Config:
    """Return ``config`` with the fields of a body; rules of one kind replace those of the other.

    Null and an array without rules count as missing. Raises 422 with every fault.
    """
    if not isinstance(body, Mapping):
        raise bad_format("the request body must be an object")
    faults: list[str] = []
    numbers = {name: _number(body, name, faults) for name in RANGES}
    match, exclude = _rules(body, "match", faults), _rules(body, "exclude", faults)
    if match and exclude:
        faults.append("match and exclude are mutually exclusive")
    if not (body.get("match") or body.get("exclude") or config.match or config.exclude):
        faults.append("one of match and exclude is required")
    if faults:
        raise ApiErrors(422, [{"message": fault} for fault in faults])
    fields: dict[str, Any] = {name: n for name, n in numbers.items() if n is not None}
    if match or exclude:
        fields |= {"match": match, "exclude": exclude}
    return replace(config, **fields)


def _number(body: Mapping[str, Any], name: str, faults: list[str]) -> int | None:
    value = body.get(name)
    if value is None:
        return None
    least, greatest = RANGES[name]
    if type(value) is int and least <= value <= greatest:
        return value
    faults.append(f"{name} must be an integer from {least} to {greatest}")
    return None


def _rules(body: Mapping[str, Any], name: str, faults: list[str]) -> tuple[str, ...]:
    value = body.get(name)
    if value is None:
        return ()
    if not isinstance(value, list) or not all(map(_is_rule, value)):
        faults.append(f"{name} must be an array of campaign ids or prefixes")
        return ()
    if len(value) > MOST_RULES:
        faults.append(f"too many {name} rules: found {len(value)}, max is {MOST_RULES}")
    return tuple(value)


def _is_rule(value: Any) -> bool:
    return (
        isinstance(value, str)
        and bool(value)
        and len(value.encode("utf-8", "surrogatepass")) <= LONGEST_RULE
    )

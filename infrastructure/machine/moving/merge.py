"""Decide what the target gets of an item that may have changed on both sides.

The base is the source's item as it was at the last copy. Whoever has an item that equals the base
has not changed it since.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum, auto

from chalicelib.accounts.usage_window import UsageWindow
from chalicelib.core.dynamo.codec import decode_item, encode_item
from chalicelib.core.json_types import Json
from chalicelib.recording.deduplication import DIGEST_BYTES
from infrastructure.machine.moving.kinds import Kind, Rule

_KEYS = ("pk", "sk")


class Action(Enum):
    """What is done with the target's item."""

    WRITE = auto()
    DELETE = auto()
    #: The target has it already
    NOTHING = auto()
    #: The target deleted it, and it stays deleted
    GONE = auto()
    #: Both sides changed it, and the target's stays
    CONFLICT = auto()


@dataclass(frozen=True, slots=True)
class Decision:
    """An action; ``image`` is what is written."""

    action: Action
    image: Json | None = None


@dataclass(frozen=True, slots=True)
class CounterChange:
    """What is added to the counts of an item, and the other attributes that it gets.

    ``first`` are attributes that it gets unless it has them.
    """

    additions: Mapping[str, Decimal] = field(default_factory=dict)
    sets: Json = field(default_factory=dict)
    first: Json = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.additions or self.sets or self.first)


def decide(
    kind: Kind,
    base: Json | None,
    source: Json | None,
    target: Json | None,
    *,
    same: Callable[[Json], bool],
) -> Decision:
    """Return what becomes of an item; ``None`` means that a side does not have it.

    ``same`` tells whether an image equals that of the last copy. ``base`` is known for some kinds
    only.
    """
    if source is None:
        unchanged = target is not None and same(target)
        return Decision(Action.DELETE if unchanged else Action.NOTHING)
    if target == source:
        return Decision(Action.NOTHING)
    if target is None:
        return Decision(Action.GONE)
    if same(target):
        return Decision(Action.WRITE, source)
    if kind is Kind.RECORD:
        return Decision(Action.WRITE, merged_record(source, target))
    if kind is Kind.USAGE and base is not None:
        return Decision(Action.WRITE, merged_usage(base, source, target))
    return Decision(Action.CONFLICT)


def counter_change(rule: Rule, base: Json | None, source: Json) -> CounterChange:
    """Return what the source has counted since the last copy, or at all if there was none."""
    earlier = base or {}
    numbers = {name for name in source | earlier if name not in _KEYS and rule.is_number(name)}
    numbers = {name for name in numbers if "N" in (source | earlier)[name]}
    additions = {name: _number(source, name) - _number(earlier, name) for name in sorted(numbers)}
    others = {
        name: value
        for name, value in source.items()
        if name not in _KEYS and name not in numbers and earlier.get(name) != value
    }
    return CounterChange(
        {name: number for name, number in additions.items() if number or base is None},
        others if base is not None else {},
        others if base is None else {},
    )


def merged_record(source: Json, target: Json) -> Json:
    """Return the target's record of recorded events with those of the source.

    Its version grows, so that a worker that has read it reads it again.
    """
    events, more = target["known"]["B"], source["known"]["B"]
    digests = _digests(events)
    missing = [each for each in _digests(more) if each not in digests]
    version = {"N": str(int(target["version"]["N"]) + 1)}
    merged = source | target | {"version": version}
    return merged | {"known": {"B": b"".join([*missing, events])}}


def merged_usage(base: Json, source: Json, target: Json) -> Json:
    """Return the target's usage with the recipients that the source has counted since ``base``."""
    earlier = _window(base)
    negative = UsageWindow(
        earlier.hour, -earlier.used, tuple(-count for count in earlier.past), -earlier.earlier
    )
    total = _window(target).plus(_window(source)).plus(negative)
    fields = ("hour", "used", "past", "earlier", "last")
    return target | encode_item({name: getattr(total, name) for name in fields})


def _digests(digests: bytes) -> dict[bytes, None]:
    places = range(0, len(digests), DIGEST_BYTES)
    return dict.fromkeys(digests[place : place + DIGEST_BYTES] for place in places)


def _number(item: Mapping[str, Mapping[str, str]], name: str) -> Decimal:
    return Decimal(item[name]["N"]) if name in item else Decimal(0)


def _window(item: Json) -> UsageWindow:
    fields = decode_item(item)
    return UsageWindow(
        fields["hour"], fields["used"], tuple(fields["past"]), fields["earlier"], fields["last"]
    )

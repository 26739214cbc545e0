"""Read the filters of the message events search (spec 4.10).

Each filter is a list. An event passes a filter if it has one of the values, and a search if it
passes all filters. A value that its filter cannot have gets a 400 with code 1200.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any, Final

from chalicelib.core.addresses import spelling
from chalicelib.core.errors import invalid_params
from chalicelib.core.fields import whole_number
from chalicelib.core.query import Query, delimited_list
from chalicelib.events import keywords
from chalicelib.events.documentation import type_of
from chalicelib.events.event_blocks import Conditions

Values = tuple[str, ...]

PRIMARY: Final = "0"


@dataclass(frozen=True, slots=True)
class Filter:
    """One filter: its field, how its values are read, and how they are compared."""

    field: str
    read: Callable[[str, str], str]
    compare: Callable[[Values], Callable[[Any], bool]]


@dataclass(frozen=True, slots=True)
class EventFilters:
    """The filters of one search: their ``values`` by parameter, and ``conditions`` by field.

    ``confined_to`` is the one subaccount whose events may be found, ``None`` for all.
    """

    values: Mapping[str, Values] = field(default_factory=dict)
    conditions: Conditions = field(default_factory=dict)
    confined_to: int | None = None

    def values_of(self, name: str) -> Values:
        """Return the values of one filter, none if the request does not have it."""
        return self.values.get(name, ())


def read(query: Query, confined_to: int | None = None) -> EventFilters:
    """Read the filters of a query; raises 400."""
    values: dict[str, Values] = {}
    for name, each in FILTERS.items():
        texts = delimited_list(query, name)
        if texts:
            values[name] = tuple(dict.fromkeys(each.read(name, text) for text in texts))
    if "ab_test_versions" in values and "ab_tests" not in values:
        raise invalid_params("ab_test_versions needs ab_tests")
    conditions = {FILTERS[name].field: FILTERS[name].compare(v) for name, v in values.items()}
    if confined_to is not None:
        own = _equal_or_primary((str(confined_to),))
        condition = conditions.get("subaccount_id", own)
        conditions["subaccount_id"] = lambda value: own(value) and condition(value)
    return EventFilters(values, conditions, confined_to)


def event_type(name: str, text: str) -> str:
    """Return the event type of this name, which may be in any case; raises 400."""
    kind = type_of(text)
    if kind is None:
        raise invalid_params(f"{name}: there is no event type {text[:100]!r}")
    return kind


def _any(name: str, text: str) -> str:
    return text


def _mailbox(name: str, text: str) -> str:
    return spelling(text)


def _address(name: str, text: str) -> str:
    try:
        return str(ip_address(text))
    except ValueError:
        raise invalid_params(f"{name} must be IP addresses, which {text[:100]!r} is not") from None


def _equal(values: Values) -> Callable[[Any], bool]:
    return frozenset(values).__contains__


def _same_mailbox(values: Values) -> Callable[[Any], bool]:
    texts = frozenset(values)
    return lambda value: value is not None and (value in texts or spelling(value) in texts)


def _equal_or_primary(values: Values) -> Callable[[Any], bool]:
    texts = frozenset(values)
    return lambda value: (value or PRIMARY) in texts


def _keywords(values: Values) -> Callable[[Any], bool]:
    return keywords.matcher(values)


def _domain_keywords(values: Values) -> Callable[[Any], bool]:
    return keywords.matcher(values, domain=True)


FILTERS: Final[dict[str, Filter]] = {
    "events": Filter("type", event_type, _equal),
    "event_ids": Filter("event_id", _any, _equal),
    "recipients": Filter("rcpt_to", _mailbox, _same_mailbox),
    "recipient_domains": Filter("recipient_domain", _any, _domain_keywords),
    "from_addresses": Filter("friendly_from", _mailbox, _same_mailbox),
    "sending_domains": Filter("sending_domain", _any, _domain_keywords),
    "subjects": Filter("subject", _any, _keywords),
    "reasons": Filter("reason", _any, _keywords),
    "campaigns": Filter("campaign_id", _any, _keywords),
    "templates": Filter("template_id", _any, _keywords),
    "ip_pools": Filter("ip_pool", _any, _keywords),
    "sending_ips": Filter("sending_ip", _address, _equal),
    "bounce_classes": Filter("bounce_class", whole_number, _equal),
    "subaccounts": Filter("subaccount_id", whole_number, _equal_or_primary),
    "messages": Filter("message_id", _any, _equal),
    "transmissions": Filter("transmission_id", _any, _equal),
    "mailbox_providers": Filter("mailbox_provider", _any, _keywords),
    "mailbox_provider_regions": Filter("mailbox_provider_region", _any, _keywords),
    "ab_tests": Filter("ab_test_id", _any, _keywords),
    "ab_test_versions": Filter("ab_test_version", whole_number, _equal),
}

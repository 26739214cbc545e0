"""Refuse to delete a record that other records name, or to withdraw what they need of it.

A name is written in one transaction with a write to the record that is named (its ``naming`` or
``touching``), which gives it another revision. A deletion reads the record, then asks here, and
deletes it if it has that revision still. So of two at the same time one comes first, and the other
finds the name, or no record to name.

A package does not know which other packages name its records, so ``app.py`` registers for each kind
of record the functions that find those that do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain, islice
from typing import Final

from chalicelib.core.errors import resource_conflict

IP_POOL: Final = "IP pool"
SENDING_DOMAIN: Final = "Sending domain"
BOUNCE_DOMAIN: Final = "Bounce domain"
TRACKING_DOMAIN: Final = "Tracking domain"
#: Named ``<domain>/<selector>``
DKIM_KEY: Final = "DKIM key"
SHARED_DOMAIN: Final = "Shared sending domain"
SHARED_TEMPLATE: Final = "Shared template"
AB_TEST: Final = "A/B test"

#: Yields what names a record, such as ``subaccount 7``, from an account and the record's name
Finder = Callable[[int, str], Iterable[str]]

_MOST_NAMED = 5

_finders: dict[str, tuple[Finder, ...]] = {}


def register(kind: str, *finders: Finder) -> None:
    """Set the functions that find what names a record of this kind."""
    _finders[kind] = finders


def check_unused(kind: str, account_id: int, name: str) -> None:
    """Raise 409 with code 1602 if records name this one; the text lists the first of them."""
    finders = _finders.get(kind, ())
    all_users = chain.from_iterable(find(account_id, name) for find in finders)
    users = list(islice(all_users, _MOST_NAMED + 1))
    if users:
        others = ["others"] if len(users) > _MOST_NAMED else []
        text = ", ".join(users[:_MOST_NAMED] + others)
        raise resource_conflict(f"{kind} '{name}' is in use by {text}")

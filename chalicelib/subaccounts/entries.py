"""List the lists that a subaccount is in, and its position in each.

A list is all subaccounts of an account, or those with a status, an IP pool or an option. Each list
is stored in every order in which it can be requested. A subaccount is written together with its
entries, each a copy of it, so a page is read from one list, in its order, and costs as much as it
shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from chalicelib.subaccounts.model import Subaccount

#: a requested order → the stored order that serves it; ids grow with the time of creation
ORDERS = {"created_at": "id", "id": "id", "updated_at": "updated_at", "name": "name"}
STORED_ORDERS = ("id", "updated_at", "name")
#: the option by which subaccounts can be listed
LISTED_OPTION = "deliverability"


class List(NamedTuple):
    """Subaccounts that have something in common, such as ``status`` ``active``."""

    kind: str
    value: str


ALL = List("all", "")


def lists_of(subaccount: Subaccount) -> Iterator[List]:
    """Yield the lists that a subaccount is in."""
    yield ALL
    yield List("status", subaccount.status)
    if subaccount.ip_pool:
        yield of_pool(subaccount.ip_pool)
    if subaccount.option(LISTED_OPTION):
        yield List("option", LISTED_OPTION)


def of_pool(ip_pool: str) -> List:
    """Return the list of an IP pool, whose ids are compared without case."""
    return List("pool", ip_pool.lower())


def position(subaccount: Subaccount, order: str) -> str:
    """Return the position of a subaccount in an order, as text that sorts in that order."""
    number = f"{subaccount.id:010d}"
    match ORDERS[order]:
        case "name":
            return f"{subaccount.name.lower()}\0{number}"
        case "updated_at":
            return f"{int(subaccount.updated * 1000):015d}\0{number}"
        case _:
            return number

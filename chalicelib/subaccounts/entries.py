"""Under which lists a subaccount stands, and where in each: what makes a page one request.

A list is all subaccounts of an account, or those with a status, an IP pool or an option; each is
kept in every order that it can be asked for. A subaccount is written together with its entries,
each a copy of it, so a page is read from one list, in its order, and costs what it shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from chalicelib.subaccounts.model import Subaccount

#: an order → the order that it is kept in; ids are drawn in the order of creation
ORDERS = {"created_at": "id", "id": "id", "updated_at": "updated_at", "name": "name"}
KEPT_ORDERS = ("id", "updated_at", "name")
#: the option by which subaccounts can be listed
LISTED_OPTION = "deliverability"


class List(NamedTuple):
    """Subaccounts that have something in common, such as ``status`` ``active``."""

    kind: str
    value: str


ALL = List("all", "")


def lists_of(subaccount: Subaccount) -> Iterator[List]:
    """Yield the lists that a subaccount stands in."""
    yield ALL
    yield List("status", subaccount.status)
    if subaccount.ip_pool:
        yield of_pool(subaccount.ip_pool)
    if subaccount.option(LISTED_OPTION):
        yield List("option", LISTED_OPTION)


def of_pool(ip_pool: str) -> List:
    """Return the list of an IP pool, whose ids are read in any case."""
    return List("pool", ip_pool.lower())


def position(subaccount: Subaccount, order: str) -> str:
    """Return where a subaccount stands in an order: texts that sort as the order does."""
    number = f"{subaccount.id:010d}"
    match ORDERS[order]:
        case "name":
            return f"{subaccount.name.lower()}\0{number}"
        case "updated_at":
            return f"{int(subaccount.updated * 1000):015d}\0{number}"
        case _:
            return number

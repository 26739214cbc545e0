"""Validate single addresses, and the addresses of one step of a list together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from chalicelib.core.scope import Scope
from chalicelib.recipient_validation import history, mail_routes
from chalicelib.recipient_validation.model import (
    NEUTRAL,
    NO_MAIL,
    History,
    MailRoute,
    Verdict,
    domain_to_look_up,
    judge,
)

_NOTHING: Final = History()
#: Seconds that the DNS has for one of the many domains of a list
LIST_LOOKUP_SECONDS: Final = 2.0


def validate(scope: Scope, address: str) -> Verdict:
    """Judge one address for a part of an account."""
    domain = domain_to_look_up(address)
    if domain is None:
        return judge(address, MailRoute.UNKNOWN, _NOTHING)
    route = mail_routes.route_of(domain)
    is_worth_reading = route not in NO_MAIL
    return judge(
        address, route, history.of_address(scope, address) if is_worth_reading else _NOTHING
    )


def results_of(account_id: int, addresses: Sequence[str]) -> list[str]:
    """Return the result of each address of a list, which belongs to the primary account.

    Each domain is looked up once, side by side. Deliveries are only read where one decides.
    """
    scope = Scope(account_id, None)
    domains = [domain_to_look_up(address) for address in addresses]
    routes = mail_routes.routes_of(filter(None, domains), within=LIST_LOOKUP_SECONDS)
    suppressed = history.suppressed(scope, addresses)
    return [
        _result(scope, address, routes.get(domain or "", MailRoute.UNKNOWN), address in suppressed)
        for address, domain in zip(addresses, domains, strict=True)
    ]


def _result(scope: Scope, address: str, route: MailRoute, suppressed: bool) -> str:
    verdict = judge(address, route, History(suppressed=suppressed))
    if verdict.result == NEUTRAL and history.was_delivered(scope, address):
        return judge(address, route, History(delivered=True)).result
    return verdict.result

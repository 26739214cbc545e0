"""Who sends: account, subaccount and sending domain, with the counter that it counts against.

All of it comes in one request: what the process remembers of the account and the subaccount
(``core.recent``) is left out, the domain and the counter are always read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from chalicelib.accounts.model import Account
from chalicelib.accounts.store import accounts, usage
from chalicelib.accounts.store.usage import Meter
from chalicelib.core import config_cache
from chalicelib.fleet import store as fleets
from chalicelib.fleet.model import Fleet
from chalicelib.fleet.usable import usable_pool
from chalicelib.sending_domains import store as domains
from chalicelib.sending_domains.lookup import check_usable
from chalicelib.sending_domains.model import SendingDomain
from chalicelib.subaccounts import store as subaccounts
from chalicelib.subaccounts.model import Subaccount


@dataclass(frozen=True, slots=True)
class Sender:
    """An account, and the subaccount for which it sends, if it is one."""

    account: Account
    subaccount: Subaccount | None
    domain: SendingDomain | None
    fleet: Fleet
    meter: Meter

    def option(self, name: str) -> Any:
        """Return the account's choice for an option, or the service's default."""
        return self.account.option(name)

    def ip_pool(self, named: str | None) -> str:
        """Return the id of the pool that mail goes by; raises 1300 for one that it may not."""
        assigned = self.subaccount.ip_pool if self.subaccount else ""
        return usable_pool(self.fleet, assigned or "", named)

    def defaults(self, tracking_option: str) -> dict[str, Any]:
        """Return what the account chose for options that a transmission leaves open.

        ``tracking_option`` names the account's option for the way in: HTTP or SMTP.
        """
        no_opens = self.subaccount and self.subaccount.option("open_tracking_disabled")
        return {
            "tracking": bool(self.option(tracking_option)),
            "tracks_opens": not no_opens,
            "tracks_clicks": self.option("click_tracking") is not False,
            "initial_open": bool(self.option("initial_open_pixel_tracking")),
            "transactional": bool(self.option("transactional_default")),
            "transactional_unsub": bool(self.option("transactional_unsub")),
            "ip_pool": self.ip_pool(None),
            "enterprise": self.account.service_level == "enterprise",
        }


def find_sender(account_id: int, subaccount_id: int | None, domain: str | None) -> Sender:
    """Return the sender, if it may send from ``domain`` (``None``: not known before generation).

    Raises 403 when the account or the subaccount is suspended or terminated (spec 2.6, 2.7), and
    7001 for a domain that is not set up for it or not verified.
    """
    account_at, counters = accounts.key_of(account_id), usage.counters_to_read(account_id)
    subaccount_at = subaccounts.key_of(subaccount_id) if subaccount_id else None
    fleet_at = fleets.key_of(account_id)
    domain_at = domains.key_of(domain) if domain else None
    found = config_cache.read(
        [account_at, *([subaccount_at] if subaccount_at else [])],
        maybe=[fleet_at],
        anew=[*counters, *([domain_at] if domain_at else [])],
    )
    account = accounts.from_item(found[account_at])
    account.check_may_send()
    subaccount = None
    if subaccount_at:
        subaccount = subaccounts.from_item(found[subaccount_at])
        subaccount.check_may_send()
    usable = None
    if domain and domain_at:
        item = found.get(domain_at)
        known = domains.from_item(item) if item else None
        usable = check_usable(known, domain, account_id, subaccount_id)
    fleet = fleets.from_item(account_id, found.get(fleet_at))
    return Sender(account, subaccount, usable, fleet, usage.meter(account, counters, found))

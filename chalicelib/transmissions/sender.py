"""Find the account, subaccount and sending domain of a sender, and the allowance of its mail.

One request reads all of them, except those that are in the config cache: accounts, subaccounts and
domains that can be used. The meter of an account with limits is always read. A busy sender without
limits takes no request, and one that comes back to the same process takes none beyond the request
that reads its API key (``config_cache.follow``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from chalicelib.accounts.model import Account
from chalicelib.accounts.store import accounts, meter
from chalicelib.accounts.store.allowance import Allowance
from chalicelib.accounts.store.sandbox import SandboxAllowance
from chalicelib.api_keys import store as api_keys
from chalicelib.core import config_cache, domain_names
from chalicelib.core.addresses import is_address, is_domain, read_mailbox
from chalicelib.core.config_cache import Key
from chalicelib.core.errors import (
    bad_format,
    invalid_combination,
    invalid_domain,
    subresource_not_found,
    wrong_sandbox_template,
)
from chalicelib.core.reading import Read, read_config
from chalicelib.core.settings import settings
from chalicelib.fleet import store as fleets
from chalicelib.fleet.model import Fleet, usable_pool, usable_pool_now
from chalicelib.inbound_domains import store as inbound_domains
from chalicelib.sending_domains import store as domains
from chalicelib.sending_domains.lookup import bounce_domain_for, find_usable, signing_key
from chalicelib.sending_domains.model import SendingDomain
from chalicelib.subaccounts import store as subaccounts
from chalicelib.subaccounts.model import Subaccount
from chalicelib.tracking_domains import lookup as tracking_domains
from chalicelib.transmissions.model import Transmission


@dataclass(frozen=True, slots=True)
class Sender:
    """An account, and the subaccount for which it sends, if it is one."""

    account: Account
    subaccount: Subaccount | None
    domain: SendingDomain | None
    fleet: Fleet
    plan_allowance: Allowance

    def option(self, name: str) -> Any:
        """Return the account's choice for an option, or the service's default."""
        return self.account.option(name)

    def allowance(self, transmission: Transmission) -> Allowance:
        """Return the allowance that recipients count against: plan or sandbox (spec 8)."""
        if transmission.is_sandbox:
            return SandboxAllowance(transmission.account_id)
        return self.plan_allowance

    def ip_pool(self, pool_id: str | None) -> str:
        """Return the id of the pool to send by; raises 1300 for a pool that may not be used."""
        assigned = self.subaccount.ip_pool if self.subaccount else ""
        return usable_pool(self.fleet, assigned or "", pool_id)

    def defaults(self, tracking_option: str) -> dict[str, Any]:
        """Return the account's choices for options that a transmission leaves open.

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
    """Return the sender, if it may send from ``domain`` (``None``: only generation knows it).

    Raises 403 when the account or the subaccount is suspended or terminated (spec 2.6, 2.7), and
    7001 for a domain that is not set up for it or not verified.
    """
    account_key = accounts.key_of(account_id)
    item = config_cache.cached_item(account_key)
    usage_keys = meter.keys_to_read(account_id, accounts.from_item(item) if item else None)
    subaccount_key = subaccounts.key_of(subaccount_id) if subaccount_id else None
    fleet_key = fleets.key_of(account_id)
    # A domain that can be used is cached by find_usable, any other is read again
    domain_keys = config_cache.missing_keys([domains.key_of(domain)]) if domain else []
    items = config_cache.read(
        [account_key, *([subaccount_key] if subaccount_key else [])],
        maybe=[fleet_key],
        uncached=[*usage_keys, *domain_keys],
    )
    account = accounts.from_item(items[account_key])
    account.check_may_send()
    subaccount = None
    if subaccount_key:
        subaccount = subaccounts.from_item(items[subaccount_key])
        subaccount.check_may_send()
    sending_domain = None
    if domain:
        read: Read = (lambda _: items) if domain_keys else read_config
        sending_domain = find_usable(domain, account_id, subaccount_id, read)
    fleet = fleets.from_item(account_id, items.get(fleet_key))
    allowance = meter.allowance(account, usage_keys, items)
    return Sender(account, subaccount, sending_domain, fleet, allowance)


def prefetch_with_key(key_id: str, sender: Sender) -> None:
    """Let the next read of an API key also read what its sender needed this time."""
    account, subaccount, domain = sender.account, sender.subaccount, sender.domain
    owner = account.customer_id, subaccount.id if subaccount else None
    domain_keys = [domains.key_of(domain.domain)] if domain else []
    followers = [*keys_of_status(*owner), fleets.key_of(account.customer_id), *domain_keys]
    config_cache.follow(api_keys.key_of(key_id), followers)


def keys_of_status(account_id: int, subaccount_id: int | None) -> list[Key]:
    """Return the keys of the items that :func:`check_may_send` reads from the config cache."""
    account_key = accounts.key_of(account_id)
    return [account_key, *([subaccounts.key_of(subaccount_id)] if subaccount_id else [])]


def check_may_send(account_id: int, subaccount_id: int | None) -> None:
    """Raise 403 when the account or the subaccount is suspended or terminated."""
    items = config_cache.read([], maybe=keys_of_status(account_id, subaccount_id))
    if item := items.get(accounts.key_of(account_id)):
        accounts.from_item(item).check_may_send()
    if subaccount_id and (item := items.get(subaccounts.key_of(subaccount_id))):
        subaccounts.from_item(item).check_may_send()


def pool_in_force(transmission: Transmission) -> str:
    """Return the pool that mail of an accepted transmission leaves by now.

    Raises 422 with code 1300 if there is none that its sender may use. Costs no request where the
    subaccount and the pools are in the config cache.
    """
    account_id, fleet_key = transmission.account_id, fleets.key_of(transmission.account_id)
    status_keys = keys_of_status(account_id, transmission.subaccount_id)
    items = config_cache.read([], maybe=[*status_keys, fleet_key])
    subaccount = items.get(status_keys[-1]) if transmission.subaccount_id else None
    return usable_pool_now(
        fleets.from_item(account_id, items.get(fleet_key)),
        subaccounts.from_item(subaccount).ip_pool if subaccount else "",
        transmission.requested_options.get("ip_pool"),
    )


def check_sandbox(transmission: Transmission) -> None:
    """Refuse a sandbox send of anything but the sample template as it is (spec 4.1, rule 10).

    Raises 2106 for other content, and 1301 for an ``override``, which changes the content.
    """
    if not transmission.is_sandbox:
        return
    template_id = settings().sandbox_template
    if transmission.content.get("template_id") != template_id:
        raise wrong_sandbox_template(f"a sandbox send needs template_id '{template_id}'")
    if transmission.override:
        raise invalid_combination("a sandbox send may not have an override")


def check_options(transmission: Transmission, sender: Sender) -> Transmission:
    """Check that the resources a transmission names exist and are the sender's (spec 2.1, 4.1).

    That is the pool (1300), the DKIM key (1100), the return path (7001), the tracking domain (400)
    and the reply domain (1603); only those that the transmission names are read. Returns it with
    the id of the pool.
    """
    owner = transmission.account_id, transmission.subaccount_id
    pool = sender.ip_pool(transmission.options.get("ip_pool"))
    selector = transmission.options.get("dkim_key")
    if selector and (domain := _signing_domain(transmission, sender)):
        signing_key(domain, selector)
    if transmission.return_path:
        if not is_address(transmission.return_path):
            raise bad_format("field 'return_path' is not a valid email address")
        bounce_domain_for(*owner, transmission.return_path)
    if transmission.tracking_domain:
        tracking_domains.choose(*owner, requested=transmission.tracking_domain)
    if reply_domain := transmission.options.get("reply_domain"):
        _check_reply_domain(transmission, reply_domain)
    return replace(transmission, options=transmission.options | {"ip_pool": pool})


def _check_reply_domain(transmission: Transmission, name: str) -> None:
    """Raise 1603 unless a name is an inbound domain of the sender itself.

    A subaccount cannot name a domain of the primary account: the answers would be the latter's.
    """
    if inbound_domains.find(transmission.scope, name) is None:
        raise subresource_not_found(
            f"options.reply_domain: '{name[:300]}' is not an inbound domain of the sender"
        )


def _signing_domain(transmission: Transmission, sender: Sender) -> SendingDomain | None:
    """Return the domain of the sender, or for a sandbox send the service's own."""
    return domains.get(settings().system_domain) if transmission.is_sandbox else sender.domain


def from_domain(sender: str | dict[str, Any], *, is_template: bool = True) -> str | None:
    """Return the domain of a From, or ``None`` if a template makes it: generation checks that one.

    Raises 400 with code 7001 for a From without one.
    """
    email = sender if isinstance(sender, str) else sender["email"]
    if not is_template or "{{" not in email:
        mailbox = read_mailbox(email)  # None for several: one of them may be of another's domain
        if mailbox is None:
            raise invalid_domain("No sending domain specified")
        return mailbox.domain
    name = email.rpartition("@")[2].strip().rstrip(">").strip()
    if "{{" in name or "}}" in name:
        return None
    if "@" not in email or not is_domain(name):
        raise invalid_domain("No sending domain specified")
    return domain_names.spelling(name)

"""Create what a deployment needs at its first start: account 1, its key, and a domain to send from.

Account 0 is the service's own; it sends verification mail from ``SYSTEM_DOMAIN``.

``python -m infrastructure.bootstrap`` reads the key from ``API_KEY``. Every step creates what is
missing and leaves alone what exists, so it may run at each start.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

from chalicelib.accounts.model import Account
from chalicelib.accounts.plan import self_hosted_plan
from chalicelib.accounts.store import accounts
from chalicelib.api_keys import model as key_model
from chalicelib.api_keys import store as api_keys
from chalicelib.api_keys.grants import PRIMARY_GRANTS
from chalicelib.api_keys.model import ApiKey
from chalicelib.core import clock
from chalicelib.core.errors import ServiceError
from chalicelib.core.scope import PRIMARY, SYSTEM_ACCOUNT, Scope
from chalicelib.core.settings import settings
from chalicelib.dkim import key_pair
from chalicelib.dkim.sealed_key import sealed_key
from chalicelib.sending_domains import store as domains
from chalicelib.sending_domains.model import DomainStatus, SendingDomain
from chalicelib.templates.model import Edit, new_template
from chalicelib.templates.store import leases
from chalicelib.templates.store import records as templates
from infrastructure.admin import dead_letters
from infrastructure.local.notices import tell

ACCOUNT_ID = 1
DOMAIN = "example.test"
SELECTOR = "postfinch"
KEY_BITS = 2048


def first_start(api_key: str, *, with_sample_domain: bool = True) -> None:
    """Create what a fresh deployment needs before its first request.

    The sample domain is for those who have none of their own yet.
    """
    now = clock.now()
    accounts.create(
        Account(
            customer_id=ACCOUNT_ID,
            company_name="Postfinch",
            created=now,
            updated=now,
            subscription=self_hosted_plan(now),
        )
    )
    accounts.create(Account(SYSTEM_ACCOUNT, "The service itself", created=now, updated=now))
    _ensure_key(api_key, now)
    _ensure_domain(settings().system_domain, SYSTEM_ACCOUNT, now)
    if with_sample_domain:
        _ensure_domain(DOMAIN, ACCOUNT_ID, now, shared_with_subaccounts=True, takes_bounces=True)
    ensure_sample_template()
    free_names_above_system_domain()


def free_names_above_system_domain() -> None:
    """Let accounts register the domains above ``SYSTEM_DOMAIN``."""
    domain = domains.get(settings().system_domain)
    if domain is not None and domain.account_id == SYSTEM_ACCOUNT:
        domains.free_names_above(domain)


def ensure_sample_template() -> None:
    """Store the template that sandbox sends use, and that every account finds under its id.

    It has no substitutions: a caller's data would be sent in the name of the service.
    """
    template_id = settings().sandbox_template
    edit = Edit(name="Your first email", published=True, shared=True)
    sample = new_template(Scope(SYSTEM_ACCOUNT, PRIMARY), template_id, edit)
    templates.create(sample, _sample_content("Congratulations"))
    _remove_earlier_sample(Scope(ACCOUNT_ID, PRIMARY), template_id)


def _remove_earlier_sample(owner: Scope, template_id: str) -> None:
    """Remove the sample that account 1 had before it was the service's, unless it was changed.

    One that is in use stays until the next start.
    """
    present = templates.get(owner.account_id, owner.owner, template_id)
    if present is None:
        return
    earlier = _sample_content("Congratulations, {{name or 'you'}}")
    if all(templates.content_of(present, each) == earlier for each in present.versions):
        with suppress(ServiceError):
            leases.delete(owner, template_id)


def _sample_content(greeting: str) -> dict[str, Any]:
    text = f"{greeting}: this message was sent by Postfinch."
    return {
        "from": {"email": f"sandbox@{settings().system_domain}", "name": "Postfinch"},
        "subject": "Your first email",
        "html": f"<p>{text}</p>",
        "text": text,
    }


def _ensure_key(key: str, now: float) -> None:
    name = key_model.key_id(key)
    if api_keys.get(name) is None:
        api_keys.put(
            ApiKey(
                key_id=name,
                account_id=ACCOUNT_ID,
                label="First key",
                short_key=key_model.short_key(key),
                grants=PRIMARY_GRANTS,
                created=now,
            )
        )


def _ensure_domain(
    name: str,
    account_id: int,
    now: float,
    *,
    shared_with_subaccounts: bool = False,
    takes_bounces: bool = False,
) -> None:
    if domains.get(name) is not None:
        return
    pair = key_pair.generate_key(KEY_BITS)
    domains.create(
        SendingDomain(
            domain=name,
            account_id=account_id,
            created=now,
            status=DomainStatus(
                ownership_verified=True,
                dkim_status="valid",
                cname_status="valid" if takes_bounces else "unverified",
            ),
            dkim=sealed_key(pair, SELECTOR, name),
            shared_with_subaccounts=shared_with_subaccounts,
            is_default_bounce_domain=takes_bounces,
        )
    )


def main() -> None:
    """Create what is missing, with the key from the environment, and show what is stuck."""
    first_start(os.environ["API_KEY"])
    for queue, count in dead_letters.counts().items():
        tell(
            f"{count} messages of the queue {queue} failed too often and are not handled; to try "
            f"again: `postfinch admin --local redrive-dead-letters {queue}`"
        )


if __name__ == "__main__":
    main()

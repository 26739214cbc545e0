"""Create what a deployment needs at its first start: account 1, its key, and a domain to send from.

Account 0 is the service's own; it sends verification mail from ``SYSTEM_DOMAIN``.

``python -m infrastructure.bootstrap`` reads the key from ``API_KEY``. Every step creates what is
missing and leaves alone what exists, so it may run at each start.
"""

from __future__ import annotations

import os

from chalicelib.accounts.model import Account
from chalicelib.accounts.plan import self_hosted_plan
from chalicelib.accounts.store import accounts
from chalicelib.api_keys import model as key_model
from chalicelib.api_keys import store as api_keys
from chalicelib.api_keys.grants import PRIMARY_GRANTS
from chalicelib.api_keys.model import ApiKey
from chalicelib.core import clock
from chalicelib.core.scope import PRIMARY, Scope
from chalicelib.core.settings import settings
from chalicelib.dkim import key_pair
from chalicelib.dkim.sealed_key import sealed_key
from chalicelib.sending_domains import store as domains
from chalicelib.sending_domains.model import DomainStatus, SendingDomain
from chalicelib.templates.model import Edit, new_template
from chalicelib.templates.store import records as templates
from chalicelib.transmissions.model import SYSTEM_ACCOUNT

ACCOUNT_ID = 1
DOMAIN = "example.test"
SELECTOR = "postfinch"
KEY_BITS = 2048


def first_start(api_key: str) -> None:
    """Create what a fresh deployment needs before its first request."""
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
    _ensure_domain(DOMAIN, ACCOUNT_ID, now, shared_with_subaccounts=True, takes_bounces=True)
    _ensure_sample_template()


def _ensure_sample_template() -> None:
    """Store the template that sandbox sends use, unless the account has one of its name."""
    content = {
        "from": {"email": f"sandbox@{settings().system_domain}", "name": "Postfinch"},
        "subject": "Your first email",
        "html": "<p>Congratulations, {{name or 'you'}}: this message was sent by Postfinch.</p>",
        "text": "Congratulations, {{name or 'you'}}: this message was sent by Postfinch.",
    }
    edit = Edit(name="Your first email", published=True)
    sample = new_template(Scope(ACCOUNT_ID, PRIMARY), settings().sandbox_template, edit)
    templates.create(sample, content)


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


if __name__ == "__main__":
    first_start(os.environ["API_KEY"])

"""First start of a deployment: account 1, its key, and the domain that new users send from.

``python -m infrastructure.bootstrap`` reads the key from ``API_KEY``. Every step creates what is
missing and leaves alone what is there, so it may run at each start.
"""

from __future__ import annotations

import os

from chalicelib.accounts import store as accounts
from chalicelib.accounts.model import Account, self_hosted_plan
from chalicelib.api_keys import model as key_model
from chalicelib.api_keys import store as api_keys
from chalicelib.api_keys.grants import PRIMARY_GRANTS
from chalicelib.api_keys.model import ApiKey
from chalicelib.core import clock, sealing
from chalicelib.sending_domains import dkim_keys
from chalicelib.sending_domains import store as domains
from chalicelib.sending_domains.model import DkimKey, DomainStatus, SendingDomain

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
    _ensure_key(api_key, now)
    if domains.get(DOMAIN) is None:
        domains.create(_verified_domain(now))


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


def _verified_domain(now: float) -> SendingDomain:
    pair = dkim_keys.generate_key(KEY_BITS)
    return SendingDomain(
        domain=DOMAIN,
        account_id=ACCOUNT_ID,
        created=now,
        status=DomainStatus(
            ownership_verified=True, dkim_status="valid", cname_status="valid", spf_status="valid"
        ),
        dkim=DkimKey(
            selector=SELECTOR,
            signing_domain=DOMAIN,
            public=pair.public_b64,
            sealed_private=sealing.seal(pair.private_pem.encode(), f"dkim/{DOMAIN}"),
        ),
        shared_with_subaccounts=True,
        is_default_bounce_domain=True,
    )


if __name__ == "__main__":
    first_start(os.environ["API_KEY"])

"""What a transmission names besides its content must exist and be the sender's (spec 2.1, 4.1)."""

from __future__ import annotations

from dataclasses import replace

from chalicelib.core.addresses import is_address
from chalicelib.core.errors import bad_format
from chalicelib.sending_domains.lookup import bounce_domain_for, signing_key
from chalicelib.tracking_domains import lookup as tracking_domains
from chalicelib.transmissions.model import Transmission
from chalicelib.transmissions.sender import Sender


def check_options(sent: Transmission, sender: Sender) -> Transmission:
    """Check the pool (1300), DKIM key (1100), return path (7001) and tracking domain (400).

    Nothing is read for what the transmission does not name. Returns it with the id of the pool.
    """
    pool = sender.ip_pool(sent.options.get("ip_pool"))
    selector = sent.options.get("dkim_key")
    if selector and sender.domain:
        signing_key(sender.domain, selector)
    if sent.return_path:
        if not is_address(sent.return_path):
            raise bad_format("field 'return_path' is not a valid email address")
        bounce_domain_for(sent.account_id, sent.subaccount_id, sent.return_path)
    if sent.tracking_domain:
        tracking_domains.choose(sent.account_id, sent.subaccount_id, requested=sent.tracking_domain)
    return replace(sent, options=sent.options | {"ip_pool": pool})

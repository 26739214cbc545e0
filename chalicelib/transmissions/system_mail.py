"""Mail from the service itself, such as verification mail: sent as any other, by account 0.

Account 0 and its sending domain, ``SYSTEM_DOMAIN``, come with the deployment. That an earlier
message bounced does not hold it back: a mailbox is often asked to verify a domain before it exists,
and nobody who asks can reach the suppression list of account 0.
"""

from __future__ import annotations

from typing import Final

from chalicelib.core import clock, ids
from chalicelib.core.settings import settings
from chalicelib.transmissions.model import Transmission
from chalicelib.transmissions.sender import find_sender
from chalicelib.transmissions.submit import submit

SYSTEM_ACCOUNT: Final = 0
LOCAL_PART: Final = "verify"


def send(*, to: str, subject: str, text: str) -> None:
    """Send one plain text message; it is stored and queued when this returns.

    Raises :class:`ServiceError` when it is refused.
    """
    domain = settings().system_domain
    sender = find_sender(SYSTEM_ACCOUNT, None, domain)
    transmission = Transmission(
        id=ids.transmission_id(),
        account_id=SYSTEM_ACCOUNT,
        subaccount_id=None,
        created_ms=clock.now_ms(),
        recv_method="rest",
        options={
            "open_tracking": False,
            "click_tracking": False,
            "initial_open": False,
            "transactional": True,
            "skip_suppression": True,
            "ip_pool": sender.ip_pool(None),
        },
        resolved=True,
        content={"from": f"{LOCAL_PART}@{domain}", "subject": subject, "text": text},
    )
    submit(transmission, [{"email": to}], sender.meter)

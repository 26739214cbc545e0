"""Send mail from the service itself, such as verification mail, as account 0.

Account 0 and its sending domain, ``SYSTEM_DOMAIN``, come with the deployment. System mail skips the
suppression list: a mailbox is often asked to verify a domain before it exists, so that the first
mail to it bounces, and the person who asks cannot reach the suppression list of account 0.
"""

from __future__ import annotations

from typing import Final

from chalicelib.core import clock, ids
from chalicelib.core.scope import SYSTEM_ACCOUNT
from chalicelib.core.settings import settings
from chalicelib.recipient_lists.stored_form import encode
from chalicelib.transmissions.model import Transmission
from chalicelib.transmissions.recipients import RequestRecipients
from chalicelib.transmissions.sender import find_sender
from chalicelib.transmissions.submit import submit

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
    submit(transmission, RequestRecipients([encode({"email": to})]), sender.plan_allowance)

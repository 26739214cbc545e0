"""Send mail from the service itself, such as verification mail and TLS reports, as account 0.

Account 0 and its sending domain, ``SYSTEM_DOMAIN``, come with the deployment. System mail skips the
suppression list: a mailbox is often asked to verify a domain before it exists, so that the first
mail to it bounces, and the person who asks cannot reach the suppression list of account 0.
"""

from __future__ import annotations

from typing import Any, Final

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

    It may have texts of users, such as the name of a company: nothing in it is a template.

    Raises :class:`ServiceError` when it is refused.
    """
    content = {
        "from": f"{LOCAL_PART}@{settings().system_domain}",
        # A header is one line
        "subject": _literal(" ".join(subject.split())),
        "text": _literal(text),
    }
    _submit(to, ids.transmission_id(), content=content)


def send_message(to: str, message: bytes, transmission_id: str) -> None:
    """Send a message that is complete but for its signature; with the same id it is sent once.

    Raises :class:`ServiceError` when it is refused.
    """
    _submit(to, transmission_id, raw=message)


def _literal(text: str) -> str:
    """Return a template that shows ``text``."""
    return text.replace("{{", "{{opening_double_curly()}}")


def _submit(to: str, transmission_id: str, **content: Any) -> None:
    sender = find_sender(SYSTEM_ACCOUNT, None, settings().system_domain)
    transmission = Transmission(
        id=transmission_id,
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
        **content,
    )
    submit(transmission, RequestRecipients([encode({"email": to})]), sender.plan_allowance)

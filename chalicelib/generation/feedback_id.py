"""Build the Feedback-ID header, by which Gmail groups the complaints about a sender's bulk mail.

Source: https://support.google.com/a/answer/6254652. The fields are campaign, account, type and
sender, with colons between them. Gmail reports each of them on its own, so a value must not occur
in two fields; a field may be empty. Only the last one is required: 5 to 15 characters, the same in
all mail of a sender. The DKIM signature covers the header, as Gmail demands.
"""

from __future__ import annotations

import re
from typing import Final

from chalicelib.core.settings import settings
from chalicelib.transmissions.model import Transmission

NAME: Final = "feedback-id"

_TYPE: Final = "bulk"
_LONGEST_CAMPAIGN: Final = 64
_OTHER_CHARACTERS: Final = re.compile(r"[^A-Za-z0-9._-]+")


def feedback_id_field(transmission: Transmission) -> bytes:
    """Return the header field with its CRLF, which all messages of the transmission share.

    It is empty for transactional mail, and if ``FEEDBACK_SENDER_ID`` is.
    """
    sender = settings().feedback_sender_id
    if not sender or transmission.options["transactional"]:
        return b""
    campaign = _OTHER_CHARACTERS.sub("_", transmission.campaign_id)[:_LONGEST_CAMPAIGN]
    others = (_account(transmission), _TYPE, sender)
    if campaign in others:
        campaign += "_"
    return f"Feedback-ID: {':'.join((campaign, *others))}\r\n".encode("ascii")


def _account(transmission: Transmission) -> str:
    """Return the account, and the subaccount if there is one: ``account-1-2``."""
    owner = f"account-{transmission.account_id}"
    subaccount = transmission.subaccount_id
    return f"{owner}-{subaccount}" if subaccount else owner

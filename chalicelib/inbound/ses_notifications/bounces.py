"""Tell the bounce class of what Amazon SES could not deliver, or could not deliver yet.

The reply of the receiving host decides, by the same rules as for a report that comes by mail. The
type that SES gives decides where the reply names no cause, where SES did not try at all, and where
the reply speaks of an invalid address but SES calls the failure a temporary one: then nobody is
suppressed for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from chalicelib.core.bounce_classes import (
    ADMIN_FAILURE,
    HARD,
    INVALID_RECIPIENT,
    MAILBOX_FULL,
    PROHIBITED_ATTACHMENT,
    SOFT_BOUNCE,
    SPAM_BLOCK,
    SPAM_CONTENT,
    TIMEOUT,
    TOO_LARGE,
    TRANSIENT_FAILURE,
    UNDETERMINED,
)
from chalicelib.delivery.outcome import clean_reply, internal
from chalicelib.inbound import dsn, report
from chalicelib.inbound.dsn import RecipientStatus
from chalicelib.inbound.report import Bounce
from chalicelib.inbound.ses_notifications.model import Notification

#: SES did not try to deliver, for an entry of one of its own lists
_OF_ACCOUNT_LIST: Final = "OnAccountSuppressionList"
NOT_TRIED: Final = {
    "Suppressed": INVALID_RECIPIENT,  # bounces of the address at all customers of SES
    _OF_ACCOUNT_LIST: ADMIN_FAILURE,
    "UnsubscribedRecipient": ADMIN_FAILURE,
    "EmailValidationSuppressed": ADMIN_FAILURE,
}
_BY_SUB_TYPE: Final = {
    "NoEmail": INVALID_RECIPIENT,
    "MailboxFull": MAILBOX_FULL,
    "MessageTooLarge": TOO_LARGE,
    "ContentRejected": SPAM_CONTENT,
    "AttachmentRejected": PROHIBITED_ATTACHMENT,
    "CustomTimeoutExceeded": TIMEOUT,
}
_BY_MAIN_TYPE: Final = {"Permanent": INVALID_RECIPIENT, "Transient": SOFT_BOUNCE}
_BY_DELAY: Final = {
    "MailboxFull": MAILBOX_FULL,
    "SpamDetected": SPAM_CONTENT,
    "IPFailure": SPAM_BLOCK,
    "TransientCommunicationFailure": TIMEOUT,
}
_CODES: Final = {"Transient": 450}


def bounce_of(notification: Notification, recipient: str) -> Bounce:
    """Return why a message to this recipient bounced."""
    main_type, sub_type = notification.main_type, notification.sub_type
    by_type = _BY_SUB_TYPE.get(sub_type) or _BY_MAIN_TYPE.get(main_type, UNDETERMINED)
    text = f"SES reports a bounce: {main_type} {sub_type}".rstrip()
    default = _internal(_CODES.get(main_type, 550), text, by_type)
    bounce = _of_reply(
        notification.statuses, recipient, default, temporary=main_type == "Transient"
    )
    if sub_type in NOT_TRIED:
        return replace(bounce, bounce_class=NOT_TRIED[sub_type])
    return bounce


def delay_of(notification: Notification, recipient: str) -> Bounce:
    """Return why a message to this recipient is not delivered yet."""
    by_type = _BY_DELAY.get(notification.sub_type, TRANSIENT_FAILURE)
    default = _internal(451, f"SES reports a delay: {notification.sub_type}", by_type)
    return _of_reply(notification.statuses, recipient, default, temporary=True)


def unsent(notification: Notification) -> Bounce:
    """Return why SES did not send a message that it had taken, whoever it was to."""
    text = f"SES did not send the message: {notification.reply}"
    is_content = notification.reply.lower() == "bad content"  # it found a virus
    return _internal(554, text, PROHIBITED_ATTACHMENT if is_content else ADMIN_FAILURE)


def on_account_list(notification: Notification) -> Bounce | None:
    """Return why there was no mail to complain about; ``None`` for a genuine complaint."""
    if notification.sub_type != _OF_ACCOUNT_LIST:
        return None
    text = "SES did not send the message: its suppression list of this AWS account has the address"
    return _internal(554, text, ADMIN_FAILURE)


def _of_reply(
    statuses: Sequence[RecipientStatus], recipient: str, default: Bounce, *, temporary: bool
) -> Bounce:
    """Return what the reply about a recipient says, with the class of ``default`` if it must be."""
    status = dsn.status_of(recipient, list(statuses))
    bounce = report.of_status(status) if status else None
    if bounce is None:
        return default
    if not report.says_why(bounce) or (temporary and bounce.bounce_class in HARD):
        return replace(bounce, bounce_class=default.bounce_class)
    return bounce


def _internal(code: int, text: str, bounce_class: int) -> Bounce:
    status = "4.0.0" if code < 500 else "5.0.0"
    return Bounce(code, clean_reply(internal(status, text)), bounce_class)

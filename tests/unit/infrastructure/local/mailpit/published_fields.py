"""The fields that Mailpit's published OpenAPI document (version 1.30) declares, and their types."""

from __future__ import annotations

from typing import Any

ADDRESS = {"Name": str, "Address": str}
CHECKSUMS = {"MD5": str, "SHA1": str, "SHA256": str}
ATTACHMENT = {
    "PartID": str,
    "FileName": str,
    "ContentType": str,
    "ContentID": str,
    "Size": int,
    "Checksums": CHECKSUMS,
}
_COMMON = {
    "ID": str,
    "MessageID": str,
    "From": ADDRESS,
    "To": [ADDRESS],
    "Cc": [ADDRESS],
    "Bcc": [ADDRESS],
    "ReplyTo": [ADDRESS],
    "Subject": str,
    "Size": int,
    "Tags": [str],
    "Username": str,
}
SUMMARY = _COMMON | {"Created": str, "Snippet": str, "Attachments": int, "Read": bool}
MESSAGE = _COMMON | {
    "Date": str,
    "ReturnPath": str,
    "Text": str,
    "HTML": str,
    "Attachments": [ATTACHMENT],
    "Inline": [ATTACHMENT],
    "ListUnsubscribe": {"Header": str, "HeaderPost": str, "Links": [str], "Errors": str},
}
PAGE = {
    "messages": [SUMMARY],
    "messages_count": int,
    "messages_unread": int,
    "start": int,
    "tags": [str],
    "total": int,
    "unread": int,
}
INFO = {
    "Version": str,
    "LatestVersion": str,
    "Database": str,
    "DatabaseSize": int,
    "Messages": int,
    "Unread": int,
    "Tags": dict,
    "RuntimeStats": {
        "Uptime": int,
        "Memory": int,
        "MessagesDeleted": int,
        "SMTPAccepted": int,
        "SMTPAcceptedSize": int,
        "SMTPRejected": int,
        "SMTPIgnored": int,
    },
}
WEBUI = {
    "Label": str,
    "MessageRelay": {
        "Enabled": bool,
        "SMTPServer": str,
        "ReturnPath": str,
        "AllowedRecipients": str,
        "BlockedRecipients": str,
        "OverrideFrom": str,
        "PreserveMessageIDs": bool,
    },
    "SpamAssassin": bool,
    "ChaosEnabled": bool,
    "DuplicatesIgnored": bool,
    "HideDeleteAllButton": bool,
}


def faults(value: Any, schema: Any, place: str = "") -> list[str]:
    """Return where a value differs from a schema; it may have further fields."""
    if isinstance(schema, dict):
        if not isinstance(value, dict):
            return [f"{place} is no object"]
        missing = [f"{place}.{name} is missing" for name in schema if name not in value]
        inner = [faults(value[n], schema[n], f"{place}.{n}") for n in schema if n in value]
        return missing + [fault for each in inner for fault in each]
    if isinstance(schema, list):
        if not isinstance(value, list):
            return [f"{place} is no array"]
        return [fault for each in value for fault in faults(each, schema[0], f"{place}[]")]
    return [] if type(value) is schema else [f"{place} is no {schema.__name__}"]

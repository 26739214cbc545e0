"""Say in which inboxes a message is, by its login or by its recipients."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from chalicelib.core.addresses import domain_of

BY_LOGIN, BY_DOMAIN, BY_TAG = "login", "recipient-domain", "tag"


def divided(inbox_by: str, login: str, recipients: Sequence[str]) -> dict[str, list[str]]:
    """Return the recipients by the inbox that they are in; one without a name is for the others."""
    if inbox_by == BY_LOGIN:
        return {login: list(recipients)}
    if inbox_by == BY_DOMAIN:
        return _grouped((_domain_of(each), each) for each in recipients)
    if inbox_by == BY_TAG:
        return _grouped((tag_of(each), each) for each in recipients)
    return {"": list(recipients)}


def tag_of(recipient: str) -> str:
    """Return what follows the first `+` of a local part, in lower case; empty if nothing does."""
    local_part = recipient.rpartition("@")[0]
    return local_part.partition("+")[2].lower()


def _domain_of(recipient: str) -> str:
    return domain_of(recipient).lower() if "@" in recipient else ""


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for name, recipient in pairs:
        groups.setdefault(name, []).append(recipient)
    return groups

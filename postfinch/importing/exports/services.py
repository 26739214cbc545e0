"""Tell what a row of each service's export means."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from postfinch.importing.exports.model import (
    Entry,
    ForeignTemplate,
    NotUnderstood,
    Reason,
    Row,
    Skipped,
    Suppression,
    id_of,
)

_EMAIL = ("email", "emailaddress", "address", "recipient")


def sendgrid(row: Row) -> Iterator[Entry]:
    """Bounces, invalid addresses, spam reports and unsubscribes; dynamic and legacy templates."""
    versions = row.values.get("versions")
    if isinstance(versions, list) or row.has("htmlcontent"):
        yield _sendgrid_template(row, versions or [row.values])
    elif row.has("groupid", "groupname"):
        name = row.text("groupname", "groupid")
        yield _suppression(row, "unsubscribe", f"group {name}", list_id=id_of(name))
    elif row.has("ip"):
        yield _suppression(row, "complaint")
    elif row.has("reason", "status"):
        temporary = row.text("status", "reason").startswith("4")
        yield _suppression(row, "bounce", row.text("reason"), temporary=temporary)
    else:
        yield _suppression(row, "unsubscribe")


def mailgun(row: Row) -> Iterator[Entry]:
    """Bounces, complaints and unsubscribes, also of one tag; templates with their version."""
    version = row.values.get("version")
    if isinstance(version, dict) or row.has("template"):
        values = Row.of(version) if isinstance(version, dict) else row
        name = row.text("name")
        yield ForeignTemplate(id_of(name), name, _MISSING_SUBJECT, values.text("template"))
    elif row.has("type", "value") and not row.has(*_EMAIL):
        yield Skipped("entries of the allow list are no suppressions")
    elif row.has("code", "error"):
        temporary = row.text("code").startswith("4")
        yield _suppression(row, "bounce", row.text("error"), temporary=temporary)
    elif row.has("tags"):
        for tag in _tags(row.values["tags"]):
            list_id = "" if tag == "*" else id_of(tag)
            yield _suppression(row, "unsubscribe", f"tag {tag}" if list_id else "", list_id=list_id)
    else:
        yield _suppression(row, "complaint")


def postmark(row: Row) -> Iterator[Entry]:
    """Suppressions of a message stream; templates, without their layouts."""
    if row.has("htmlbody", "textbody"):
        if row.text("templatetype") == "Layout":
            yield Skipped(f"{row.text('name')} is a layout: put it into the templates by hand")
            return
        layout = row.text("layouttemplate")
        notes = (f"its layout {layout} is not part of it",) if layout else ()
        yield ForeignTemplate(
            id_of(row.text("alias"), row.text("templateid")),
            row.text("name"),
            row.text("subject"),
            row.text("htmlbody"),
            row.text("textbody"),
            published=row.values.get("active") is not False,
            notes=notes,
        )
        return
    reasons: dict[str, Reason] = {"hardbounce": "bounce", "spamcomplaint": "complaint"}
    name = row.text("suppressionreason", "reason")
    by_recipient = row.text("origin").lower() == "recipient"
    other: Reason = "unsubscribe" if by_recipient else "manual"
    yield _suppression(row, reasons.get(name.replace(" ", "").lower(), other))


def ses(row: Row) -> Iterator[Entry]:
    """The suppression list of an account; templates of both versions of the API."""
    content = row.values.get("templatecontent")
    if isinstance(content, dict) or row.has("htmlpart", "textpart"):
        parts = Row.of(content) if isinstance(content, dict) else row
        name = row.text("templatename")
        yield ForeignTemplate(
            id_of(name),
            name,
            parts.text("subject", "subjectpart"),
            parts.text("html", "htmlpart"),
            parts.text("text", "textpart"),
        )
    else:
        is_complaint = row.text("reason").upper() == "COMPLAINT"
        yield _suppression(row, "complaint" if is_complaint else "bounce")


def mandrill(row: Row) -> Iterator[Entry]:
    """Rejects that have not expired; templates, the published version if there is one."""
    if row.has("code", "publishcode") and row.has("slug", "name"):
        prefix = "publish" if row.text("publishcode", "publishtext") else ""
        html = row.text(f"{prefix}code")
        email, name = row.text(f"{prefix}fromemail"), row.text(f"{prefix}fromname")
        sender: Any = {"email": email, "name": name} if name else email
        notes = ("its editable regions (mc:edit) have their default content",)
        yield ForeignTemplate(
            id_of(row.text("slug"), row.text("name")),
            row.text("name"),
            row.text(f"{prefix}subject"),
            html,
            row.text(f"{prefix}text"),
            sender if email else "",
            published=bool(prefix),
            notes=notes if "mc:edit" in html else (),
        )
        return
    reasons: dict[str, Reason] = {
        "hardbounce": "bounce",
        "softbounce": "bounce",
        "invalid": "bounce",
        "spam": "complaint",
        "unsub": "unsubscribe",
    }
    name = row.text("reason").replace("-", "").lower()
    if row.text("expired").lower() in ("true", "1", "yes"):
        yield Skipped("expired rejects are no suppressions")
    else:
        reason, temporary = reasons.get(name, "manual"), name == "softbounce"
        yield _suppression(row, reason, row.text("detail"), temporary=temporary)


#: How the rows of each service are read, by the name of its command
SERVICES: Final[dict[str, tuple[str, Callable[[Row], Iterator[Entry]]]]] = {
    "sendgrid": ("SendGrid", sendgrid),
    "mailgun": ("Mailgun", mailgun),
    "postmark": ("Postmark", postmark),
    "ses": ("Amazon SES", ses),
    "mandrill": ("Mandrill", mandrill),
}
# Mailgun keeps the subject with each message, and not with the template
_MISSING_SUBJECT = "{{subject}}"


def _sendgrid_template(row: Row, versions: list[Any]) -> Entry:
    rows = [Row.of(each) for each in versions]
    active = [each for each in rows if each.text("active") == "1"]
    if not rows:
        return Skipped(f"{row.text('name', 'id')} has no version")
    values = (active or rows)[0]
    return ForeignTemplate(
        id_of(row.text("id", "templateid"), row.text("name")),
        row.text("name") or values.text("name"),
        values.text("subject"),
        values.text("htmlcontent"),
        values.text("plaincontent"),
        published=bool(active),
    )


def _suppression(
    row: Row, reason: Reason, description: str = "", *, list_id: str = "", temporary: bool = False
) -> Entry:
    recipient = row.text(*_EMAIL)
    if not recipient:
        return NotUnderstood(f"a row has no address: {', '.join(row.values)[:200]}")
    return Suppression(recipient, reason, " ".join(description.split()), list_id, temporary)


def _tags(value: Any) -> list[str]:
    """Return the tags of an array, or of the text that stands for one in CSV."""
    if isinstance(value, list):
        return [str(each) for each in value] or ["*"]
    texts = [each.strip(" \"'[]") for each in str(value).split(",")]
    return [each for each in texts if each] or ["*"]

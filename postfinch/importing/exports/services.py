"""Tell what a row of each service's export means."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from postfinch.importing.exports.forms import ADDRESS, Form, Service, not_in
from postfinch.importing.exports.model import (
    Entry,
    ForeignTemplate,
    Reason,
    Row,
    Skipped,
    Suppression,
    id_of,
)

_CREATED: Final = ("created", "createdat")
_NO_OTHERS: Final[frozenset[str]] = frozenset()
# Mailgun keeps the subject with each message, and not with the template
_MISSING_SUBJECT = "{{subject}}"
_POSTMARK_REASONS: Final[dict[str, Reason]] = {
    "hardbounce": "bounce",
    "spamcomplaint": "complaint",
    "manualsuppression": "manual",
}
_SES_REASONS: Final[dict[str, Reason]] = {"bounce": "bounce", "complaint": "complaint"}
_MANDRILL_REASONS: Final[dict[str, Reason]] = {
    "hard-bounce": "bounce",
    "soft-bounce": "bounce",
    "invalid": "bounce",
    "invalid-sender": "manual",
    "spam": "complaint",
    "unsub": "unsubscribe",
    "custom": "manual",
    "rule": "manual",
    "manual": "manual",
}


def suppression(
    row: Row, reason: Reason, description: str = "", *, list_id: str = "", temporary: bool = False
) -> Entry:
    """Return the entry of a row with an address."""
    recipient = row.text(*ADDRESS)
    if not recipient:
        return Skipped("rows without an address")
    return Suppression(recipient, reason, " ".join(description.split()), list_id, temporary)


def _sendgrid_templates(row: Row) -> Iterator[Entry]:
    """Dynamic and legacy templates: the active version, or the first."""
    versions = row.values.get("versions")
    rows = [Row.of(each) for each in (versions if isinstance(versions, list) else [row.values])]
    active = [each for each in rows if each.text("active") == "1"]
    if not rows:
        yield Skipped(f"{row.text('name', 'id')} has no version")
        return
    values = (active or rows)[0]
    yield ForeignTemplate(
        id_of(row.text("id", "templateid"), row.text("name")),
        row.text("name") or values.text("name"),
        values.text("subject"),
        values.text("htmlcontent"),
        values.text("plaincontent"),
        published=bool(active),
    )


def _sendgrid_groups(row: Row) -> Iterator[Entry]:
    name = row.text("groupname", "groupid")
    yield suppression(row, "unsubscribe", f"group {name}", list_id=id_of(name))


def _sendgrid_bounces(row: Row) -> Iterator[Entry]:
    temporary = row.text("status", "reason").startswith("4")
    yield suppression(row, "bounce", row.text("reason"), temporary=temporary)


def _complaints(row: Row) -> Iterator[Entry]:
    yield suppression(row, "complaint")


def _unsubscribes(row: Row) -> Iterator[Entry]:
    yield suppression(row, "unsubscribe")


def _mailgun_templates(row: Row) -> Iterator[Entry]:
    version = row.values.get("version")
    values = Row.of(version) if isinstance(version, dict) else row
    name = row.text("name")
    yield ForeignTemplate(id_of(name), name, _MISSING_SUBJECT, values.text("template"))


def _mailgun_allow_list(row: Row) -> Iterator[Entry]:
    yield Skipped("entries of the allow list are no suppressions")


def _mailgun_bounces(row: Row) -> Iterator[Entry]:
    temporary = row.text("code").startswith("4")
    yield suppression(row, "bounce", row.text("error"), temporary=temporary)


def _mailgun_unsubscribes(row: Row) -> Iterator[Entry]:
    for tag in _tags(row.values["tags"]):
        list_id = "" if tag == "*" else id_of(tag)
        yield suppression(row, "unsubscribe", f"tag {tag}" if list_id else "", list_id=list_id)


def _postmark_templates(row: Row) -> Iterator[Entry]:
    """Templates, without their layouts."""
    if row.text("templatetype") == "Layout":
        yield Skipped(f"{row.text('name')} is a layout: put it into the templates by hand")
        return
    layout = row.text("layouttemplate")
    yield ForeignTemplate(
        id_of(row.text("alias"), row.text("templateid")),
        row.text("name"),
        row.text("subject"),
        row.text("htmlbody"),
        row.text("textbody"),
        published=row.values.get("active") is not False,
        notes=(f"its layout {layout} is not part of it",) if layout else (),
    )


def _postmark_suppressions(row: Row) -> Iterator[Entry]:
    """Suppressions of a message stream."""
    name = row.text("suppressionreason", "reason").replace(" ", "").lower()
    if name not in _POSTMARK_REASONS:
        yield not_in(list(_POSTMARK_REASONS), row, "suppressionreason", "reason")
    elif name == "manualsuppression" and row.text("origin").lower() == "recipient":
        yield suppression(row, "unsubscribe")
    else:
        yield suppression(row, _POSTMARK_REASONS[name])


def _ses_templates(row: Row) -> Iterator[Entry]:
    """Templates of both versions of the API."""
    content = row.values.get("templatecontent")
    parts = Row.of(content) if isinstance(content, dict) else row
    name = row.text("templatename")
    yield ForeignTemplate(
        id_of(name),
        name,
        parts.text("subject", "subjectpart"),
        parts.text("html", "htmlpart"),
        parts.text("text", "textpart"),
    )


def _ses_suppressions(row: Row) -> Iterator[Entry]:
    """The suppression list of an account."""
    reason = _SES_REASONS.get(row.text("reason").lower())
    yield suppression(row, reason) if reason else not_in(("BOUNCE", "COMPLAINT"), row, "reason")


def _mandrill_templates(row: Row) -> Iterator[Entry]:
    """Templates: the published version if there is one."""
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


def _mandrill_rejects(row: Row) -> Iterator[Entry]:
    """Rejects that have not expired."""
    name = row.text("reason").lower()
    if name not in _MANDRILL_REASONS:
        yield not_in(list(_MANDRILL_REASONS), row, "reason")
    elif row.text("expired").lower() in ("true", "1", "yes"):
        yield Skipped("expired rejects are no suppressions")
    else:
        reason, temporary = _MANDRILL_REASONS[name], name == "soft-bounce"
        yield suppression(row, reason, row.text("detail"), temporary=temporary)


#: What each service exports, by the name of its command
SERVICES: Final[dict[str, Service]] = {
    "sendgrid": Service(
        "SendGrid",
        (
            Form("templates", (("versions", "htmlcontent"),), _sendgrid_templates),
            Form("group unsubscribes", (ADDRESS, ("groupid", "groupname")), _sendgrid_groups),
            Form("spam reports", (ADDRESS, ("ip",)), _complaints, _NO_OTHERS),
            Form(
                "bounces", (ADDRESS, ("reason", "status"), _CREATED), _sendgrid_bounces, _NO_OTHERS
            ),
            Form("unsubscribes", (ADDRESS, _CREATED), _unsubscribes, _NO_OTHERS),
        ),
    ),
    "mailgun": Service(
        "Mailgun",
        (
            Form("templates", (("template", "version"),), _mailgun_templates),
            Form("bounces", (ADDRESS, ("code", "error")), _mailgun_bounces),
            Form("unsubscribes", (ADDRESS, ("tags",)), _mailgun_unsubscribes, frozenset({"id"})),
            Form("allow list", (("type",), ("value",)), _mailgun_allow_list),
            Form(
                "complaints",
                (("address",), ("createdat",)),
                _complaints,
                frozenset({"count", "id"}),
            ),
        ),
    ),
    "postmark": Service(
        "Postmark",
        (
            Form("templates", (("htmlbody", "textbody"),), _postmark_templates),
            Form(
                "suppressions",
                (ADDRESS, ("suppressionreason", "reason"), ("origin",)),
                _postmark_suppressions,
            ),
        ),
    ),
    "ses": Service(
        "Amazon SES",
        (
            Form(
                "templates",
                (("templatename",), ("templatecontent", "htmlpart", "textpart")),
                _ses_templates,
            ),
            Form("suppressions", (ADDRESS, ("reason",)), _ses_suppressions),
        ),
    ),
    "mandrill": Service(
        "Mandrill",
        (
            Form("templates", (("code", "publishcode"), ("slug", "name")), _mandrill_templates),
            Form("rejects", (ADDRESS, ("reason",)), _mandrill_rejects),
        ),
    ),
}


def _tags(value: Any) -> list[str]:
    """Return the tags of an array, or of the text that stands for one in CSV."""
    if isinstance(value, list):
        return [str(each) for each in value] or ["*"]
    texts = [each.strip(" \"'[]") for each in str(value).split(",")]
    return [each for each in texts if each] or ["*"]

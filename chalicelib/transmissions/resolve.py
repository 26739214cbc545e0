"""Resolve a transmission: find its content where it is stored, and the value of each option.

An option's value is the transmission's own, else the template's, else the account's, else the
service's default. A recipient's own value beats them all; generation applies that one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from chalicelib.ab_tests.assignment import assign, find_test, foresee
from chalicelib.ab_tests.model import AbTest
from chalicelib.ab_tests.store import sample
from chalicelib.ab_tests.store import versions as ab_tests
from chalicelib.core import ids
from chalicelib.core.errors import ServiceError, sandbox_template_changed
from chalicelib.core.json_types import Json
from chalicelib.core.message_event import Refusal
from chalicelib.core.scope import Scope
from chalicelib.mail_format.from_field import from_mailbox, from_text
from chalicelib.recipient_lists.stored_form import decode
from chalicelib.templates.content import bad_message
from chalicelib.templates.model import Template
from chalicelib.templates.prebuilt import TAG, MessageError, PrebuiltContent
from chalicelib.templates.store import leases
from chalicelib.templates.store import records as templates
from chalicelib.transmissions.model import AbTestRef, Transmission
from chalicelib.transmissions.store import transmissions
from chalicelib.transmissions.store.transmissions import Record

_ENTERPRISE_ONLY: Final = ("skip_suppression",)


@dataclass(frozen=True, slots=True)
class ResolvedContent:
    """The content to send: inline content, or a pre-built message in ``raw``.

    ``template`` and ``version`` say where it was stored, if it was; ``ab_test`` names the test in
    whose sample the transmission is.
    """

    content: Json = field(default_factory=dict)
    raw: bytes = b""
    options: Mapping[str, bool] = field(default_factory=dict)
    template: Template | None = None
    version: str = ""
    ab_test: AbTestRef = field(default_factory=AbTestRef)

    @property
    def sender(self) -> str | Json:
        """Return the From as it was written, empty if a pre-built message has not exactly one.

        Raises 422 for a malformed pre-built message.
        """
        if not self.raw:
            return self.content["from"]
        try:
            fields = PrebuiltContent(self.raw, is_new=True).fields
        except MessageError as fault:
            raise bad_message(fault) from None
        text = from_text(fields)
        if TAG in text:
            return text
        try:
            return from_mailbox(fields).email
        except ValueError:
            return ""


def find_content(
    transmission: Transmission, recipient: str, *, starts: bool = True
) -> ResolvedContent:
    """Return the content as it is stored now; raises 422 with code 1603 if there is none.

    Raises 422 with code 3051 if a sandbox send would have other content than the sample.

    ``recipient`` is the only one of a transmission that names an A/B test. The transmission takes a
    place in the test's sample if it ``starts`` now, and not before.
    """
    if transmission.content.get("ab_test_id"):
        if starts:
            return _content_of_test(transmission, recipient)
        return _content_foreseen(transmission, recipient)
    if transmission.content.get("template_id"):
        draft = bool(transmission.content.get("use_draft_template"))
        return _content_of_template(transmission, transmission.content["template_id"], draft)
    return _parsed(transmission.content)


def own_sender(transmission: Transmission) -> str | Json | None:
    """Return the From that the request has; ``None`` if only its stored content has one."""
    if sender := transmission.override.get("from"):
        return sender
    names_stored = any(transmission.content.get(name) for name in ("ab_test_id", "template_id"))
    return None if names_stored else _parsed(transmission.content).sender


def stored_sender(scope: Scope, template_id: str, draft: bool) -> str | Json:
    """Return the From of a stored template; raises 422 with code 1603 if there is none."""
    return _parsed(templates.get_content(scope, template_id, draft).content).sender


def withdraw(transmission: Transmission, content: ResolvedContent) -> None:
    """Give back the place in an A/B test's sample, because the transmission is refused."""
    if content.ab_test:
        test_id, version = content.ab_test["id"], content.ab_test["version"]
        test = ab_tests.version(transmission.account_id, test_id, version)
        if test:
            _give_back(transmission, test)


def _content_of_test(transmission: Transmission, recipient: str) -> ResolvedContent:
    test = find_test(transmission.scope, transmission.content["ab_test_id"])
    message_id = ids.message_id(transmission.id, 0)
    assignment = assign(test, message_id, recipient, transmission.starts_ms)
    try:
        content = _content_of_template(transmission, assignment.template_id, draft=False)
    except ServiceError:
        _give_back(transmission, test)
        raise
    if not assignment.tried:
        return content
    return replace(content, ab_test={"id": test.id, "version": test.version})


def _content_foreseen(transmission: Transmission, recipient: str) -> ResolvedContent:
    """Return the content that the test would choose now; it may choose another at the start."""
    test = find_test(transmission.scope, transmission.content["ab_test_id"])
    template_id = foresee(test, recipient, transmission.starts_ms)
    return _content_of_template(transmission, template_id, draft=False)


def _give_back(transmission: Transmission, test: AbTest) -> None:
    """Give the place back, unless this repeats a request that was accepted and sent with it.

    A scheduled transmission takes its place when it starts, long after it was stored.
    """
    if transmission.start_ms or not transmissions.exists(transmission.id):
        sample.give_back(test, ids.message_id(transmission.id, 0))


def _content_of_template(
    transmission: Transmission, template_id: str, draft: bool
) -> ResolvedContent:
    template_content = templates.get_content(transmission.scope, template_id, draft)
    if transmission.is_sandbox and not template_content.template.is_sample:
        raise sandbox_template_changed(
            f"the account has a template '{template_id}' of its own: delete it to send the sample"
        )
    # MJML is the source of the HTML beside it
    content = {name: text for name, text in template_content.content.items() if name != "mjml"}
    return replace(
        _parsed(content),
        options=template_content.version.options,
        template=template_content.template,
        version=str(template_content.version.number),
    )


def _parsed(content: Json) -> ResolvedContent:
    message = content.get("email_rfc822")
    if message:
        return ResolvedContent(raw=message.encode("utf-8", "surrogatepass"))
    return ResolvedContent(content)


def resolve(transmission: Transmission, content: ResolvedContent) -> Transmission:
    """Return the transmission with its content, and its options as they are in force."""
    if content.template is not None and not content.template.is_sample:
        leases.record_use(content.template)
    return _resolved(transmission, content)


def _resolved(transmission: Transmission, content: ResolvedContent) -> Transmission:
    template = content.template
    return replace(
        transmission,
        content=content.content,
        raw=content.raw,
        substitute=bool(content.raw),
        options=options_in_force(transmission.options, content.options, transmission.defaults),
        resolved=True,
        template_id=template.id if template else "",
        shares_template=template is not None
        and template.subaccount_id != transmission.subaccount_id,
        template_version=content.version,
        ab_test=content.ab_test,
    )


def refuse(record: Record, refusal: Refusal) -> Transmission:
    """Return a transmission that has not started, with the fields of each recipient's one event.

    It is resolved with its present content, as events also tell From, subject and template. The
    template is the named one even if it is gone; an A/B test has chosen none.
    """
    transmission = record.transmission
    try:
        content = find_content(transmission, ab_test_recipient(record), starts=False)
    except ServiceError as fault:
        if fault.status >= 500:
            raise
        content = ResolvedContent(transmission.content)
    return replace(
        _resolved(transmission, content),
        template_id=transmission.content.get("template_id", ""),
        template_version=content.version if transmission.content.get("template_id") else "",
        refusal=refusal,
    )


def ab_test_recipient(record: Record) -> str:
    """Return the address of the one recipient for whom an A/B test chooses content, if one does."""
    if not record.transmission.content.get("ab_test_id"):
        return ""
    first = next(transmissions.get_recipients(record.transmission.id))
    return decode(first)["email"]


def options_in_force(options: Json, template: Mapping[str, bool], account: Json) -> Json:
    """Return every option with its value in force.

    ``options`` are the transmission's own; ``template`` holds those of its template, and
    ``account`` the account's choices (``Sender.defaults``). Those of enterprise accounts only are
    left out for others, as they ignore fields that they do not have (spec 1.5).
    """

    def value_of(name: str, default: bool) -> bool:
        for source in (options, template):
            if source.get(name) is not None:
                return bool(source[name])
        return default

    may_open = account["tracks_opens"]
    opens = may_open and value_of("open_tracking", account["tracking"])
    initial = opens and account["initial_open"]
    clicks = account["tracks_clicks"] and value_of("click_tracking", account["tracking"])
    unavailable = () if account.get("enterprise") else _ENTERPRISE_ONLY
    return {
        **{name: value for name, value in options.items() if name not in unavailable},
        "open_tracking": opens,
        "click_tracking": clicks,
        "initial_open": may_open and value_of("initial_open", initial),
        "transactional": value_of("transactional", account["transactional"]),
        "inline_css": value_of("inline_css", False),
        "ip_pool": options.get("ip_pool") or account["ip_pool"],
    }

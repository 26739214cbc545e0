"""Resolution: content is taken from where it is stored, and each option gets the value in force.

An option's value is the transmission's own, else the template's, else the account's, else the
service's default; a recipient's own beats them all, but that is seen when it is generated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from chalicelib.ab_tests.assignment import assign, foresee
from chalicelib.ab_tests.lookup import find_test
from chalicelib.ab_tests.model import AbTest
from chalicelib.ab_tests.store import sample
from chalicelib.ab_tests.store import versions as ab_tests
from chalicelib.core import ids
from chalicelib.core.errors import ServiceError
from chalicelib.mail_format import rfc822
from chalicelib.mail_format.from_field import from_text
from chalicelib.templates.content import bad_message
from chalicelib.templates.model import Template
from chalicelib.templates.prebuilt import MessageError, PrebuiltContent
from chalicelib.templates.store import leases
from chalicelib.templates.store import records as templates
from chalicelib.transmissions.model import Json, Transmission
from chalicelib.transmissions.store import transmissions


@dataclass(frozen=True, slots=True)
class Found:
    """The content that counts: inline content, or a pre-built message in ``raw``.

    ``template`` and ``version`` say where it was stored, if it was, and ``ab_test`` in which test
    it is tried.
    """

    content: Json = field(default_factory=dict)
    raw: bytes = b""
    options: Mapping[str, bool] = field(default_factory=dict)
    template: Template | None = None
    version: str = ""
    ab_test: Json = field(default_factory=dict)

    @property
    def sender(self) -> str | Json:
        """Return the From as it stands in the content; raises 422 for a message that is none."""
        if not self.raw:
            return self.content["from"]
        try:
            PrebuiltContent(self.raw)
            return from_text(rfc822.split(rfc822.normalise(self.raw))[0])
        except MessageError as fault:
            raise bad_message(fault) from None


def find_content(sent: Transmission, recipient: str, *, starts: bool = True) -> Found:
    """Return the content of ``sent`` as it is now; raises 422 with code 1603 if there is none.

    ``recipient`` is the one of an A/B test's transmission, which has no other. Unless it ``starts``
    now, nothing is tried on it yet.
    """
    if sent.content.get("ab_test_id"):
        return _of_test(sent, recipient) if starts else _foreseen(sent, recipient)
    if sent.content.get("template_id"):
        draft = bool(sent.content.get("use_draft_template"))
        return _of_template(sent, sent.content["template_id"], draft)
    return _of_stored(sent.content)


def withdraw(sent: Transmission, found: Found) -> None:
    """Give back the place in an A/B test's sample that a transmission took which is refused."""
    if found.ab_test:
        about = found.ab_test
        test = ab_tests.version(sent.account_id, about["id"], about["version"])
        if test:
            _give_back(sent, test)


def _of_test(sent: Transmission, recipient: str) -> Found:
    test = find_test(sent.scope, sent.content["ab_test_id"])
    message_id = ids.message_id(sent.id, 0)
    chosen = assign(test, message_id, recipient, _starts_ms(sent))
    try:
        found = _of_template(sent, chosen.template_id, draft=False)
    except ServiceError:
        _give_back(sent, test)
        raise
    if not chosen.tried:
        return found
    return replace(found, ab_test={"id": test.id, "version": test.version})


def _foreseen(sent: Transmission, recipient: str) -> Found:
    test = find_test(sent.scope, sent.content["ab_test_id"])
    return _of_template(sent, foresee(test, recipient, _starts_ms(sent)), draft=False)


def _give_back(sent: Transmission, test: AbTest) -> None:
    """Give the place back, unless this repeats a request that was accepted and sent with it.

    What starts later takes its place only then, long after it was stored.
    """
    if sent.start_ms or not transmissions.exists(sent.id):
        sample.give_back(test, ids.message_id(sent.id, 0))


def _starts_ms(sent: Transmission) -> int:
    return sent.start_ms or sent.created_ms


def _of_template(sent: Transmission, template_id: str, draft: bool) -> Found:
    stored = templates.get_content(sent.scope, template_id, draft)
    return replace(
        _of_stored(stored.content),
        options=stored.version.options,
        template=stored.template,
        version=str(stored.version.number),
    )


def _of_stored(content: Json) -> Found:
    message = content.get("email_rfc822")
    return Found(raw=message.encode("utf-8", "surrogatepass")) if message else Found(content)


def resolved(sent: Transmission, found: Found) -> Transmission:
    """Return ``sent`` with its content and options as they are in force."""
    if found.template is not None:
        leases.note_use(found.template)
    return replace(
        sent,
        content=found.content,
        raw=found.raw,
        substitute=bool(found.raw),
        options=options_in_force(sent.options, found.options, sent.defaults),
        resolved=True,
        template_id=found.template.id if found.template else "",
        template_version=found.version,
        ab_test=found.ab_test,
    )


def refused(sent: Transmission, refusal: Json) -> Transmission:
    """Return ``sent`` with the fields of the one event that every recipient is to have."""
    options = options_in_force(sent.options, {}, sent.defaults)
    return replace(sent, resolved=True, options=options, refusal=refusal)


def options_in_force(given: Json, template: Mapping[str, bool], account: Json) -> Json:
    """Return every option with its value in force."""

    def chosen(name: str, default: bool) -> bool:
        for source in (given, template):
            if source.get(name) is not None:
                return bool(source[name])
        return default

    may_open = account["tracks_opens"]
    opens = may_open and chosen("open_tracking", account["tracking"])
    initial = opens and account["initial_open"]
    clicks = account["tracks_clicks"] and chosen("click_tracking", account["tracking"])
    return {
        **given,
        "open_tracking": opens,
        "click_tracking": clicks,
        "initial_open": may_open and chosen("initial_open", initial),
        "transactional": chosen("transactional", account["transactional"]),
        "ip_pool": given.get("ip_pool") or account["ip_pool"],
    }

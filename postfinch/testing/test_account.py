"""Give a test an account of its own at a running service."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Mapping, Sequence
from email import policy
from email.message import EmailMessage
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from postfinch import composing, receiving
from postfinch.http_api import Api, ApiError
from postfinch.local_service import LocalService
from postfinch.testing import received_mail
from postfinch.testing.mailbox import Attachment, Mailbox, Message
from postfinch.testing.received_mail import ReceivedMessage
from postfinch.testing.relay_webhook import RelayWebhook
from postfinch.testing.waiting import TIMEOUT
from postfinch.testing.webhook_events import WebhookEvents

#: What the account of a test may do: all that a subaccount can
_GRANTS = (
    "message_events/view",
    "sending_domains/manage",
    "smtp/inject",
    "suppression_lists/manage",
    "tracking_domains/manage",
    "tracking_domains/view",
    "transmissions/modify",
    "transmissions/view",
    "webhooks/modify",
    "webhooks/view",
)
#: The options of a transmission
OPTIONS = (
    *("click_tracking", "dkim_key", "initial_open", "inline_css", "ip_pool", "open_tracking"),
    *("perform_substitutions", "reply_domain", "sandbox", "skip_suppression", "start_time"),
    "transactional",
)
#: The domain from which every account may send at a local service
DOMAIN = "example.test"
#: The sender of mail that comes in, if a test names none
SENDER = "sender@example.org"


class BadKey(RuntimeError):
    """A service that runs already does not take the key of its account."""


class SmtpAccess(NamedTuple):
    """How a program logs in to the relay: with STARTTLS at ``port``, or under TLS at ``tls_port``.

    ``authority`` is the file with the certificate that signs the relay's; empty if it is not known.
    """

    host: str
    port: int
    user: str
    password: str
    tls_port: int
    authority: str


class TestAccount:
    """The account of one test: a subaccount, whose mail, events and webhooks are its own.

    ``account_key`` is the key of the whole account, for what no subaccount may do, such as
    creating subaccounts; what is made with it is there for all tests.
    """

    __test__ = False  # its name begins as those of test classes do

    def __init__(self, service: LocalService) -> None:
        self.api_url = service.api_url
        self.account_key = service.api_key
        self._service = service
        name = f"pytest-{uuid.uuid4().hex[:12]}"
        account = Api(service.api_url, service.api_key)
        body = {"name": name, "key_label": name, "key_grants": _GRANTS}
        try:
            created = account.post("/subaccounts", body)
        except ApiError as error:
            if error.status != 401:
                raise
            text = f"{service.api_url} refuses its API key: set POSTFINCH_API_KEY to the right one"
            raise BadKey(text) from None
        self.subaccount_id: int = created["subaccount_id"]
        self.api_key: str = created["key"]
        #: The API with the whole account's key, acting for this subaccount
        self.api = Api(service.api_url, service.api_key, self.subaccount_id)
        self._rules: list[int] = []
        self._relay_webhooks: dict[str, RelayWebhook] = {}

    @property
    def smtp(self) -> SmtpAccess:
        """The relay's host, ports, user and password."""
        service = self._service
        return SmtpAccess(
            service.smtp_host,
            service.smtp_port,
            "SMTP_Injection",
            self.api_key,
            service.smtp_tls_port,
            service.authority,
        )

    @cached_property
    def mailbox(self) -> Mailbox:
        """The mail that this account has sent, as its recipients got it."""
        return Mailbox(self.api, self.subaccount_id)

    def inbox(self, name: str) -> Mailbox:
        """The caught mail of an inbox, such as that of a login name (``CATCH_INBOX=login``).

        Such mail has no account: choose a name that no other test uses.
        """
        return Mailbox(self.api, inbox=name)

    @cached_property
    def webhooks(self) -> WebhookEvents:
        """The events of this account as webhooks bring them, from the first use on."""
        return WebhookEvents(self.api)

    def send(
        self,
        *,
        to: str | Sequence[str],
        subject: str = "",
        text: str | None = None,
        html: str | None = None,
        from_: str = f"sender@{DOMAIN}",
        template: str | None = None,
        data: Mapping[str, Any] | None = None,
        attachments: Sequence[Path | str | Attachment] = (),
        **options: Any,
    ) -> str:
        """Send a message to one or more recipients; return the transmission's id.

        ``data`` fills in the template language. An attachment is the path of a file, or an
        :class:`Attachment`. ``options`` are those of a transmission; another name is a TypeError,
        because the API ignores what it does not know.
        """
        if unknown := sorted(options.keys() - OPTIONS):
            raise TypeError(f"send() has no {', '.join(unknown)}; options are {', '.join(OPTIONS)}")
        recipients = [to] if isinstance(to, str) else to
        content: dict[str, Any] = {"template_id": template} if template else {"from": from_}
        if not template:
            content |= {"subject": subject, "text": text, "html": html}
            content["attachments"] = [_attachment(each) for each in attachments]
        body = {
            "recipients": [{"address": address} for address in recipients],
            "content": {name: value for name, value in content.items() if value},
            "substitution_data": dict(data or {}),
            "options": options,
        }
        return str(self.api.post("/transmissions", body)["id"])

    def relay_webhook(self, domain: str | None = None) -> RelayWebhook:
        """Receive mail for a domain until the end of this test, and have it posted to the test.

        Without ``domain`` it is a new one, which no other test uses.
        """
        name = domain or f"inbound-{uuid.uuid4().hex[:12]}.test"
        if name not in self._relay_webhooks:
            self._relay_webhooks[name] = RelayWebhook(self.api, name)
        return self._relay_webhooks[name]

    def receive(
        self,
        message: EmailMessage | bytes | None = None,
        *,
        to: str | Sequence[str] = (),
        from_: str | None = None,
        in_reply_to: Message | None = None,
        timeout: float = TIMEOUT,
        **fields: Any,
    ) -> ReceivedMessage:
        """Let a message come in from another mail host; return it as its first recipient got it.

        It is a whole message, or made of ``subject``, ``text``, ``html``, ``attachments`` and
        ``headers``. An answer to a message of the mailbox, ``in_reply_to``, is from its recipient
        to its Reply-To or From. If the domain has a relay webhook of this test, wait for its post.
        """
        recipients = [to] if isinstance(to, str) else list(to)
        if in_reply_to is not None:
            recipients = recipients or [received_mail.answer_address(in_reply_to)]
            from_ = from_ or in_reply_to.recipients[0]
            others = fields.pop("headers", None) or {}
            fields["headers"] = received_mail.answer_fields(in_reply_to) | others
        if message is None:
            sender = SENDER if from_ is None else from_
            message = received_mail.compose(to=recipients, from_=sender, **fields)
        elif fields:
            raise TypeError(f"a whole message has its own {', '.join(sorted(fields))}")
        source = message if isinstance(message, bytes) else message.as_bytes(policy=policy.SMTPUTF8)
        envelope = receiving.envelope_of(source, from_, recipients)
        first, *_ = received_mail.play(self.api, self._inbound_address(), source, envelope)
        webhook = self._relay_webhooks.get(first.to.rpartition("@")[2].lower())
        if webhook is not None:
            first.post = webhook.wait_for(id=first.id, timeout=timeout)
        return first

    def _inbound_address(self) -> tuple[str, int]:
        """Return host and port of mail that comes in."""
        return urlsplit(self.api_url).hostname or "localhost", self._service.inbound_port

    def fail(
        self,
        pattern: str = "*",
        *,
        code: int | None = 550,
        text: str = "",
        step: str = "rcpt",
        delay: float = 0.0,
        times: int | None = None,
    ) -> None:
        """Let delivery fail to recipients like a pattern, until the end of this test.

        ``code`` is that of the SMTP reply at a step (``connect``, ``mail``, ``rcpt``, ``data``,
        ``dot``); 4xx is tried again later, ``None`` closes the connection.
        """
        rule = {"pattern": pattern, "code": code, "text": text, "step": step, "delay": delay}
        if times is not None:
            rule["times"] = times
        self._rules.append(self.api.post("/local/failures", rule)["id"])

    def close(self) -> None:
        """Remove what would concern other tests."""
        for rule in self._rules:
            self.api.delete(f"/local/failures/{rule}")
        for webhook in self._relay_webhooks.values():
            webhook.close()
        if "webhooks" in self.__dict__:
            self.webhooks.close()


def _attachment(file: Path | str | Attachment) -> dict[str, str]:
    if isinstance(file, Path | str):
        return composing.file_of(Path(file))
    if not isinstance(file, Attachment):
        raise TypeError(f"an attachment is a path or an Attachment, and not {file!r}")
    data = base64.b64encode(file.content).decode()
    return {"name": file.name, "type": file.type, "data": data}

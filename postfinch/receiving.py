"""Play mail into the inbound port of a local service, as a mail host of the sender does.

The service gives a message that it takes an id. As each recipient got it, its id is that one and
the recipient's place among those that were accepted, in two hexadecimal digits.
"""

from __future__ import annotations

import re
import smtplib
from collections.abc import Sequence
from dataclasses import dataclass
from email import message_from_bytes, policy
from email.message import EmailMessage
from email.utils import formatdate, getaddresses, make_msgid, parseaddr

from postfinch import local_service
from postfinch.http_api import Unreachable

#: The usual port of mail that comes in
USUAL_PORT = 2526
_HOST = "localhost"
_PATIENCE = 30.0
_LINE_END = re.compile(rb"\r\n|\r|\n")
_ID = re.compile(r"\bOK ([0-9a-f]{24})\b")


class NotReceived(Exception):
    """The service refused a message, or one of its recipients, with this reply."""

    def __init__(self, code: int, text: str, recipient: str = "") -> None:
        of = f" for {recipient}" if recipient else ""
        super().__init__(
            f"the service takes no mail{of} ({code} {text})" if of else f"{code} {text}"
        )
        self.code = code
        self.recipient = recipient


@dataclass(frozen=True, slots=True)
class Envelope:
    """Who sends a message, and who gets it. ``optional`` recipients may be refused."""

    sender: str
    recipients: Sequence[str]
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Copy:
    """A message as one recipient got it. ``id`` is empty for an address of the service's own."""

    id: str
    recipient: str


def port_of(url: str) -> int:
    """Return the inbound port of the local service at ``url``, 0 if it is not known here."""
    service = local_service.at(url)
    return service.inbound_port if service else 0


def envelope_of(source: bytes, sender: str | None, recipients: Sequence[str]) -> Envelope:
    """Return the envelope: what is given, and of the rest what From, To and Cc say.

    Of the addresses in To and Cc, only those at the service are meant.
    """
    message = message_from_bytes(source)
    if sender is None:
        sender = parseaddr(str(message.get("From", "")))[1]
    if recipients:
        return Envelope(sender, recipients)
    fields = [str(each) for name in ("To", "Cc") for each in message.get_all(name, [])]
    addresses = dict.fromkeys(address for _, address in getaddresses(fields) if "@" in address)
    return Envelope(sender, list(addresses), optional=True)


def compose(
    *, sender: str, to: Sequence[str], subject: str = "", text: str | None = None
) -> EmailMessage:
    """Return a new message, as a mail program writes it."""
    message = EmailMessage(policy=policy.SMTPUTF8)
    message["From"], message["To"] = sender, ", ".join(to)
    message["Subject"] = subject
    message["Date"] = formatdate(localtime=False)
    message["Message-ID"] = make_msgid(domain=parseaddr(sender)[1].rpartition("@")[2] or _HOST)
    if text is not None:
        message.set_content(text)
    return message


def play(host: str, port: int, source: bytes, envelope: Envelope) -> list[Copy]:
    """Send a message to the inbound port; return it as each recipient got it.

    Raises :class:`NotReceived`, and ``Unreachable`` if nothing answers at the port.
    """
    octets = _LINE_END.sub(b"\r\n", source)
    try:
        with smtplib.SMTP(host, port, _HOST, _PATIENCE) as client:
            client.ehlo_or_helo_if_needed()
            client.mail(envelope.sender, _options(envelope, octets))
            recipients = _recipients(client, envelope)
            code, reply = client.data(octets)
    except smtplib.SMTPDataError as error:
        raise NotReceived(error.smtp_code, _text(error.smtp_error)) from None
    except (OSError, smtplib.SMTPException) as error:
        raise Unreachable(f"no mail can be played into {host}:{port}: {error}") from None
    if code != 250:
        raise NotReceived(code, _text(reply))
    match = _ID.search(_text(reply))
    message_id = match[1] if match else ""
    return [
        Copy(f"{message_id}{index:02x}" if message_id else "", recipient)
        for index, recipient in enumerate(recipients)
    ]


def _recipients(client: smtplib.SMTP, envelope: Envelope) -> list[str]:
    """Name the recipients; return those that were accepted."""
    accepted: list[str] = []
    refusal: NotReceived | None = None
    for recipient in envelope.recipients:
        code, reply = client.rcpt(recipient)
        if code == 250:
            accepted.append(recipient)
            continue
        refusal = refusal or NotReceived(code, _text(reply), recipient)
        if not envelope.optional:
            raise refusal
    if refusal and not accepted:
        raise refusal
    return accepted


def _options(envelope: Envelope, octets: bytes) -> list[str]:
    options = [] if octets.isascii() else ["BODY=8BITMIME"]
    if not all(map(str.isascii, [envelope.sender, *envelope.recipients])):
        options.append("SMTPUTF8")
    return options


def _text(reply: bytes | str) -> str:
    return reply.decode("utf-8", "replace") if isinstance(reply, bytes) else reply

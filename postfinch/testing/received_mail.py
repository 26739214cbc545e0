"""Let mail come in for a test, and read what became of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from email.message import EmailMessage
from email.utils import parseaddr
from pathlib import Path
from typing import TYPE_CHECKING

from postfinch import composing, receiving
from postfinch.http_api import Api, ApiError
from postfinch.json_types import Json
from postfinch.receiving import NotReceived
from postfinch.testing.mailbox import Attachment, Message
from postfinch.testing.traced import Traced
from postfinch.testing.waiting import TIMEOUT, wait_for

if TYPE_CHECKING:
    from postfinch.testing.relay_webhook import Post

_NOT_FOUND = 404
_NO_SUCH_RECIPIENT = 550


class ReceivedMessage(Traced):
    """A message that came in, as one recipient got it.

    ``post`` is the POST to the relay webhook of this test, if its domain has one; ``payload`` and
    ``headers`` are those of the post.
    """

    def __init__(self, api: Api, copy: receiving.Copy) -> None:
        self._api = api
        self.id = copy.id
        self.to = copy.recipient
        self.post: Post | None = None

    def __repr__(self) -> str:
        return f"<ReceivedMessage {self.id} to {self.to}>"

    @property
    def payload(self) -> Json:
        """What was posted: the ``relay_message``."""
        return self._posted().payload

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers of the post; their names may be in any case."""
        return self._posted().headers

    def read(self, *, timeout: float = TIMEOUT) -> Json:
        """Return the message as ``GET /inbound-messages/{id}`` shows it; wait until it is there."""

        def look() -> Json | None:
            try:
                message: Json = self._api.get(f"/inbound-messages/{self.id}")
            except ApiError as error:
                if error.status != _NOT_FOUND:
                    raise
                return None
            return message

        def instead() -> str:
            return f"{self!r} cannot be read within {timeout} s: does a route drop it?"

        return wait_for(look, timeout, instead)

    @property
    def events(self) -> list[Json]:
        """The events of the message so far, the oldest first."""
        events = self._api.get("/events/message", recipients=self.to, per_page=1000)
        events = [event for event in events if event.get("relay_id") == self.id]
        return sorted(events, key=lambda event: event["timestamp"])

    def _posted(self) -> Post:
        if self.post is None:
            raise AssertionError(
                f"{self!r} was not posted to a relay webhook of this test: call "
                "postfinch.relay_webhook() before the message comes in"
            )
        return self.post


def compose(
    *,
    to: Sequence[str],
    from_: str,
    subject: str = "",
    text: str | None = None,
    html: str | None = None,
    attachments: Sequence[Path | str | Attachment] = (),
    headers: Mapping[str, str] | None = None,
) -> EmailMessage:
    """Return a message as a mail program writes it; ``headers`` are added, or replace others."""
    message = receiving.compose(sender=from_, to=to, subject=subject, text=text or "")
    if html is not None:
        message.add_alternative(html, subtype="html")
    for each in map(attachment_of, attachments):
        main, _, sub = each.type.partition("/")
        message.add_attachment(each.content, main, sub, filename=each.name)
    for name, value in (headers or {}).items():
        del message[name]
        message[name] = value
    return message


def answer_fields(message: Message) -> dict[str, str]:
    """Return the fields that an answer to a message has, as mail programs write them."""
    message_id = message.headers.get("Message-ID", "")
    subject = message.subject
    return {
        "Subject": subject if subject.casefold().startswith("re:") else f"Re: {subject}",
        "In-Reply-To": message_id,
        "References": f"{message.headers.get('References', '')} {message_id}".strip(),
    }


def answer_address(message: Message) -> str:
    """Return the address that an answer to a message goes to."""
    return parseaddr(message.headers.get("Reply-To") or message.sender)[1]


def attachment_of(file: Path | str | Attachment) -> Attachment:
    """Return a file to attach with its name and type; raises TypeError."""
    if isinstance(file, Attachment):
        return file
    if not isinstance(file, Path | str):
        raise TypeError(f"an attachment is a path or an Attachment, and not {file!r}")
    path = Path(file)
    return Attachment(path.name, composing.file_of(path)["type"], path.read_bytes())


def play(
    api: Api, address: tuple[str, int], source: bytes, envelope: receiving.Envelope
) -> list[ReceivedMessage]:
    """Play a message in; raises AssertionError if the service refuses it."""
    try:
        copies = receiving.play(*address, source, envelope)
    except NotReceived as error:
        domain = error.recipient.rpartition("@")[2]
        hint = f"; call postfinch.relay_webhook({domain!r}) first" if domain else ""
        raise AssertionError(f"{error}{hint}") from None
    return [ReceivedMessage(api, each) for each in copies]

"""Read the mail of one test, and act as its recipient."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

from urllib3 import HTTPHeaderDict

from postfinch.http_api import Api
from postfinch.json_types import Json
from postfinch.testing.checks import Checks
from postfinch.testing.traced import Traced
from postfinch.testing.waiting import TIMEOUT, wait_for

_PATH = "/local/mailbox"
_NOT_DELIVERED = "bounce,delay,policy_rejection,generation_failure,generation_rejection"


@dataclass(frozen=True, slots=True)
class Link:
    """A link of a message. ``target`` is where a tracked link leads to, else the link itself."""

    url: str
    text: str
    target: str
    tracked: bool


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file in a message."""

    name: str
    type: str
    content: bytes


class Message(Traced):
    """One message that arrived.

    ``to`` has all ``recipients``, comma-separated: mail that is caught may have several. ``tags``
    are those of the sending and those that the message was given; ``inbox`` is where it is, empty
    for mail of no inbox.
    """

    def __init__(self, api: Api, entry: Mapping[str, Any]) -> None:
        self._api = api
        self._entry = entry
        self._path = f"{_PATH}/{entry['id']}"
        self.id: str = entry["id"]
        self.to: str = entry["to"]
        self.sender: str = entry["from"]
        self.subject: str = entry["subject"]
        self.recipients: list[str] = self.to.split(", ")
        self.tags: list[str] = entry.get("tags", [])
        self.inbox: str = entry.get("inbox", "")

    def __repr__(self) -> str:
        return f"<Message to {self.to}: {self.subject!r}>"

    @property
    def text(self) -> str:
        """The text part; empty if there is none."""
        return self._content["text"] or ""

    @property
    def html(self) -> str:
        """The HTML part; empty if there is none."""
        return self._content["html"] or ""

    @cached_property
    def headers(self) -> HTTPHeaderDict:
        """The headers by name in any case; ``getlist`` returns each value of a repeated one."""
        headers = HTTPHeaderDict()
        for each in self._content["headers"]:
            headers.add(each["name"], each["value"])
        return headers

    @cached_property
    def source(self) -> bytes:
        """The message as it arrived (RFC 5322)."""
        return self._api.content(self._path)

    @cached_property
    def links(self) -> list[Link]:
        """The links of the text and HTML parts, in their order."""
        return [
            Link(each["url"], each["text"], each["target"] or each["url"], each["tracked"])
            for each in self._api.get(f"{self._path}/links")
            if each["kind"] in ("click", "link") and each["part"] != "header"
        ]

    @cached_property
    def attachments(self) -> list[Attachment]:
        """The attached files, and images that the HTML shows."""
        return [
            Attachment(
                each["filename"],
                each["content_type"],
                self._api.content(f"{self._path}/parts/{each['part']}"),
            )
            for each in self._content["parts"]
            if each["role"] in ("attachment", "inline")
        ]

    @cached_property
    def checks(self) -> Checks:
        """How mail clients show the message, where its links lead, and whether it looks like spam.

        Each check is made when it is first asked for: ``checks.html``, ``.links``, ``.spam``.
        """
        return Checks(self._api, self._path)

    @property
    def events(self) -> list[Json]:
        """The events of the message so far, the oldest first."""
        message_id = self._entry["message_id"]
        if not message_id:
            return []
        events: list[Json] = self._api.get("/events/message", messages=message_id, per_page=1000)
        return sorted(events, key=lambda event: event["timestamp"])

    def open(self) -> None:
        """Open the message, as a reader does who loads its images."""
        self._act("open")

    def click(self, link: Link | str) -> None:
        """Follow a link: one of :attr:`links`, or its URL, its target or its text."""
        self._act("click", url=self._url_of(link))

    def unsubscribe(self) -> None:
        """Unsubscribe as mail programs do, with one click (RFC 8058)."""
        self._act("unsubscribe")

    def complain(self) -> None:
        """Report the message as spam."""
        self._act("complain")

    def bounce(self) -> None:
        """Return the message as undeliverable, after it was accepted."""
        self._act("bounce")

    def reply(self, text: str) -> None:
        """Answer the message, to Reply-To or From, which must be at an inbound domain."""
        self._act("answer", text=text)

    def delete(self) -> None:
        """Delete the message from the mailbox."""
        self._api.delete(self._path)

    @cached_property
    def _content(self) -> dict[str, Any]:
        content: dict[str, Any] = self._api.get(f"{self._path}/content")
        return content

    def _act(self, action: str, **fields: str) -> None:
        self._api.post(f"{self._path}/actions", {"action": action, **fields})

    def _url_of(self, link: Link | str) -> str:
        if isinstance(link, Link):
            return link.url
        for each in self.links:
            if link in (each.url, each.target, each.text):
                return each.url
        targets = ", ".join(f"{each.text!r} to {each.target}" for each in self.links) or "none"
        raise AssertionError(f"{self!r} has no link {link!r}; its links: {targets}")


class Mailbox:
    """The mail that one test's account has sent, and that was delivered; or that of an inbox.

    Exactly one of ``subaccount`` and ``inbox`` says which.
    """

    def __init__(
        self, api: Api, subaccount: int | None = None, *, inbox: str | None = None
    ) -> None:
        self._api = api
        self._subaccount = subaccount
        self._query = {"inbox": inbox} if subaccount is None else {"subaccount": subaccount}

    def __iter__(self) -> Iterator[Message]:
        return iter(self.messages())

    def __len__(self) -> int:
        return len(self.messages())

    def messages(self, *, to: str = "*", subject: str = "*") -> list[Message]:
        """Return the messages, the oldest first; ``*`` stands for any characters."""
        entries = self._api.get(_PATH, details="true", limit=500, **self._query)
        return [
            Message(self._api, entry)
            for entry in reversed(entries)
            if _is_to(entry["to"], to)
            and fnmatchcase(entry["subject"].casefold(), subject.casefold())
        ]

    def wait_for(self, *, to: str = "*", subject: str = "*", timeout: float = TIMEOUT) -> Message:
        """Wait for a message to an address, or with a subject; ``*`` stands for any characters.

        Raises :class:`NeverHappened`, whose text lists the messages that there are, and those that
        were refused, deferred or not generated, with the reason.
        """

        def look() -> Message | None:
            return next(iter(self.messages(to=to, subject=subject)), None)

        def instead() -> str:
            there = [*map(repr, self), *self._not_delivered()] or [self._nothing()]
            others = "".join(f"\n  {each}" for each in there)
            return f"no mail to {to} with subject {subject} within {timeout} s, but:{others}"

        return wait_for(look, timeout, instead)

    def _nothing(self) -> str:
        """Say that there is no mail; of an inbox, which other ones have some."""
        if self._subaccount is not None:
            return "no mail at all"
        names = [repr(each["name"]) for each in self._api.get("/local/inboxes")]
        others = f"inboxes with mail are {', '.join(names)}" if names else "no inbox has mail"
        return f"no mail at all in the inbox {self._query['inbox']!r}; {others}"

    def _not_delivered(self) -> Iterator[str]:
        if self._subaccount is None:
            return
        owner = self._subaccount
        events = self._api.get("/events/message", events=_NOT_DELIVERED, subaccounts=owner)
        for event in reversed(events):
            yield f"{event['type']} of mail to {event['rcpt_to']}: {event.get('raw_reason', '')}"

    def clear(self) -> None:
        """Delete the messages of this test, or of the inbox."""
        self._api.delete(_PATH, **self._query)


def _is_to(recipients: str, pattern: str) -> bool:
    """Tell whether one of the recipients matches a pattern."""
    return any(fnmatchcase(each.casefold(), pattern.casefold()) for each in recipients.split(", "))
